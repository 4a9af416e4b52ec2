package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agent-loop/ralph/internal/config"
	"github.com/agent-loop/ralph/internal/sandbox"
	"github.com/agent-loop/ralph/internal/workspace"
)

type execOptions struct {
	workspace string
	rootfs    string
	mounts    []string
	env       []string
	terminal  bool
	verbose   bool
	models    bool // the command is an agent, and needs its model API
	events    string
	tapes     tapes
	flags     config.Layer
	args      []string
}

func newExecCommand(w World) *cobra.Command {
	var opts execOptions
	cmd := &cobra.Command{
		Use:   "exec [flags] -- COMMAND [ARG...]",
		Short: "Run one command in a sandbox",
		Long: `Runs a command in a new sandbox and passes on its input, output and exit code.

The command sees the workspace, writable, at its own path; the system's programs,
read-only; a private /tmp and home; and nothing else of this machine. It reaches
no host but those named with --allow, through the proxy that HTTP_PROXY and
HTTPS_PROXY point to. Names in the workspace that a program on this machine would
obey, such as .git and ralph.toml, are read-only.

With --agent, the command also reaches the model API of that agent, at a base URL
that its environment names. It holds a phantom instead of the credential, which
the gate puts in, and every call is paid from the budget before it is made. Its
program must be visible inside: in the system's folders or by a --mount.

Settings come from flags, then RALPH_ variables, then ralph.toml in the
workspace, then your own configuration file.`,
		Example: `  ralph exec -- go test ./...
  ralph exec --allow @npm -- npm ci
  ralph exec --mount /data/corpus:/data:ro --memory 4g --timeout 10m -- ./train
  ralph exec --agent claude --max-cost-usd 2 -- ./my-agent
  ralph exec -t -- bash`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageError{errors.New("no command given"), "ralph exec -- COMMAND [ARG...]"}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.args = args
			if err := opts.readFlags(cmd); err != nil {
				return err
			}
			return runExec(cmd.Context(), w, opts)
		},
	}
	opts.addFlags(cmd)
	_ = cmd.RegisterFlagCompletionFunc("engine", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		list, _, _ := w.engines()
		return append([]string{config.EngineAuto}, engineNames(list)...), cobra.ShellCompDirectiveNoFileComp
	})
	return cmd
}

func (o *execOptions) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.SetInterspersed(false) // flags after the command are the command's own
	addSandboxFlags(cmd)
	f.String("agent", "", "give the command the model API of an agent, such as claude or codex")
	f.String("max-cost-usd", "", "most that model calls may cost, such as 2.50")
	f.String("max-tokens", "", "most tokens of all model calls")
	addModelFlags(cmd, &o.tapes)
	addBudgetFlag(cmd)
	f.StringVar(&o.events, "events", "", "write what the gate decides to FILE, one JSON object a line")
	f.StringVarP(&o.workspace, "workspace", "w", "", "the folder to work on (the current one)")
	f.StringVar(&o.rootfs, "rootfs", "", "a folder with a root file system, instead of this machine's programs")
	f.StringArrayVar(&o.mounts, "mount", nil, "also show SRC:DST[:ro] of this machine")
	f.StringArrayVarP(&o.env, "env", "e", nil, "set K=V for the command; K alone copies it from here")
	f.BoolVarP(&o.terminal, "tty", "t", false, "give the command a terminal")
	f.BoolVarP(&o.verbose, "verbose", "v", false, "say what is done")
}

// readFlags puts the flags that were given into the topmost configuration layer.
func (o *execOptions) readFlags(cmd *cobra.Command) error {
	o.models = cmd.Flags().Changed("agent")
	return errors.Join(o.needsAgent(cmd), setFlags(cmd, &o.flags))
}

// needsAgent refuses flags that do nothing without --agent.
func (o *execOptions) needsAgent(cmd *cobra.Command) error {
	for _, name := range []string{"upstream", "max-cost-usd", "max-tokens", "budget", "record", "replay"} {
		if cmd.Flags().Changed(name) && !o.models {
			return usageError{fmt.Errorf("--%s is about model calls, and the command gets none", name), "say which agent it is, as in --agent claude"}
		}
	}
	return nil
}

func runExec(ctx context.Context, w World, opts execOptions) (err error) {
	if opts.terminal {
		if _, err := ourTerminal(w); err != nil {
			return err
		}
	}
	dir, err := workspace.Resolve(opts.workspace)
	if err != nil {
		return err
	}
	cfg, notes, err := config.Read(dir, w.Getenv, &opts.flags)
	if err != nil {
		return err
	}
	for _, note := range notes {
		fmt.Fprintln(w.Err, "ralph: note:", note)
	}
	spec, err := opts.spec(w, dir, cfg)
	if err != nil {
		return err
	}
	warnOfSecrets(w, opts.env)
	gate, err := openGate(ctx, w, cfg, opts, &spec)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, gate.close()) }()
	s := session{world: w, spec: spec, config: cfg, command: "ralph exec", verbose: opts.verbose}
	if err := s.hideRuns(dir); err != nil {
		return err
	}
	defer func() { gate.report(w.Err, opts.verbose) }()
	return s.run(ctx, func(box sandbox.Sandbox) error { return opts.exec(ctx, w, box) })
}

