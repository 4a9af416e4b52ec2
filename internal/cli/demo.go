package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/agent-loop/ralph/internal/config"
	"github.com/agent-loop/ralph/internal/demo"
	"github.com/agent-loop/ralph/internal/gate/tape"
	"github.com/agent-loop/ralph/internal/plaintext"
	"github.com/agent-loop/ralph/internal/rundir"
	"github.com/agent-loop/ralph/internal/sandbox/gvisor"
	"github.com/agent-loop/ralph/internal/view"
)

// What "ralph demo" prints of hostile text is at most so wide and so long.
const (
	demoWidth = 100
	demoLines = 60

	demoAtGate = 3 // refusals of the gate, which may be many of one attempt
)

func newDemoCommand(w World) *cobra.Command {
	var keep bool
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "See a whole run in a few seconds: offline, no account, nothing installed",
		Long: `Makes a small project with a failing test in a folder for temporary files, and
runs the built-in agent on it, in a real sandbox and behind the real gate. Only
the model is a recording, so that nothing is paid and nothing leaves this machine.

First the agent tries to get out of the sandbox, then it mends the bug, then it
says that it is done, which ralph checks. What came of all this is shown at the end.

Nothing of yours is read or changed. The project and the record of its run are
kept, for you to look at; --keep=false removes them.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runDemo(cmd.Context(), w, keep) },
	}
	cmd.Flags().BoolVar(&keep, "keep", true, "keep the project and the record of its run")
	return cmd
}

// runDemo runs the demonstration and tells what there was to see. What is kept is
// the run; if there is none, nothing is.
func runDemo(ctx context.Context, w World, keep bool) (err error) {
	place, err := demo.New(ctx)
	if err != nil {
		return err
	}
	player, err := demo.Player()
	if err != nil {
		return errors.Join(err, place.Remove())
	}
	w = w.demonstrating(place)
	var flags config.Layer // what was recorded fits this engine
	if err := flags.Set("ralph demo", "sandbox.engine", gvisor.Name); err != nil {
		return errors.Join(err, place.Remove())
	}
	if _, err := chooseEngine(ctx, w.Engines(place.State()), engineWish{name: gvisor.Name}); err != nil {
		return errors.Join(err, place.Remove())
	}
	d := &demonstration{
		world: w, place: place, player: player, keep: keep,
		root: under(place.Project(), runsFolder(w)), id: rundir.NewID(time.Now()),
	}
	d.title("An agent, a sandbox, a bug")
	d.say("The model is a recording; sandbox, gate, agent and record are real.")
	d.say("The project: %s", place.Project())
	fmt.Fprintln(w.Out)
	w.Out = io.Discard // how it ended is told below, with more
	err = startRun(ctx, w, runOptions{project: place.Project(), id: d.id, plain: true, tapes: tapes{player: player}, flags: flags})
	if _, none := os.Stat(filepath.Join(d.root, d.id)); errors.Is(none, fs.ErrNotExist) {
		return errors.Join(err, place.Remove())
	}
	return errors.Join(d.replayed(err), d.tell(), d.leave())
}

// demonstrating is a world without the user's settings, credentials and state,
// and with a home directory that was made up.
func (w World) demonstrating(place demo.Place) World {
	users := w.Getenv
	w.Getenv = func(name string) string {
		switch name {
		case "HOME":
			return place.Home()
		case "RALPH_STATE_DIR":
			return place.State()
		case "PATH", "TERM", "NO_COLOR":
			return users(name)
		}
		return ""
	}
	return w
}

// demonstration is one whose run has a name.
type demonstration struct {
	world  World
	place  demo.Place
	player *tape.Player
	root   string // the folder of runs
	id     string
	keep   bool
}

// replayed is the error of the run, with what went another way than recorded:
// either the sandbox let something happen that it should not have, or this
// machine is one that the recording does not fit.
func (d *demonstration) replayed(err error) error {
	mismatches := d.player.Mismatches()
	switch {
	case len(mismatches) > 0:
		return errors.Join(err, fmt.Errorf("the run is not the one that was recorded: %s", plaintext.Line(mismatches[0].Error(), maxSentence)))
	case err == nil && !d.player.Done():
		return errors.New("the run ended before the recording did")
	}
	return err
}

// tell shows what is in the record.
func (d *demonstration) tell() error {
	reader, err := rundir.OpenReadOnly(d.root, d.id)
	if err != nil {
		return err
	}
	defer reader.Close()
	escaped := d.tellAttempts(reader)
	if err := errors.Join(d.tellChanges(), d.tellEnd(reader)); err != nil {
		return errors.Join(escaped, err)
	}
	report, err := rundir.Verify(d.root, d.id)
	if err != nil {
		return errors.Join(escaped, notVerified(err, d.id))
	}
	d.title("What it cost")
	d.say("Nothing: the answers were replayed. From a model these %d calls and %s tokens", report.Charges, view.Count(report.Tokens.Total()))
	d.say("would have cost $%.4f.", report.CostUSD.Dollars())
	d.title("The record")
	d.say("%d events, each chained to the one before; nothing was altered.", report.Events)
	d.say("head %v", report.Head)
	return escaped
}

// tellAttempts shows how the agent tried to get out. That it did is an error.
func (d *demonstration) tellAttempts(reader *rundir.Reader) error {
	attempts, err := demo.Attempts(reader.Events(0))
	if err != nil {
		return err
	}
	d.title("What the agent tried first")
	atGate := 0
	for _, a := range attempts {
		what := plaintext.Line(a.What, demoWidth)
		if a.By == demo.Gate {
			if atGate++; atGate > demoAtGate {
				continue
			}
			what = "at the gate: " + what
		}
		word := "refused"
		if !a.Refused {
			word = "GOT OUT"
			err = errors.Join(err, fmt.Errorf("the sandbox did not hold: %s", what))
		}
		d.say("%s  %s", word, what)
	}
	if atGate > demoAtGate {
		d.say("         and %d more at the gate", atGate-demoAtGate)
	}
	return err
}

func (d *demonstration) tellChanges() error {
	changes, err := d.place.Changes()
	if err != nil {
		return err
	}
	d.title("What it changed then")
	shown := 0
	for line := range strings.Lines(changes) {
		if shown++; shown > demoLines {
			d.say("…")
			break
		}
		d.say("%s", safeCode(line))
	}
	return nil
}

func (d *demonstration) tellEnd(reader *rundir.Reader) error {
	state, err := reader.State()
	if err != nil {
		return err
	}
	d.title("How it ended")
	d.say("%s after %d iterations: %s", state.Status, state.Iteration, plaintext.Line(state.StopReason, 2*demoWidth))
	return nil
}

// safeCode is a line of a diff that keeps its indent, which view.Safe folds.
func safeCode(line string) string {
	text := strings.TrimLeft(line, "+- \t")
	indent := strings.ReplaceAll(line[:len(line)-len(text)], "\t", "    ")
	indent = indent[:min(len(indent), demoWidth)]
	return strings.TrimRight(indent+plaintext.Line(text, demoWidth), " ")
}

// leave says what is kept and where to go from here.
func (d *demonstration) leave() error {
	remove := d.place.Clean
	if !d.keep {
		remove = d.place.Remove
	}
	if err := remove(); err != nil {
		return err
	}
	if d.keep {
		d.say("kept in %s", filepath.Join(d.root, d.id))
		d.title("Look closer")
		d.say("cd %s", view.Quoted(d.place.Project()))
		d.say("ralph show %s", d.id)
		d.say("ralph logs %s", d.id)
		d.say("rm -rf %s", view.Quoted(d.place.Dir))
	}
	d.title("With a project and a model of yours")
	d.say("ralph init")
	d.say("ralph store-token")
	d.say("ralph run")
	return nil
}

func (d *demonstration) title(text string) {
	if _, ok := terminalOf(d.world.Out); ok && d.world.Getenv("NO_COLOR") == "" {
		text = "\x1b[1m" + text + "\x1b[0m"
	}
	fmt.Fprintf(d.world.Out, "\n%s\n", text)
}

func (d *demonstration) say(format string, args ...any) {
	fmt.Fprintf(d.world.Out, "  "+format+"\n", args...)
}
