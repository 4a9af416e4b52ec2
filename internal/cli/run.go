package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/agent-loop/ralph/internal/config"
	"github.com/agent-loop/ralph/internal/rundir"
)

// runOptions are the flags of "ralph run" and "ralph resume".
type runOptions struct {
	project string
	data    string
	id      string
	rootfs  string
	answer  string
	trust   bool // a run of somebody else's
	plain   bool // the agent gets no git: the demonstration needs none on the machine
	json    bool
	tapes   tapes
	flags   config.Layer
}

func newRunCommand(w World) *cobra.Command {
	var opts runOptions
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Run an agent in a loop until the work is verified done",
		Long: `Runs an agent on this project again and again, each time afresh and each time
in a sandbox, until the work is verified done, a limit ends it, or it needs you.

In a git repository the agent works on a clone of its own, and what it commits comes
to a branch of yours, checked, after each iteration: look at it with "ralph diff",
merge it with "ralph apply". Your files stay as they are. Elsewhere, and with
--work in-place, it works on the files themselves.

The agent gets the prompt in PROMPT.md, with its variables filled in, and the
next story of prd.json or tasks.json if there is one. After each iteration the
validation command runs in the sandbox; what it says when it fails is part of the
next prompt. "ralph init" writes a starting set of these files.

Ctrl-C ends the run after the iteration, a second one at once. Either way, and
after a crash or a reboot, "ralph resume" goes on. What a run did and what it cost
is kept in .ralph/runs, where the agent cannot see it.

With --data the run is one of research: the agent sees the run's own folder, below
runs/, at /workspace/run, and PATH, read-only, at /workspace/data, and nothing else.

Exit codes: 0 done, 1 error, 2 wrong usage, 3 a limit ended it, 4 it needs you,
5 the sandbox could not be set up, 130 stopped or paused.`,
		Example: `  ralph run
  ralph run --agent codex --max-cost-usd 5 --max-time 2h
  ralph run --prompt docs/refactor.md --allow @npm
  ralph run --branch ralph/cleanup --push
  ralph run --data ~/datasets/prices`,
		Args: noPromptHere,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := setFlags(cmd, &opts.flags); err != nil {
				return err
			}
			return startRun(cmd.Context(), w, opts)
		},
	}
	opts.addFlags(cmd)
	f := cmd.Flags()
	f.String("agent", "", "who works: claude, codex, opencode, gemini, mini or command")
	f.String("model", "", "the model it asks for")
	f.String("prompt", "", "the file with the prompt, in the project (PROMPT.md)")
	f.String("tasks", "", "the task file, in the project (prd.json or tasks.json)")
	addBudgetFlag(cmd)
	f.String("work", "", "what the agent works on: clone, worktree (a clone, and a checkout for you beside the project), or in-place")
	f.String("checkout", "", "where the files of a clone are: auto, folder, or inside, in the sandbox's own file system")
	f.String("branch", "", "where its commits go (ralph/RUN)")
	f.StringVar(&opts.data, "data", "", "a run of research on the files in PATH")
	f.StringVar(&opts.id, "id", "", "name the run (a date and a few letters)")
	f.StringVar(&opts.rootfs, "rootfs", "", "a folder with a root file system that has the agent, instead of this machine's programs")
	return cmd
}

// noPromptHere refuses words: who writes a prompt there must not get another one.
func noPromptHere(_ *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return usageError{fmt.Errorf("the prompt comes from a file, not from the command line: %q", args[0]), "write it to PROMPT.md, or name another file with --prompt FILE"}
}

// addFlags adds the flags that both commands have.
func (o *runOptions) addFlags(cmd *cobra.Command) {
	projectFlag(cmd, &o.project)
	addLimitFlags(cmd)
	addSandboxFlags(cmd)
	addInnerFlag(cmd)
	addModelFlags(cmd, &o.tapes)
	cmd.Flags().String("validate", "", "the command that must pass before work counts as done")
	cmd.Flags().String("setup", "", "what prepares a clean checkout for that, such as \"npm ci\"")
	cmd.Flags().Bool("push", false, "push the branch when the work is done")
	cmd.Flags().Bool("sign", false, "sign the commits with your own key")
	cmd.Flags().BoolVar(&o.json, "json", false, "print the run's state as a JSON object when it ends")
}

// addLimitFlags adds the limits of a whole run.
func addLimitFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.String("max-cost-usd", "", "most that model calls may cost, such as 2.50")
	f.String("max-tokens", "", "most tokens of all model calls; 0 for no limit")
	f.String("max-iterations", "", "most iterations; 0 for no limit")
	f.String("max-time", "", "most time, such as 8h; 0 for no limit")
}

// chooseRunID is the id that the user wants, or one of our own.
func chooseRunID(wanted string) (string, error) {
	if wanted == "" {
		return rundir.NewID(time.Now()), nil
	}
	err := rundir.CheckID(wanted)
	if wanted == latestRun {
		err = fmt.Errorf("%q means the newest run, whatever its id", latestRun)
	}
	if err != nil {
		return "", usageError{err, "--id takes a name such as refactor-2"}
	}
	return wanted, nil
}

// startRun makes a run and takes it to its end.
func startRun(ctx context.Context, w World, opts runOptions) error {
	id, err := chooseRunID(opts.id)
	if err != nil {
		return err
	}
	opts.id = id
	plan, err := newPlan(ctx, w, opts)
	if err != nil {
		return err
	}
	run, err := rundir.Create(plan.root, id, plan.spec, plan.options())
	var exists *rundir.ExistsError
	if errors.As(err, &exists) {
		return usageError{err, "go on with it: ralph resume " + id}
	}
	if err != nil {
		return fmt.Errorf("making the run: %w", err)
	}
	defer hideRecord(plan.spec.Project, plan.root)()
	return plan.execute(ctx, run, plan.firstState(id))
}
