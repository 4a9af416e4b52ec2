package loop

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"time"

	"github.com/agent-loop/ralph/internal/rundir"
	"github.com/agent-loop/ralph/internal/task"
)

// iteration is one that is under way.
type iteration struct {
	n       int
	started time.Time
	prompt  string
	story   task.Story
	before  snapshot
	changed int // files
	attempt attempt
	empty   int                // attempts that printed nothing
	checked *rundir.Validation // nil: no validation ran
	update  task.Update
	brought rundir.Import // what came home of it
	commit  string        // the branch's tip then
}

// iterate runs one iteration to its record. It returns a Stop without a status
// when the loop goes on. One that was cut off is not recorded.
func (r *runner) iterate(ctx context.Context) (rundir.Stop, error) {
	it := &iteration{n: r.Run.Iterated() + 1, started: time.Now()}
	r.State.Current = it.n
	if err := r.save(); err != nil {
		return rundir.Stop{}, err
	}
	r.step("iteration begun")
	if err := r.prepare(ctx, it); err != nil {
		return rundir.Stop{}, err
	}
	if stop, err := r.attempts(ctx, it); err != nil || stop.Status != "" {
		return stop, err
	}
	if err := r.check(ctx, it); err != nil {
		return rundir.Stop{}, err
	}
	stop, err := r.confirm(ctx, it, r.decide(it))
	if err != nil {
		return rundir.Stop{}, err
	}
	if err := r.record(it, stop); err != nil {
		return rundir.Stop{}, err
	}
	return r.coolDown(ctx, it, stop)
}

// prepare renders the prompt and looks at the work before anybody touches it.
func (r *runner) prepare(ctx context.Context, it *iteration) (err error) {
	prompt, err := task.LoadPrompt(r.Project, r.Rules.Prompt)
	if err != nil {
		return err
	}
	if err := r.takeFiles(ctx, it.n); err != nil {
		return err
	}
	progress, err := task.ReadProgress(r.Files, task.ProgressFile, progressBytes)
	if err != nil {
		progress = "" // the agent's own notes; it will find out
	}
	values := task.Values{
		Iteration:     it.n,
		MaxIterations: r.State.Limits.MaxIterations,
		Limits:        r.left(it.n),
		LastFailure:   r.checkpoint.ValidationFailure,
		Answers:       answers(r.checkpoint),
		Progress:      progress,
		Validation:    r.Rules.Validation,
	}
	if list := r.tasks.list(); list != nil {
		if it.story, _ = list.Next(); it.story.ID != "" {
			values.Task = it.story.Text()
		} else if list.Done() {
			values.Task = allPass
		}
	}
	if it.prompt, err = prompt.Render(values); err != nil {
		return err
	}
	more, err := unasked(prompt, values)
	if err != nil {
		return err
	}
	it.prompt += more
	it.before, err = r.Tree.look(ctx)
	r.step("prepared")
	return err
}

// allPass is the task when the task file has none left and the work is not done.
const allPass = "Every task of the task file is marked as passing, but the validation fails. Mend what it\nfinds, see below. If a task is not done after all, set its `passes` to false."

// progressBytes is how much of the progress file goes into a prompt.
const progressBytes = 16 << 10

// unasked is what the next attempt must know even if the prompt has no place for
// it: the loop goes in circles otherwise.
func unasked(prompt *task.Prompt, v task.Values) (string, error) {
	text := ""
	if v.LastFailure != "" && !prompt.Uses("last_failure") {
		text += "\n\n## The last validation failed\n\n{{last_failure}}\n"
	}
	if v.Answers != "" && !prompt.Uses("answers") {
		text += "\n\n## Answers to your questions\n\n{{answers}}\n"
	}
	if text == "" {
		return "", nil
	}
	more, err := task.ParsePrompt(text)
	if err != nil {
		return "", err
	}
	return more.Render(v) // which leaves out what no prompt may hold
}

// attempts runs the agent until an attempt counts.
func (r *runner) attempts(ctx context.Context, it *iteration) (rundir.Stop, error) {
	for number := 1; ; number++ {
		r.note(rundir.EventBegin, it.n, rundir.Begin{
			Attempt: number, Task: it.story.ID, TaskTitle: it.story.Title,
			PromptSHA256: digest(it.prompt), PromptBytes: len(it.prompt), HalfOpen: r.breaker.state == halfOpen,
		})
		if err := r.try(ctx, it); err != nil {
			return rundir.Stop{}, err
		}
		after := r.afterAttempt(it)
		o := it.attempt.outcome
		r.note(rundir.EventOutcome, it.n, rundir.Outcome{
			Verdict: string(o.Verdict), Reason: o.Reason, Until: o.Until, Again: after.again, Claims: string(o.Marker.Kind),
		})
		r.step("outcome told")
		if !after.again {
			return after.stop, nil
		}
		if stop, err := r.wait(ctx, it.n, after); err != nil || stop.Status != "" {
			return stop, err
		}
	}
}

