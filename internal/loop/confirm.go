package loop

import (
	"context"
	"errors"
	"fmt"

	"github.com/agent-loop/ralph/internal/rundir"
	"github.com/agent-loop/ralph/internal/sandbox"
)

// confirm validates once more before a run ends done, in a sandbox that no agent was
// in: what one left in its home, such as settings of a build tool, can make a check
// pass that should not. Where there are commits it is done on a clean checkout of the
// last one, with the files that the project trusts as they were in the beginning.
//
// Work that fails there is not done, and told why. What cannot be checked needs a
// person: it is neither verified nor wrong.
func (r *runner) confirm(ctx context.Context, it *iteration, stop rundir.Stop) (rundir.Stop, error) {
	if stop.Status != rundir.Done {
		return stop, nil
	}
	if it.checked == nil {
		r.State.Verification = &rundir.Verification{Outcome: rundir.Unverifiable, Commit: r.State.Commit, Reason: "there is no validation command"}
		return stop, nil
	}
	if r.Git == nil && !r.Rules.KeepSandbox { // it was validated in a new one
		r.State.Verification = &rundir.Verification{Outcome: rundir.Verified}
		return stop, nil
	}
	v, err := r.confirmation(ctx, it)
	if err != nil {
		return rundir.Stop{}, err
	}
	r.note(rundir.EventValidation, it.n, v)
	r.State.Verification = verification(v)
	r.step("confirmed")
	// What runs there may be the agent's, and what it does to the task file would
	// be taken for a person's edit once the run has ended.
	if u := r.tasks.look(); u.Problem != nil || len(u.Violations) > 0 {
		r.noteTasks(it.n, u)
	}
	switch v.Outcome {
	case rundir.Verified:
		return stop, nil
	case rundir.Unverifiable:
		return rundir.Stop{Status: rundir.NeedsAttention, Reason: stop.Reason + ", but that cannot be verified here: " + v.Error}, nil
	}
	v.Output = r.whereItFailed(v) + v.Output
	it.checked = v
	return rundir.Stop{}, nil
}

// confirmation is the validation that confirms.
func (r *runner) confirmation(ctx context.Context, it *iteration) (*rundir.Validation, error) {
	if r.Git != nil {
		return r.confirmCommit(ctx, it.n)
	}
	if err := r.closeBox("the work is validated in a new one"); err != nil {
		return nil, err
	}
	box, err := r.sandbox(ctx, it.n)
	if err != nil {
		return nil, err
	}
	v, failed := r.validateIn(ctx, box)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if failed != nil && gone(failed) {
		return judged(v, failed), r.closeBox(failed.Error())
	}
	return judged(v, failed), r.sweep(ctx)
}

// confirmCommit validates the last commit that came home. What keeps it from being
// checked is in the validation; the error is what ends the run.
func (r *runner) confirmCommit(ctx context.Context, n int) (*rundir.Validation, error) {
	if err := r.closeBox("the work is validated in a new one"); err != nil {
		return nil, err
	}
	r.step("checking out")
	place, err := r.Git.CheckOut(ctx)
	if err != nil {
		return nil, err
	}
	v, err := r.validateAt(ctx, n, place)
	if ctx.Err() != nil {
		return nil, errors.Join(context.Cause(ctx), place.Close())
	}
	v = judged(v, err)
	v.Commit, v.Trusted = place.Commit, place.Trusted
	return v, place.Close()
}

// validateAt validates in a sandbox of its own. The error is why that could not be
// done, or not to its end.
func (r *runner) validateAt(ctx context.Context, n int, place Checkout) (v *rundir.Validation, err error) {
	v = &rundir.Validation{Command: r.Rules.Validation}
	box, launch, err := place.Launch(ctx)
	if err != nil {
		return v, err
	}
	r.note(rundir.EventLaunch, n, launch)
	defer func() {
		landed := rundir.Landed{Sandbox: box.ID(), Reason: "the validation is over"}
		if late := box.Close(); late != nil {
			landed.Error = late.Error()
		}
		r.note(rundir.EventLanded, n, landed)
	}()
	if r.Rules.ValidationSetUp != "" {
		setUp, err := r.checkWith(ctx, box, r.Rules.ValidationSetUp)
		if err == nil && !setUp.Passed {
			err = fmt.Errorf("the set-up, %s, ends with exit code %d", setUp.Command, setUp.ExitCode)
		}
		if err != nil {
			v.Output = setUp.Output
			return v, err
		}
	}
	return r.validateIn(ctx, box)
}

// Exit codes of a shell that has not found a program, or cannot run it.
const (
	cannotRun = 126
	notFound  = 127
)

// cannotBeRun tells whether a program of a validation was missing.
func cannotBeRun(v rundir.Validation) bool {
	return v.Error == "" && (v.ExitCode == notFound || v.ExitCode == cannotRun)
}

// judged completes a validation that confirms. A limit of time is the command's own
// fault; whatever else kept it from being run says nothing about the work.
func judged(v *rundir.Validation, err error) *rundir.Validation {
	v.Confirms = true
	var limit *sandbox.LimitError
	switch {
	case v.Passed && err == nil:
		v.Outcome = rundir.Verified
	case errors.As(err, &limit):
		v.Outcome = rundir.NotVerified
	case err != nil:
		v.Outcome, v.Error = rundir.Unverifiable, err.Error()
	case cannotBeRun(*v):
		v.Outcome, v.Error = rundir.Unverifiable, fmt.Sprintf("it ends with exit code %d, as what is missing does", v.ExitCode)
	default:
		v.Outcome = rundir.NotVerified
	}
	return v
}

func verification(v *rundir.Validation) *rundir.Verification {
	summary := &rundir.Verification{Outcome: v.Outcome, Commit: v.Commit, Reason: v.Error}
	if v.Outcome == rundir.NotVerified && v.Error == "" {
		summary.Reason = fmt.Sprintf("exit code %d", v.ExitCode)
	}
	return summary
}

// whereItFailed tells the next iteration what is different this time.
func (r *runner) whereItFailed(v *rundir.Validation) string {
	if v.Commit == "" {
		return "[this ran in a new sandbox: only the project's folder is kept, nothing in the home or /tmp]\n"
	}
	text := fmt.Sprintf("[this ran in a new sandbox on a clean checkout of commit %.12s: what is not committed is not there", v.Commit)
	if len(v.Trusted) > 0 {
		text += fmt.Sprintf("; these files are checks, and were as they had been before the run: %s", join(v.Trusted))
	}
	return text + "]\n"
}

// join lists some names.
func join(names []string) string {
	const most = 20
	text := ""
	for i, name := range names[:min(len(names), most)] {
		if i > 0 {
			text += ", "
		}
		text += name
	}
	if len(names) > most {
		text += fmt.Sprintf(" and %d more", len(names)-most)
	}
	return text
}
