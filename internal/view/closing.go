package view

import (
	"io"
	"strings"

	"github.com/agent-loop/ralph/internal/plaintext"
	"github.com/agent-loop/ralph/internal/rundir"
)

const (
	// closingWidth is that of the closing summary: it must fit a plain terminal.
	closingWidth = 100
	nameWidth    = 12
)

// Closing prints how a run ended, when it ends: about twelve lines with what it
// used and did, what the agent said last, and the commands that go on from here.
// The screen has so many columns; 0 for no screen. Colour is for terminals alone.
// What cannot be written is not told.
func Closing(out io.Writer, s rundir.State, its []rundir.Iteration, c rundir.Checkpoint, screen int, color bool) {
	b := &strings.Builder{}
	defer func() { _, _ = io.WriteString(out, b.String()) }()
	run := rundir.Summary{State: s}
	status := StatusOf(run)
	head := plaintext.Line("run "+s.ID+" "+sentence(status), closingWidth)
	b.WriteString(paint(head, status, color))
	if reason := plaintext.Line(Reason(run), 2*closingWidth); reason != "" {
		b.WriteString(": " + reason)
	}
	b.WriteString("\n")
	facts := append(usage(s), fact{"changed", changes(its)}, branch(s), verified(s))
	if s.Verification == nil {
		facts = append(facts, verdict(its, c))
	}
	facts = append(facts, fact{"agent said", c.Summary}, fact{"question", c.Question})
	for _, f := range facts {
		b.WriteString(f.line(min(screenOr(screen), closingWidth)))
	}
	writeNext(b, append(closingNext(run, c.Question), "ralph show "+Quoted(s.ID)))
}

// closingNext adds a look at what was done so far to what goes on from here.
func closingNext(run rundir.Summary, question string) []string {
	next := Next(run, question)
	if HasWork(run.State) && StatusOf(run) != rundir.Done {
		next = append(next, "ralph diff "+Quoted(run.ID))
	}
	return next
}

// line prints a fact; one that says nothing is no line.
func (f fact) line(columns int) string {
	value := plaintext.Line(f.value, max(columns-nameWidth-2, minLast))
	if value == "" {
		return ""
	}
	return "  " + f.name + strings.Repeat(" ", max(1, nameWidth-len(f.name))) + value + "\n"
}

// verdict tells how the last validation came out, and the end of what it printed.
func verdict(its []rundir.Iteration, c rundir.Checkpoint) fact {
	switch passed, ran := lastValidation(its); {
	case !ran:
		return fact{}
	case passed:
		return fact{"validation", "passed"}
	}
	return fact{"validation", joined(": ", "failed", lastWords(c.ValidationFailure))}
}

// lastWords is the end of what a validation printed, which tells more than its exit
// code alone.
func lastWords(failure string) string {
	lines := Tail(failure, closingWidth, 3) // the first may say that there were more
	if len(lines) == 0 {
		return ""
	}
	last := lines[len(lines)-1]
	if len(lines) == 3 && strings.HasPrefix(last, "exit code ") {
		return joined(", ", last, lines[1])
	}
	return last
}

func writeNext(b *strings.Builder, commands []string) {
	for i, command := range commands {
		name := "next"
		if i > 0 {
			name = "or"
		}
		b.WriteString(fact{name, command}.line(maxLine))
	}
}
