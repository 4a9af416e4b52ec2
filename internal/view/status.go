package view

import (
	"slices"
	"strings"

	"github.com/agent-loop/ralph/internal/plaintext"
	"github.com/agent-loop/ralph/internal/rundir"
)

// What people are told a run is, besides what rundir says of one.
const (
	Interrupted rundir.Status = "interrupted" // it says running, and nobody writes it
	Broken      rundir.Status = "broken"      // its state cannot be read
)

// Statuses are all that StatusOf can say.
func Statuses() []rundir.Status {
	return []rundir.Status{
		rundir.Running, rundir.Paused, rundir.Done, rundir.NeedsAttention, rundir.Failed,
		rundir.Stopped, rundir.Limit, Interrupted, Broken,
	}
}

// StatusOf is what people are told that a run is.
func StatusOf(s rundir.Summary) rundir.Status {
	switch {
	case s.Broken != "":
		return Broken
	case s.Status == rundir.Running && !s.Live:
		return Interrupted
	}
	return s.Status
}

// Reason is why a run is what it is, in one line that is not safe yet.
func Reason(s rundir.Summary) string {
	if s.Broken != "" {
		return s.Broken
	}
	if StatusOf(s) == Interrupted && s.StopReason == "" {
		return "its process is gone"
	}
	return s.StopReason
}

// sentence says what became of a run, for a line that begins with the run's id.
func sentence(status rundir.Status) string {
	switch status {
	case rundir.Running:
		return "is running"
	case rundir.Paused:
		return "is paused"
	case rundir.Done:
		return "is done"
	case rundir.NeedsAttention:
		return "needs your attention"
	case rundir.Failed:
		return "failed"
	case rundir.Stopped:
		return "was stopped"
	case rundir.Limit:
		return "ended at a limit"
	case Interrupted:
		return "was interrupted"
	case Broken:
		return "cannot be read"
	}
	return "is " + string(status)
}

// Sentence says in one line what became of a run, and why.
func Sentence(s rundir.Summary, columns int) string {
	return plaintext.Line(joined(": ", "run "+s.ID+" "+sentence(StatusOf(s)), Reason(s)), columns)
}

// paint colours a safe text by what a run is. Without colour it returns the text.
func paint(text string, status rundir.Status, color bool) string {
	if !color {
		return text
	}
	code := "33" // yellow: a person may want to do something
	switch status {
	case rundir.Done, rundir.Running:
		code = "32"
	case rundir.Failed, Broken:
		code = "31"
	}
	return "\x1b[1;" + code + "m" + text + "\x1b[0m"
}

// Quoted makes a word of a command line that a shell takes as it is meant.
func Quoted(word string) string {
	word = plaintext.Line(word, maxText)
	plain := func(r rune) bool {
		return r < 0x80 && (strings.ContainsRune("-._/+:=@", r) || '0' <= r && r <= '9' || 'a' <= r|0x20 && r|0x20 <= 'z')
	}
	if word != "" && !slices.ContainsFunc([]rune(word), func(r rune) bool { return !plain(r) }) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
