package demo

import (
	"fmt"
	"iter"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/agent-loop/ralph/internal/agent"
	"github.com/agent-loop/ralph/internal/rundir"
)

// How the agent on the tape says what came of an attempt, at the end of a line
// that begins with what it tried.
const (
	refusedWord = ": refused"
	gotOutWord  = ": got out"
)

// maxAttempts bounds what is taken out of a record.
const maxAttempts = 50

// Attempt is one try to get out of the sandbox. What is hostile text.
type Attempt struct {
	What    string
	Refused bool
	By      Witness
}

// Witness is who says so.
type Witness string

// The witnesses.
const (
	Agent Witness = "agent" // it saw what came of it
	Gate  Witness = "gate"  // it decided
)

// Attempts finds in a record what the agent tried: what it printed about it, and
// what the gate refused.
func Attempts(events iter.Seq2[rundir.Event, error]) ([]Attempt, error) {
	var all []Attempt
	for e, err := range events {
		if err != nil {
			return all, fmt.Errorf("reading the record: %w", err)
		}
		switch e.Type {
		case rundir.EventAgent:
			all = append(all, printed(e)...)
		case rundir.EventGate:
			all = append(all, atGate(e)...)
		}
		if len(all) >= maxAttempts {
			return all[:maxAttempts], nil
		}
	}
	return all, nil
}

// printed are the attempts that the output of a command tells of.
func printed(e rundir.Event) (found []Attempt) {
	var said agent.Event
	if json.Unmarshal(e.Data, &said) != nil || said.Kind != agent.ToolResult {
		return nil
	}
	for line := range strings.Lines(said.Text) {
		line = strings.TrimSpace(line)
		if what, ok := strings.CutSuffix(line, refusedWord); ok {
			found = append(found, Attempt{what, true, Agent})
		}
		if what, ok := strings.CutSuffix(line, gotOutWord); ok {
			found = append(found, Attempt{what, false, Agent})
		}
	}
	return found
}

// atGate is a connection that the gate refused. Calls of the model have a code of
// their own and are another matter.
func atGate(e rundir.Event) []Attempt {
	var decided struct { // of gate.Event
		Host    string `json:"host"`
		Port    int    `json:"port"`
		Allowed bool   `json:"allowed"`
		Reason  string `json:"reason"`
		Code    string `json:"code"`
	}
	if json.Unmarshal(e.Data, &decided) != nil || decided.Allowed || decided.Host == "" || decided.Code != "" {
		return nil
	}
	return []Attempt{{fmt.Sprintf("%s:%d, %s", decided.Host, decided.Port, decided.Reason), true, Gate}}
}
