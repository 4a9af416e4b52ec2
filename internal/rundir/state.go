package rundir

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/agent-loop/ralph/internal/money"
)

const schema = 1

// Status says what became of a run.
type Status string

// What a run can be. A run that is Running and has no holder was interrupted.
const (
	Running        Status = "running"
	Paused         Status = "paused"
	Done           Status = "done"
	NeedsAttention Status = "needs-attention"
	Failed         Status = "error"
	Stopped        Status = "stopped"
	Limit          Status = "limit"
)

func statuses() []Status {
	return []Status{Running, Paused, Done, NeedsAttention, Failed, Stopped, Limit}
}

// Limits are the budgets of the whole run; zero means none.
type Limits struct {
	MaxCostUSD     money.USD `json:"max_cost_usd,omitzero"`
	MaxTokens      int64     `json:"max_tokens,omitzero"`
	MaxIterations  int       `json:"max_iterations,omitzero"`
	MaxTimeSeconds int64     `json:"max_time_seconds,omitzero"`
}

// Resume is one time that the run was taken up again.
type Resume struct {
	At        time.Time `json:"at"`
	Iteration int       `json:"iteration"` // how many were recorded then
	From      Status    `json:"from"`      // what the run was
	Limits    Limits    `json:"limits"`    // since then
}

// State is where a run is. The fields of the second group are filled in by
// SaveState, whatever the caller puts there.
type State struct {
	Schema         int        `json:"schema_version"`
	ID             string     `json:"id"`
	Status         Status     `json:"status"`
	StopReason     string     `json:"stop_reason"`
	Agent          string     `json:"agent"`
	Engine         string     `json:"engine"`
	Model          string     `json:"model,omitzero"`
	Current        int        `json:"current_iteration,omitzero"` // the one under way
	StartedAt      time.Time  `json:"started_at"`                 // by default the run's creation
	EndedAt        *time.Time `json:"ended_at,omitzero"`
	ElapsedSeconds int64      `json:"elapsed_seconds,omitzero"` // of all sessions
	Limits         Limits     `json:"limits"`
	Resumes        []Resume   `json:"resumes,omitempty"`
	Workspace      string     `json:"workspace,omitzero"`
	InPlace        bool       `json:"in_place,omitzero"` // the agent works on the project's own files
	Branch         string     `json:"branch,omitzero"`
	Base           string     `json:"base,omitzero"`   // the commit that the run began with
	Commit         string     `json:"commit,omitzero"` // the branch's tip

	Verification *Verification `json:"verification,omitzero"`

	PID        int           `json:"pid,omitzero"`
	UpdatedAt  time.Time     `json:"updated_at"`
	Iteration  int           `json:"iteration"` // how many are recorded
	CostUSD    money.USD     `json:"cost_usd"`
	Tokens     Tokens        `json:"tokens"`
	OpenSpend  Spend         `json:"open_spend,omitzero"` // the part of both that is in no iteration's record yet
	Checkpoint CheckpointRef `json:"checkpoint,omitzero"`
	EventsHead Head          `json:"events_head"`
}

// stateSeal is the data of an EventState.
type stateSeal struct {
	Status Status `json:"status"`
	SHA256 Hash   `json:"sha256"` // of state.json with an empty events_head
}

func (s State) ledger() ledger {
	return ledger{Iterations: s.Iteration, Total: Spend{s.CostUSD, s.Tokens}, Open: s.OpenSpend, Checkpoint: s.Checkpoint}
}

func (s State) with(l ledger) State {
	s.Iteration, s.CostUSD, s.Tokens = l.Iterations, l.Total.CostUSD, l.Total.Tokens
	s.OpenSpend, s.Checkpoint = l.Open, l.Checkpoint
	return s
}

// encode replaces what is not UTF-8, as in a reason that an agent gave: a state
// must always be saved.
func (s State) encode() ([]byte, error) {
	text, err := json.Marshal(s, json.Deterministic(true), jsontext.WithIndent("  "), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return nil, fmt.Errorf("encoding the state: %w", err)
	}
	return append(text, '\n'), nil
}

// sealed empties the head and returns the event data that seals the rest.
func (s State) sealed() (State, jsontext.Value, error) {
	s.EventsHead = Head{}
	text, err := s.encode()
	if err != nil {
		return s, nil, err
	}
	data, err := encodeData(stateSeal{s.Status, sha256.Sum256(text)})
	return s, data, err
}

// parseState reads what encode wrote and nothing else: every byte counts.
func parseState(text []byte) (State, error) {
	var s State
	if err := json.Unmarshal(text, &s); err != nil {
		return State{}, bad(stateFile, 0, "%v", err)
	}
	if s.Schema != schema {
		return State{}, bad(stateFile, 0, "it is of version %d, not %d", s.Schema, schema)
	}
	if !slices.Contains(statuses(), s.Status) {
		return State{}, bad(stateFile, 0, "there is no status %q", s.Status)
	}
	if s.EventsHead.Bytes < 0 || s.EventsHead.Count < 0 || s.Iteration < 0 {
		return State{}, bad(stateFile, 0, "a count is negative")
	}
	return s, nil
}

// SaveState replaces state.json, lasting, after all events. The counters are what
// the events add up to.
func (r *Run) SaveState(s State) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.Contains(statuses(), s.Status) {
		return fmt.Errorf("there is no status %q", s.Status)
	}
	s, err := r.masked(r.completed(s))
	if err != nil {
		return err
	}
	s, seal, err := s.sealed()
	if err != nil {
		return err
	}
	if err := r.add(Event{Type: EventState, Data: seal}); err != nil {
		return err
	}
	if err := r.chain.sync(); err != nil {
		return err
	}
	s.EventsHead = r.chain.head
	text, err := s.encode()
	if err != nil {
		return err
	}
	return replaceFile(r.dir, stateFile, text)
}

func (r *Run) completed(s State) State {
	s = s.with(r.ledger)
	s.Schema, s.ID, s.PID = schema, r.id, os.Getpid()
	s.UpdatedAt = r.now()
	if s.StartedAt.IsZero() {
		s.StartedAt = r.start
	}
	if ended := s.UpdatedAt; s.EndedAt == nil && s.Status != Running && s.Status != Paused {
		s.EndedAt = &ended
	}
	return s
}

// masked returns the state as it is once its secrets are gone.
func (r *Run) masked(s State) (State, error) {
	text, err := s.encode()
	if err != nil {
		return s, err
	}
	masked := r.options.mask(bytes.Clone(text))
	if bytes.Equal(masked, text) {
		return s, nil
	}
	s, err = parseState(masked)
	if err != nil {
		return s, fmt.Errorf("masking the state: %w", err)
	}
	return s.with(r.ledger), nil
}
