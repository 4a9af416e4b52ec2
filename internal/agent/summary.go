package agent

import (
	"bytes"
	"strings"
	"time"

	"github.com/agent-loop/ralph/internal/money"
)

// maxFinal is how much of the last words is kept: their end.
const maxFinal = 256 << 10

// Summary is what an iteration's events come to. It stays small however many
// there are.
type Summary struct {
	Session   string
	Model     string
	Events    int
	ToolCalls int
	Retries   int
	End       *End      // the last word, if there was one
	Code      string    // the agent's own word for the last error
	Status    int       // of HTTP, of the last error that had one
	Until     time.Time // until when a limit holds, if the agent knew
	LastError string

	usage    Usage
	cost     money.USD
	costed   bool
	final    []byte
	complete Usage // as the result has it, which includes everything
	resulted bool
}

// Summarize is the summary of events.
func Summarize(events ...Event) *Summary {
	s := &Summary{}
	s.Add(events...)
	return s
}

// Add takes more events in.
func (s *Summary) Add(events ...Event) {
	for i := range events {
		s.add(&events[i])
	}
}

func (s *Summary) add(e *Event) {
	s.Events++
	if e.Session != "" {
		s.Session = e.Session
	}
	switch e.Kind {
	case Init:
		s.Model = e.Model
	case Text:
		s.say(e)
	case ToolCall:
		s.ToolCalls++
		if !e.Subagent {
			s.final = s.final[:0] // what was said before a call is not the last word
		}
	case UsageEvent:
		s.spend(e)
	case RateLimit:
		if e.Limit != nil && e.Limit.Rejected {
			s.Until = e.Limit.Until
		}
	case Retry:
		s.Retries++
	case ErrorEvent:
		s.fault(e)
	case Result:
		s.result(e)
	}
}

// say keeps the words of the agent itself, not those of its agents.
func (s *Summary) say(e *Event) {
	if e.Subagent {
		return
	}
	s.Code, s.Status, s.LastError = "", 0, "" // it got over whatever failed before
	if len(s.final) > 0 && !e.Delta {
		s.final = append(s.final, '\n')
	}
	s.final = append(s.final, e.Text...)
	if len(s.final) > 4*maxFinal { // seldom, so that many small words stay cheap
		s.final = bytes.Clone(tail(s.final))
	}
}

func tail(text []byte) []byte { return text[max(len(text)-maxFinal, 0):] }

func (s *Summary) spend(e *Event) {
	if e.Usage != nil {
		s.usage = s.usage.Plus(*e.Usage)
	}
	if e.Cost != nil {
		s.cost, s.costed = s.cost.Add(*e.Cost), true
	}
}

// fault remembers an error that is not a mere warning.
func (s *Summary) fault(e *Event) {
	if e.Code == "warning" {
		return
	}
	s.Code, s.LastError = e.Code, e.Text
	if e.Status != 0 {
		s.Status = e.Status
	}
}

// result takes the last word for all that was used, for the events before it did
// not know everything.
func (s *Summary) result(e *Event) {
	end := End{}
	if e.End != nil {
		end = *e.End
	}
	s.End = &end
	if end.Status != 0 {
		s.Status = end.Status
	}
	if e.Text != "" && !end.IsError {
		s.final = []byte(e.Text)
	}
	if e.Usage != nil {
		s.complete, s.resulted = s.complete.Plus(*e.Usage), true
	}
	if e.Cost != nil {
		s.cost, s.costed = *e.Cost, true // of the whole session so far
	}
}

// Final is the agent's last words: what it said after the last use of a tool.
func (s *Summary) Final() string { return strings.ToValidUTF8(string(tail(s.final)), "") }

// Cost is what an iteration used by the agent's own account, to be compared
// with what the gate counted. It is never what is charged.
type Cost struct {
	Usage Usage
	USD   money.USD
	Known bool // the agent counts money at all
}

// Cost is the agent's own account.
func (s *Summary) Cost() Cost {
	usage := s.usage
	if s.resulted {
		usage = s.complete
	}
	return Cost{Usage: usage, USD: s.cost, Known: s.costed}
}
