package cli

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"golang.org/x/term"

	"github.com/agent-loop/ralph/internal/notify"
	"github.com/agent-loop/ralph/internal/rundir"
	"github.com/agent-loop/ralph/internal/view"
	"github.com/agent-loop/ralph/internal/view/stream"
)

// watch shows the run while it goes on, from its record: a few live lines in a
// terminal, plain lines elsewhere. The returned function ends it when the record
// is whole.
func (x *execution) watch() func() {
	reader, err := rundir.OpenReadOnly(x.plan.root, x.run.ID())
	if err != nil {
		fmt.Fprintln(x.plan.world.Err, "ralph: note: the run cannot be shown:", err)
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	from := x.run.Head().Count // the event of the start is the last so far
	go func() {
		defer close(done)
		_ = x.show(ctx, reader, from) // who closed the terminal wants no complaint
	}()
	return func() {
		cancel()
		<-done
		reader.Close()
	}
}

func (x *execution) show(ctx context.Context, reader *rundir.Reader, from int64) error {
	out := x.plan.world.Err
	if file, ok := terminalOf(out); ok && x.plan.world.Getenv("TERM") != "dumb" {
		size := func() (int, int) {
			columns, rows, err := term.GetSize(int(file.Fd()))
			if err != nil {
				return 80, 24
			}
			return columns, rows
		}
		return stream.Live(ctx, out, size, reader, from)
	}
	return stream.Plain(ctx, out, reader, from, stream.Options{})
}

// tell notifies the user as the configuration says, and keeps in the record
// whether that worked.
func (x *execution) tell(ctx context.Context, stop rundir.Stop) {
	channels := x.plan.channels(stop.Status)
	if len(channels) == 0 {
		return
	}
	_, checkpoint, _ := x.run.LastCheckpoint()
	message := notify.Message{
		Run: x.run.ID(), Status: string(stop.Status), Reason: x.plan.masker.MaskString(stop.Reason), Project: x.plan.spec.Project, Agent: x.plan.who.Name,
		Iteration: x.run.Iterated(), CostUSD: x.run.Spent().CostUSD.String(), Question: checkpoint.Question,
		Next: "ralph show " + x.run.ID(), At: time.Now(),
	}
	for _, result := range notify.Send(ctx, channels, message) {
		told := rundir.Notified{Channel: result.Channel, About: string(stop.Status)}
		if result.Err != nil {
			told.Error = result.Err.Error()
			fmt.Fprintf(x.plan.world.Err, "ralph: note: telling you by %s: %v\n", result.Channel, result.Err)
		}
		_ = x.run.Append(rundir.EventNotify, 0, told)
	}
	if err := x.run.SaveState(x.loop.State); err != nil {
		fmt.Fprintln(x.plan.world.Err, "ralph: note:", err)
	}
}

// channels are the ways to the user that want to know of a status.
func (p *plan) channels(status rundir.Status) []notify.Channel {
	n := p.config.Notify
	if !slices.Contains(n.On, string(status)) {
		return nil
	}
	var channels []notify.Channel
	if len(n.Command) > 0 {
		channels = append(channels, notify.Command(n.Command, os.Environ()))
	}
	if n.Webhook != "" {
		channels = append(channels, notify.Webhook(n.Webhook, nil))
	}
	if n.Desktop {
		channels = append(channels, notify.Desktop(nil, nil, ""))
	}
	return channels
}

// conclude prints how the run ended and returns the error that carries its exit
// code.
func (x *execution) conclude(stop rundir.Stop, err error) error {
	reader, openErr := rundir.OpenReadOnly(x.plan.root, x.run.ID())
	if openErr != nil {
		if err == nil {
			err = openErr
		}
		return err
	}
	defer reader.Close()
	if err := x.plan.world.printEnd(reader, x.plan.opts.json); err != nil {
		fmt.Fprintln(x.plan.world.Err, "ralph: note:", err)
	}
	if err != nil {
		return err
	}
	if stop.Status == rundir.NeedsAttention && x.loop.Gate.Since(time.Time{}).Unauthorised {
		fmt.Fprintf(x.plan.world.Err, "ralph: hint: the provider refuses the credential: look at it with ralph check-token, or store another one with ralph store-token, then: ralph resume %s\n", x.run.ID())
	}
	if code := statusCode(stop.Status); code != exitOK {
		return commandExit(code)
	}
	return nil
}

func (w World) printEnd(reader *rundir.Reader, asJSON bool) error {
	state, err := reader.State()
	if err != nil {
		return err
	}
	if asJSON {
		text, err := view.JSON(state)
		if err == nil {
			_, err = fmt.Fprintf(w.Out, "%s\n", text)
		}
		return err
	}
	var iterations []rundir.Iteration
	for it, err := range reader.Iterations() {
		if err != nil {
			return err
		}
		iterations = append(iterations, it)
	}
	_, checkpoint, err := reader.LastCheckpoint()
	screen := w.screenWidth()
	view.Closing(w.Out, state, iterations, checkpoint, screen, screen > 0 && w.Getenv("NO_COLOR") == "")
	return err
}

// statusCode is the exit code of a run that ended so.
func statusCode(s rundir.Status) int {
	switch s {
	case rundir.Done:
		return exitOK
	case rundir.Limit:
		return exitLimit
	case rundir.NeedsAttention:
		return exitAttention
	case rundir.Paused, rundir.Stopped:
		return exitInterrupted
	}
	return exitFailure
}
