package view

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/agent-loop/ralph/internal/plaintext"
	"github.com/agent-loop/ralph/internal/rundir"
)

// Run is all that is shown of one run.
type Run struct {
	rundir.Summary
	Path       string             // the run's folder
	Holder     *rundir.Holder     // who writes it; nil for nobody
	Iterations []rundir.Iteration // first to last
	Checkpoint rundir.Checkpoint  // the last
	Work       Work               // what came home
	AnswerFile string             // where an answer may be written; empty where that is not known
	Problems   []string           // what of the record could not be read
}

// How much of an agent's words is shown.
const (
	maxReason     = 1000
	failureLines  = 15
	questionLines = 30
	summaryLines  = 6
)

// Detail prints what there is to know about a run, for a screen of so many
// columns; 0 for no screen.
func Detail(out io.Writer, r Run, now time.Time, screen int) error {
	d := detail{&strings.Builder{}, screenOr(screen), now}
	d.line(Sentence(r.Summary, maxReason)) // it may take several lines of the screen
	d.facts(d.who(r))
	d.facts(d.work(r))
	d.facts(usage(r.State))
	d.iterations(r.Iterations)
	d.resumes(r.Resumes)
	d.workBlocks(r.Work)
	d.block("the agent said last", Block(r.Checkpoint.Summary, d.room(), summaryLines))
	d.block("the last validation failed", Tail(r.Checkpoint.ValidationFailure, d.room(), failureLines))
	d.block("the agent asks", Block(r.Checkpoint.Question, d.room(), questionLines))
	d.block("not all of the record can be read", r.Problems)
	d.next(r)
	_, err := io.WriteString(out, d.String())
	return err
}

type detail struct {
	*strings.Builder
	screen int
	now    time.Time
}

// room is the width of a block's lines.
func (d detail) room() int { return max(d.screen-4, minLast) }

func (d detail) line(text string) { d.WriteString(text + "\n") }

func (d detail) facts(all []fact) {
	for _, f := range all {
		d.WriteString(f.line(d.screen))
	}
}

// who says who works where, and when.
func (d detail) who(r Run) []fact {
	agent := r.Agent
	if r.Model != "" {
		agent += " with " + r.Model
	}
	facts := []fact{
		{"agent", joined(" in ", agent, r.Engine)},
		{"workspace", r.Workspace},
		{"record", r.Path},
		{"started", d.when(r.StartedAt)},
	}
	if r.EndedAt != nil && r.Status != rundir.Running {
		facts = append(facts, fact{"ended", d.when(*r.EndedAt)})
	}
	if r.Holder != nil {
		facts = append(facts, fact{"written by", r.Holder.String()})
	}
	if r.Live && r.Current > 0 {
		facts = append(facts, fact{"under way", fmt.Sprintf("iteration %d", r.Current)})
	}
	return facts
}

func (d detail) when(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return moment(t, d.now.Location()) + " (" + Age(t, d.now) + ")"
}

func (d detail) iterations(its []rundir.Iteration) {
	if len(its) == 0 {
		return
	}
	d.line("")
	var t table
	t.row(withCommits(its, "COMMITS", "N", "OUTCOME", "TIME", "TURNS", "TOKENS", "COST", "FILES", "VALID", "REASON")...)
	for _, it := range its {
		t.row(withCommits(its, fmt.Sprint(len(it.Commits)),
			fmt.Sprint(it.N), it.Outcome, Duration(milliseconds(it.DurationMS)), fmt.Sprint(it.Turns),
			Count(it.Tokens.Total()), Dollars(it.CostUSD), fmt.Sprint(it.ChangedFiles), validated(it), it.Reason)...)
	}
	_ = t.write(d, d.screen) // what fails is told by Flush
	if gate, agent, differs := AgentDiffers(its); differs {
		d.line("")
		d.line(fmt.Sprintf("the agent itself counts %s where the gate charged %s; limits go by the gate",
			Dollars(agent), Dollars(gate)))
	}
}

// withCommits puts a column of commits before the last two, in a run that has any.
func withCommits(its []rundir.Iteration, commits string, cells ...string) []string {
	if !slices.ContainsFunc(its, func(it rundir.Iteration) bool { return len(it.Commits) > 0 }) {
		return cells
	}
	return slices.Insert(cells, len(cells)-2, commits)
}

func validated(it rundir.Iteration) string {
	switch {
	case it.Validated == nil:
		return "-"
	case *it.Validated:
		return "yes"
	}
	return "no"
}

func (d detail) resumes(all []rundir.Resume) {
	var lines []string
	for _, r := range all {
		text := fmt.Sprintf("%s after iteration %d (%s), with %s",
			moment(r.At, d.now.Location()), r.Iteration, r.From, limits(r.Limits))
		lines = append(lines, text)
	}
	d.block("resumed", lines)
}

// block prints lines that may hold hostile text, each behind a mark, so that none
// of them looks like ours.
func (d detail) block(title string, lines []string) {
	if len(lines) == 0 {
		return
	}
	d.line("\n" + title + ":")
	for _, line := range lines {
		d.line("  | " + plaintext.Line(line, d.room()))
	}
}

func (d detail) next(r Run) {
	commands := Next(r.Summary, r.Checkpoint.Question)
	if len(commands) == 0 {
		return
	}
	d.line("")
	writeNext(d.Builder, commands)
	if r.Status == rundir.NeedsAttention && r.AnswerFile != "" {
		d.WriteString(fact{"or", "write the answer to " + Quoted(r.AnswerFile) + ", then ralph resume " + Quoted(r.ID)}.line(maxLine))
	}
}

// Note keeps what could not be read of the record, if anything.
func (r *Run) Note(err error) {
	if err != nil {
		r.Problems = append(r.Problems, err.Error())
	}
}
