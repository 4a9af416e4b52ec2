package stream

import (
	"fmt"
	"time"

	"github.com/agent-loop/ralph/internal/agent"
	"github.com/agent-loop/ralph/internal/gate"
	"github.com/agent-loop/ralph/internal/plaintext"
	"github.com/agent-loop/ralph/internal/rundir"
)

// Lines turns the events of a run into lines for people. Events must come in
// order. It is not safe for concurrent use.
type Lines struct {
	options Options
	tally   tally
	words   words
	day     string // of the last line
}

// NewLines returns lines that look as the options say.
func NewLines(o Options) *Lines { return &Lines{options: o} }

// said is what an event has to say, in hostile text.
type said struct {
	tone  tone
	text  string
	more  []string // lines below
	quiet bool     // for the verbose only
}

// Skip takes in an event that is not to be shown, for what later ones add up to.
func (l *Lines) Skip(e rundir.Event) { l.tally.apply(e) }

// Render returns the lines of an event, without line feeds; mostly one or none.
// They are no wider than the options say and hold nothing that a terminal would
// obey but colours.
func (l *Lines) Render(e rundir.Event) []string {
	l.tally.apply(e)
	if l.options.Verbose {
		return l.layout(e.Time, e.Iteration, l.say(e))
	}
	if isQuiet(e.Type) {
		return nil
	}
	if e.Type == rundir.EventAgent {
		return l.agent(e)
	}
	return append(l.Flush(), l.layout(e.Time, e.Iteration, l.say(e))...)
}

// Flush returns the line of words that came in pieces and may go on.
func (l *Lines) Flush() []string {
	if !l.words.open {
		return nil
	}
	w := l.words
	l.words = words{text: w.text[:0]}
	return l.layout(w.at, w.iteration, said{text: string(w.text)})
}

// layout makes lines of what is said; of nothing, none.
func (l *Lines) layout(at time.Time, iteration int, s said) []string {
	columns := l.options.columns()
	at = at.In(l.options.zone())
	prefix := at.Format("15:04:05 ")
	if iteration > 0 {
		prefix += fmt.Sprintf("#%d ", iteration)
	}
	if columns < len(prefix)+10 { // then the words are of more use
		prefix = ""
	}
	text := plaintext.Line(s.text, columns-len(prefix))
	if text == "" || s.quiet && !l.options.Verbose {
		return nil
	}
	lines := append(l.newDay(at), l.options.paint(faint, prefix)+l.options.paint(s.tone, text))
	for _, more := range s.more {
		const indent = "    "
		if more = plaintext.Line(more, columns-len(indent)); more != "" {
			lines = append(lines, indent+more)
		}
	}
	return lines
}

// newDay tells the date when it is not that of the line before.
func (l *Lines) newDay(at time.Time) []string {
	day := at.Format(time.DateOnly)
	if l.day == "" || day == l.day {
		l.day = day
		return nil
	}
	l.day = day
	return []string{l.options.paint(faint, plaintext.Line("--- "+day, l.options.columns()))}
}

// isQuiet tells of types that only the verbose see, before any work is done.
func isQuiet(kind string) bool {
	switch kind {
	case rundir.EventCreated, rundir.EventCharge, rundir.EventCheckpoint, rundir.EventState, rundir.EventFiles:
		return true
	}
	return false
}

// say is what an event says. What cannot be read is shown as it is.
func (l *Lines) say(e rundir.Event) said {
	if what, ok := clipped(e.Data); ok {
		return said{text: fmt.Sprintf("%s of %s, not kept whole: %s", e.Type, size(int64(what.Bytes)), what.Top.Bytes())}
	}
	switch e.Type {
	case rundir.EventStart:
		return from(e, func(s rundir.Start) said { return starts(s, e.Time.In(l.options.zone())) })
	case rundir.EventStop:
		return from(e, stops)
	case rundir.EventLaunch:
		return from(e, launches)
	case rundir.EventLanded:
		return from(e, lands)
	case rundir.EventBegin:
		return from(e, func(b rundir.Begin) said { return begins(e.Iteration, b) })
	case rundir.EventIteration:
		return from(e, l.tally.ends)
	case rundir.EventOutcome:
		return from(e, outcome)
	case rundir.EventAgent:
		return from(e, func(a agent.Event) said { return speaks(a) })
	case rundir.EventAgentError:
		return from(e, complains)
	case rundir.EventAgentExit:
		return from(e, exits)
	case rundir.EventOutput:
		return from(e, overflows)
	case rundir.EventGate:
		return from(e, func(g gate.Event) said { return decides(g) })
	}
	return l.sayRest(e)
}

// sayRest are the events that are not of the agent, its sandbox or an iteration.
func (l *Lines) sayRest(e rundir.Event) said {
	switch e.Type {
	case rundir.EventCharge:
		return from(e, charged)
	case rundir.EventFiles:
		return from(e, changes)
	case rundir.EventImport:
		return from(e, imports)
	case rundir.EventRewind:
		return from(e, rewinds)
	case rundir.EventPush:
		return from(e, pushes)
	case rundir.EventValidation:
		return from(e, validates)
	case rundir.EventTask:
		return from(e, tasks)
	case rundir.EventWait:
		return from(e, func(w rundir.Wait) said { return waits(w, e.Time.In(l.options.zone())) })
	case rundir.EventBreaker:
		return from(e, breaks)
	case rundir.EventQuestion:
		return from(e, asks)
	case rundir.EventAnswer:
		return from(e, answers)
	case rundir.EventRequest:
		return from(e, requests)
	case rundir.EventNotify:
		return from(e, notifies)
	case rundir.EventNote:
		return from(e, func(n rundir.Note) said { return said{text: "note: " + n.Text} })
	case rundir.EventRepair:
		return said{tone: warn, text: "the record was mended after a crash: " + string(e.Data)}
	}
	what := unreadable(e)
	what.quiet = true // not of ours
	return what
}

// from reads the data of an event and says it.
func from[T any](e rundir.Event, say func(T) said) said {
	value, ok := decode[T](e.Data)
	if !ok {
		return unreadable(e)
	}
	return say(value)
}

func unreadable(e rundir.Event) said {
	return said{tone: faint, text: e.Type + " " + string(e.Data[:min(len(e.Data), mostColumns)])}
}
