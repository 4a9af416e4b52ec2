package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/agent-loop/ralph/internal/agent"
	"github.com/agent-loop/ralph/internal/config"
	"github.com/agent-loop/ralph/internal/sandbox"
	"github.com/agent-loop/ralph/internal/secret"
	"github.com/agent-loop/ralph/internal/workspace"
)

// shell is one session of a person with an agent. What it has in common with a run
// is planned as one, of which nothing is kept.
type shell struct {
	*plan
	args    []string
	verbose bool
	timed   bool
	start   []string // how the agent's program is started inside
}

// newShell reads what the user wants, and refuses what cannot be.
func newShell(ctx context.Context, w World, opts shellOptions) (*shell, error) {
	dir, err := workspace.Resolve(opts.project)
	if err != nil {
		return nil, err
	}
	cfg, notes, err := config.Read(dir, w.Getenv, &opts.flags)
	if err != nil {
		return nil, err
	}
	s := &shell{args: opts.args, verbose: opts.verbose, timed: opts.timed, plan: &plan{
		world: w, config: cfg, notes: notes, masker: secret.NewMasker(),
		opts: runOptions{tapes: opts.tapes, flags: opts.flags}, spec: runSpec{Project: dir}, root: under(dir, cfg.Run.Folder),
	}}
	if err := s.settle(ctx); err != nil {
		return nil, err
	}
	for _, note := range s.notes {
		fmt.Fprintln(w.Err, "ralph: note:", note)
	}
	return s, nil
}

// settle chooses agent and engine.
func (s *shell) settle(ctx context.Context) error {
	if err := s.chooseAgent(); err != nil {
		return err
	}
	if err := s.checkScreen(); err != nil {
		return err
	}
	return s.choosePlace(ctx)
}

// checkScreen refuses, before anything is made, an agent that nobody could see. It
// asks how the agent would be started: only what is said to it matters.
func (s *shell) checkScreen() error {
	begun, err := s.interactive([]string{s.who.Name}, agent.Access{Kind: agent.APIKey})
	if err != nil {
		return err
	}
	_, err = s.command(begun)
	return err
}

// sandbox is what the agent gets to see, but for what ralph adds from its own
// folder (see private).
func (s *shell) sandbox() (sandbox.Spec, error) {
	network := networkFor(s.config, s.models)
	program, start, err := s.agentProgram()
	if err != nil {
		return sandbox.Spec{}, err
	}
	s.start = start
	spec := sandbox.Spec{
		Labels:  map[string]string{"shell": s.who.Name},
		Mounts:  append([]sandbox.Mount{{Source: s.spec.Project, Target: s.spec.Project}}, program...),
		Image:   s.image,
		Env:     append(sandbox.BaseEnv(network), identityEnv(s.config.Git)...),
		Limits:  limits(s.config.Sandbox.Resources),
		Network: network,
	}
	if !s.timed {
		spec.Limits.Time = 0 // what is configured is the time of an iteration
	}
	host, err := s.world.mountHost()
	if err != nil {
		return sandbox.Spec{}, err
	}
	if err := sandbox.CheckMounts(spec.Mounts, host); err != nil {
		return sandbox.Spec{}, err
	}
	return spec, s.world.letSecretsIn(s.config, &spec)
}

// agentProgram is the agent's program, as in a run.
func (s *shell) agentProgram() ([]sandbox.Mount, []string, error) {
	mounts, argv, err := s.program()
	var missing *agent.MissingError
	if errors.As(err, &missing) {
		err = usageError{missing, "install it: " + missing.Install} // no other agent takes its place
	}
	return mounts, argv, err
}

// interaction is how the agent is started, with its way to its models.
func (s *shell) interaction(gate *execGate) (agent.Interaction, error) {
	var access agent.Access
	if gate.models != nil {
		access = gate.models.access
	}
	return s.interactive(s.start, access)
}

func (s *shell) interactive(argv []string, access agent.Access) (agent.Interaction, error) {
	begun, err := s.who.Interactive(agent.Session{
		Access: access, Model: s.model(), PermissionMode: s.permission(),
		Program: argv, Home: sandbox.Home, Project: s.spec.Project, Args: s.args,
	})
	if errors.Is(err, agent.ErrNotInteractive) {
		return begun, usageError{err, "choose another agent with --agent, such as claude"}
	}
	return begun, err
}

// command is what runs inside: on a terminal, or else with pipes.
func (s *shell) command(begun agent.Interaction) (sandbox.Command, error) {
	cmd := sandbox.Command{Args: begun.Argv, Env: begun.Env, Stdin: s.world.In, Stdout: s.world.Out, Stderr: s.world.Err}
	_, typed := terminalOf(s.world.In)
	_, shown := terminalOf(s.world.Out)
	switch {
	case begun.Screen && (!typed || !shown):
		return cmd, usageError{
			fmt.Errorf("%s draws on a terminal, and the input or the output is none", s.who.Name),
			fmt.Sprintf("without one: ralph shell PATH --agent %s -- %s", s.who.Name, s.who.HeadlessExample()),
		}
	case typed && shown && (begun.Screen || s.who.Name == "command"):
		cmd.Terminal = &sandbox.Terminal{} // its size is told when it starts
		for _, name := range []string{"TERM", "COLORTERM"} {
			if value := s.world.Getenv(name); value != "" {
				cmd.Env = sandbox.MergeEnv(cmd.Env, []string{name + "=" + value})
			}
		}
	case typed:
		cmd.Stdin = nil // nobody means to type, and the agent would wait
	}
	return cmd, nil
}

// run claims the project, starts the sandbox and the agent in it, and undoes the
// rest whatever happened.
func (s *shell) run(ctx context.Context, spec sandbox.Spec, begun agent.Interaction, cmd sandbox.Command) (err error) {
	state, err := s.world.makeStateDir()
	if err != nil {
		return err
	}
	one := &session{world: s.world, spec: spec, config: s.config, command: "ralph shell", verbose: s.verbose}
	s.chosen.tell(s.world, s.verbose)
	if err := one.hideRuns(s.spec.Project); err != nil {
		return err
	}
	release, err := one.claim(ctx, state)
	defer func() { err = errors.Join(err, release()) }()
	if err != nil {
		return err
	}
	// From here on, the project's shell is ours alone.
	own, err := s.private(state, begun)
	if err != nil {
		return err
	}
	one.spec.Mounts = append(one.spec.Mounts, own...)
	within, err := newInner(s.world, s.config, &one.spec)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, within.close()) }()
	cmd.Args = within.wrap(cmd.Args)
	if err := errors.Join(s.opts.tapes.check(own), s.info.Check(one.spec)); err != nil {
		return err
	}
	box, err := one.create(ctx, s.engine)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, box.Close()) }()
	one.say("sandbox %s", box.ID())
	if err := within.check(ctx, box, s.info); err != nil {
		return err
	}
	return attend(ctx, s.world, box, cmd)
}

// attend runs a command to its end and turns a code other than 0 into an error
// that carries it. While the terminal is raw, Ctrl-C is a key as any other, and no
// signal for ralph.
func attend(ctx context.Context, w World, box sandbox.Sandbox, cmd sandbox.Command) error {
	if cmd.Terminal != nil {
		restore, err := useTerminal(ctx, w, &cmd)
		if err != nil {
			return err
		}
		defer restore()
	}
	code, err := box.Exec(ctx, cmd)
	if err != nil {
		return err
	}
	if code != 0 {
		return commandExit(code)
	}
	return nil
}