// check validates the work and reads the task file, whatever the agent says.
func (r *runner) check(ctx context.Context, it *iteration) error {
	after, err := r.Tree.look(ctx)
	if err != nil {
		return err
	}
	it.changed = it.before.changes(after)
	if it.update, err = r.lookAtTasks(ctx); err != nil { // what is mended in it is part of the commit
		return err
	}
	r.noteTasks(it.n, it.update)
	if err := r.collect(ctx, it); err != nil {
		return err
	}
	if r.Tree == nil {
		it.changed = it.brought.Files
	}
	if r.Rules.Validation != "" && it.worthChecking() {
		if it.checked, err = r.validate(ctx, it.n); err != nil {
			return err
		}
		if err := r.lookAgain(ctx, it); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// lookAgain reads the task file after something ran that may be the agent's.
func (r *runner) lookAgain(ctx context.Context, it *iteration) error {
	u, err := r.lookAtTasks(ctx)
	if err != nil {
		return err
	}
	if u.Problem != nil || len(u.Violations) > 0 || len(u.Changes) != len(it.update.Changes) {
		r.noteTasks(it.n, u)
	}
	if it.update.Problem == nil { // or what it was before it was mended counts
		it.update = u
	}
	return nil
}

// worthChecking tells whether the work may be other than it was, or is said to be
// done.
func (it *iteration) worthChecking() bool {
	return it.attempt.outcome.Finished || it.changed > 0
}

// record writes the iteration down.
func (r *runner) record(it *iteration, stop rundir.Stop) error {
	r.step("decided")
	if err := r.Run.SaveCheckpoint(it.n, r.nextCheckpoint(it, stop)); err != nil {
		return err
	}
	r.step("checkpoint saved")
	r.forgetAnswer()
	r.putQuestion(it)
	r.step("asked")
	if err := r.Run.AppendIteration(it.line()); err != nil {
		return err
	}
	r.step("iteration recorded")
	if r.Share != nil {
		r.Share(r.tasks.believed())
	}
	r.State.Current = 0
	err := r.save()
	r.step("state saved")
	return err
}

func (it *iteration) line() rundir.Iteration {
	a := it.attempt
	line := rundir.Iteration{
		N: it.n, Outcome: string(a.outcome.Verdict), Reason: a.outcome.Reason,
		Started: it.started, DurationMS: time.Since(it.started).Milliseconds(),
		Turns: a.turns(), ExitCode: a.exit.Code, ChangedFiles: it.changed,
		PromptSHA256: digest(it.prompt), AgentCostUSD: a.summary.Cost().USD,
		Commits: it.brought.Commits, Commit: it.commit,
	}
	if it.checked != nil {
		line.Validated = &it.checked.Passed
	}
	return line
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// nextCheckpoint is what the iteration after this one needs.
func (r *runner) nextCheckpoint(it *iteration, stop rundir.Stop) rundir.Checkpoint {
	c := rundir.Checkpoint{
		Commit:    r.State.Commit,
		Summary:   task.Shorten(it.attempt.summary.Final(), maxSummary),
		SessionID: it.attempt.summary.Session,
		Answers:   r.checkpoint.Answers,
		Tasks:     r.tasks.base(),
	}
	switch {
	case it.brought.Refused != "":
		c.ValidationFailure = refusedWork(it.brought.Refused)
	case it.checked == nil:
		c.ValidationFailure = r.checkpoint.ValidationFailure
	case !it.checked.Passed:
		c.ValidationFailure = failure(*it.checked)
	}
	if stop.Status == rundir.Done {
		c.Done, c.Verification = stop.Reason, r.State.Verification
	}
	if len(c.SessionID) > maxSession { // no agent's: a line that something else printed
		c.SessionID = ""
	}
	if it.asks() {
		c.Question = it.attempt.outcome.Marker.Text
	}
	if it.story.ID != "" {
		c.Next = it.story.ID
	}
	r.checkpoint = c
	return c
}

const (
	// maxSummary is how much of the agent's last words is kept.
	maxSummary = 8 << 10
	// maxSession is longer than the name that any agent gives to a session.
	maxSession = 256
)