// warnOfSecrets tells of variables that go in with their real value, although
// they look as if the gate should hold them.
func warnOfSecrets(w World, flags []string) {
	for _, flag := range flags {
		name, _, given := strings.Cut(flag, "=")
		upper := strings.ToUpper(name)
		for _, word := range []string{"KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL"} {
			if !given && strings.Contains(upper, word) && w.Getenv(name) != "" {
				fmt.Fprintf(w.Err, "ralph: note: --env %s gives the command the real value; a [[credential]] would keep it out\n", name)
				break
			}
		}
	}
}

// spec is what the flags and the configuration ask for, checked but for the
// workspace's protected paths, which are known when it is claimed.
func (o *execOptions) spec(w World, dir string, cfg config.Config) (sandbox.Spec, error) {
	if cfg.OnHost() {
		return sandbox.Spec{}, usageError{errors.New("the sandbox is turned off, and ralph exec is nothing without one"), "pass --engine auto, or run the command yourself"}
	}
	env, err := parseEnv(o.env, w.Getenv)
	if err != nil {
		return sandbox.Spec{}, err
	}
	if kind := w.Getenv("TERM"); o.terminal && kind != "" {
		env = sandbox.MergeEnv([]string{"TERM=" + kind}, env)
	}
	network := networkFor(cfg, o.models)
	mounts, err := parseMounts(o.mounts)
	if err != nil {
		return sandbox.Spec{}, err
	}
	image, err := imageFor(cfg, o.rootfs, &o.flags)
	if err != nil {
		return sandbox.Spec{}, err
	}
	spec := sandbox.Spec{
		Rootfs:  o.rootfs,
		Image:   image,
		Mounts:  append([]sandbox.Mount{{Source: dir, Target: dir}}, mounts...),
		Env:     sandbox.MergeEnv(append(sandbox.BaseEnv(network), identityEnv(cfg.Git)...), env),
		Limits:  limits(cfg.Sandbox.Resources),
		Network: network,
	}
	host, err := w.mountHost()
	if err != nil {
		return sandbox.Spec{}, err
	}
	if err := errors.Join(sandbox.CheckMounts(spec.Mounts, host), host.CheckRootfs(spec.Rootfs)); err != nil {
		return sandbox.Spec{}, err
	}
	return spec, w.letSecretsIn(cfg, &spec)
}

// parseMounts reads SRC:DST[:ro|:rw].
func parseMounts(flags []string) ([]sandbox.Mount, error) {
	var mounts []sandbox.Mount
	for _, flag := range flags {
		parts := strings.Split(flag, ":")
		readOnly := len(parts) == 3 && parts[2] == "ro"
		writable := len(parts) == 2 || len(parts) == 3 && parts[2] == "rw"
		if !readOnly && !writable || parts[0] == "" || parts[1] == "" {
			return nil, usageError{fmt.Errorf("--mount %q is not SRC:DST, SRC:DST:ro or SRC:DST:rw", flag), "name both places, as in --mount /data:/data:ro; a path cannot have a colon in it"}
		}
		mounts = append(mounts, sandbox.Mount{Source: parts[0], Target: parts[1], ReadOnly: readOnly})
	}
	return mounts, nil
}

// parseEnv reads K=V, and K alone as the value that K has here, if any.
func parseEnv(flags []string, getenv func(string) string) ([]string, error) {
	var env []string
	for _, flag := range flags {
		name, value, given := strings.Cut(flag, "=")
		if name == "" || strings.ContainsRune(flag, 0) {
			return nil, usageError{fmt.Errorf("--env %q is not K=V", flag), "write it as --env NAME=value"}
		}
		if !given {
			if value = getenv(name); value == "" {
				continue
			}
		}
		env = append(env, name+"="+value)
	}
	return env, nil
}

// exec runs the command and turns a code other than 0 into an error that
// carries it.
func (o *execOptions) exec(ctx context.Context, w World, box sandbox.Sandbox) error {
	cmd := sandbox.Command{Args: o.args, Stdin: w.In, Stdout: w.Out, Stderr: w.Err}
	if o.terminal {
		cmd.Terminal = &sandbox.Terminal{} // its size is told when it starts
	}
	return o.withWayIn(attend(ctx, w, box, cmd))
}

// withWayIn tells how a program gets in that is not there.
func (o *execOptions) withWayIn(err error) error {
	var start *sandbox.StartError
	if !errors.As(err, &start) || start.Code != 127 {
		return err
	}
	if o.models {
		return hinted{err, "an agent comes with its program in: ralph shell . -- ARG...; for ralph exec, show its folder with --mount DIR:DIR:ro and name it by its path"}
	}
	return hinted{err, "inside are the system's programs and the workspace; show another folder with --mount DIR:DIR:ro and name the program by its path"}
}
