package main

import (
	"fmt"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/agent-loop/ralph/internal/rundir"
)

// rounds is how many iterations are measured.
const rounds = 40

// iterations measures what an iteration takes beside the agent and the validation:
// from one iteration's start to the next, without the time of their processes.
func (b *bench) iterations() error {
	for _, way := range []struct{ name, sandbox, settings string }{
		{"kept", "the sandbox is kept", ""},
		{"new", "a new sandbox each time", "[sandbox]\nreuse_container = false"},
	} {
		project, err := b.project("iterations-"+way.name, "echo n >>work; echo done", way.settings)
		if err != nil {
			return err
		}
		run, err := b.work(project, "--max-iterations", fmt.Sprint(rounds))
		if err != nil {
			return err
		}
		overhead, err := overheads(run)
		if err != nil {
			return err
		}
		fmt.Printf("| an iteration, beside the agent and the validation | %s | %s; of %d the middle |\n", show(middle(overhead)), way.sandbox, len(overhead))
	}
	return nil
}

// overheads are the times from one iteration's start to the next, but for what the
// agent and the validation took.
func overheads(run *rundir.Reader) ([]time.Duration, error) {
	defer run.Close()
	var (
		times []time.Duration
		began time.Time
		inner time.Duration
	)
	for e, err := range run.Events(0) {
		if err != nil {
			return nil, err
		}
		switch e.Type {
		case rundir.EventBegin:
			if !began.IsZero() {
				times = append(times, e.Time.Sub(began)-inner)
			}
			began, inner = e.Time, 0
		case rundir.EventAgentExit, rundir.EventValidation:
			var took struct {
				Milliseconds int64 `json:"duration_ms"`
			}
			if err := json.Unmarshal(e.Data, &took); err != nil {
				return nil, err
			}
			inner += time.Duration(took.Milliseconds) * time.Millisecond
		}
	}
	return times, nil
}

// printed is how many lines the talkative agent prints.
const printed = 400_000

// events measures how fast an agent's output becomes events of the record.
func (b *bench) events() error {
	project, err := b.project("events", fmt.Sprintf("seq -f 'this is line %%.0f of what the agent has to say' %d", printed), "")
	if err != nil {
		return err
	}
	run, err := b.work(project, "--max-iterations", "1")
	if err != nil {
		return err
	}
	defer run.Close()
	var first, last time.Time
	count := 0
	for e, err := range run.Events(0) {
		if err != nil {
			return err
		}
		if e.Type == rundir.EventAgent {
			if count++; count == 1 {
				first = e.Time
			}
			last = e.Time
		}
	}
	fmt.Printf("| events, from the sandbox to the record | %.0f a second | %d in %.1f s, chained and masked |\n",
		float64(count)/last.Sub(first).Seconds(), count, last.Sub(first).Seconds())
	return nil
}
