package loop

import (
	"context"
	"errors"
	"fmt"

	"github.com/agent-loop/ralph/internal/rundir"
)

// ErrBroken means that the agent has broken its git directory. The next sandbox gets
// another one.
var ErrBroken = errors.New("git inside does not work any more")

// collect brings home what the iteration did, as it is before anybody checks it.
func (r *runner) collect(ctx context.Context, it *iteration) error {
	if r.Git == nil {
		return nil
	}
	err := r.bringHome(ctx, it)
	if errors.Is(err, ErrBroken) { // a new sandbox has a new one, with the same files
		r.note(rundir.EventNote, it.n, rundir.Note{Text: err.Error() + "; it is made anew"})
		if err := r.closeBox("its git directory is broken"); err != nil {
			return err
		}
		err = r.bringHome(ctx, it)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil && !gone(err) && !errors.Is(err, ErrBroken) {
		return err
	}
	if err != nil { // what the agent left there did it; the next iteration brings its work
		it.brought.Refused = err.Error()
	}
	r.note(rundir.EventImport, it.n, it.brought)
	if it.brought.To != "" {
		r.State.Commit = it.brought.To
	}
	it.commit = r.State.Commit
	r.step("collected")
	if err != nil {
		return r.closeBox(err.Error())
	}
	return r.endProcesses(ctx)
}

// bringHome collects once.
func (r *runner) bringHome(ctx context.Context, it *iteration) error {
	box, err := r.sandbox(ctx, it.n)
	if err != nil {
		return err
	}
	r.step("collecting")
	it.brought, err = r.Git.Collect(ctx, box, r.work(it))
	return err
}

// work is what a commit says that ralph makes of what the agent left.
func (r *runner) work(it *iteration) Work {
	w := Work{Iteration: it.n, Body: it.attempt.outcome.Reason}
	if it.story.ID != "" {
		w.Subject = fmt.Sprintf("%s: %s", it.story.ID, it.story.Title)
	}
	return w
}

// refusedWork tells the next iteration why its predecessor's commits are not home.
func refusedWork(why string) string {
	return why + "\nNothing that was committed since counts. Mend the branch: git reset --soft to a commit before that, and commit again."
}
