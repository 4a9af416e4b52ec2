package rundir

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/agent-loop/ralph/internal/money"
)

// Iteration is the record of one iteration. Spend and EventsHead are filled in by
// AppendIteration.
type Iteration struct {
	N            int       `json:"n"` // counted from 1
	Outcome      string    `json:"outcome"`
	Reason       string    `json:"reason,omitzero"` // why it was no success
	Started      time.Time `json:"started"`
	DurationMS   int64     `json:"duration_ms"`
	Turns        int       `json:"turns"`
	ExitCode     int       `json:"exit_code,omitzero"`
	Commits      []string  `json:"commits,omitempty"` // that came home
	Commit       string    `json:"commit,omitzero"`   // the branch's tip then
	ChangedFiles int       `json:"changed_files"`
	Validated    *bool     `json:"validated,omitzero"` // nil when no validation ran
	PromptSHA256 string    `json:"prompt_sha256,omitzero"`
	AgentCostUSD money.USD `json:"agent_cost_usd,omitzero"` // what the agent believes

	Spend      `json:",inline"`
	EventsHead Head `json:"events_head"` // just before the iteration's event
}

// AppendIteration records an iteration, lasting. One that is recorded already is
// left as it is, so that a resumed run may say it again; none may be left out.
func (r *Run) AppendIteration(it Iteration) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if it.N <= r.ledger.Iterations && it.N > 0 {
		return nil
	}
	if it.N != r.ledger.Iterations+1 {
		return fmt.Errorf("iteration %d cannot follow iteration %d", it.N, r.ledger.Iterations)
	}
	if err := r.chain.sync(); err != nil {
		return err
	}
	it.Spend, it.EventsHead = r.ledger.Open, r.chain.head
	it, line, err := r.iterationLine(it)
	if err != nil {
		return fmt.Errorf("recording iteration %d: %w", it.N, err)
	}
	if err := r.writeIteration(line); err != nil {
		return fmt.Errorf("recording iteration %d: %w", it.N, err)
	}
	return r.addIterationEvent(it, sha256.Sum256(line))
}

// iterationLine returns the line of an iteration, and the iteration as the line
// has it: its secrets masked, its text UTF-8.
func (r *Run) iterationLine(it Iteration) (back Iteration, line []byte, err error) {
	line, err = json.Marshal(it, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return back, nil, err
	}
	line = r.options.mask(line)
	if len(line) > MaxLine {
		return back, nil, errTooLong
	}
	if err := json.Unmarshal(line, &back); err != nil {
		return back, nil, fmt.Errorf("with its secrets masked: %w", err)
	}
	if back.N != it.N || back.Spend != it.Spend || back.EventsHead != it.EventsHead {
		return back, nil, errors.New("its figures contain a secret")
	}
	return back, line, nil
}

// writeIteration writes a line, lasting, or takes back what it wrote of it.
func (r *Run) writeIteration(line []byte) error {
	line = append(line[:len(line):len(line)], '\n')
	_, err := r.iterations.WriteAt(line, r.written)
	if err == nil {
		err = r.iterations.Sync()
	}
	if err != nil {
		if cut := r.iterations.Truncate(r.written); cut != nil {
			r.chain.broken = fmt.Errorf("iterations: a line could not be taken back: %w", cut)
		}
		return err
	}
	r.written += int64(len(line))
	return nil
}

func (r *Run) addIterationEvent(it Iteration, hash Hash) error {
	data, err := encodeData(iterationRef{N: it.N, Outcome: it.Outcome, Spend: it.Spend, SHA256: hash})
	if err != nil {
		return err
	}
	if err := r.add(Event{Type: EventIteration, Iteration: it.N, Data: data}); err != nil {
		return err
	}
	return r.chain.flush()
}
