package rundir

import (
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"

	"github.com/agent-loop/ralph/internal/money"
)

// Tokens counts what models read and wrote.
type Tokens struct {
	Input      int64 `json:"input,omitzero"`
	Output     int64 `json:"output,omitzero"`
	CacheRead  int64 `json:"cache_read,omitzero"`
	CacheWrite int64 `json:"cache_write,omitzero"`
}

// Total is how many tokens there were of all kinds.
func (t Tokens) Total() int64 { return t.Input + t.Output + t.CacheRead + t.CacheWrite }

func (t Tokens) add(u Tokens) Tokens {
	return Tokens{t.Input + u.Input, t.Output + u.Output, t.CacheRead + u.CacheRead, t.CacheWrite + u.CacheWrite}
}

// valid keeps sums far from overflow.
func (t Tokens) valid() bool {
	const most = 1 << 40
	for _, n := range []int64{t.Input, t.Output, t.CacheRead, t.CacheWrite} {
		if n < 0 || n > most {
			return false
		}
	}
	return true
}

// Spend is money and what it bought.
type Spend struct {
	CostUSD money.USD `json:"cost_usd"`
	Tokens  Tokens    `json:"tokens"`
}

func (s Spend) add(t Spend) Spend {
	return Spend{s.CostUSD.Add(t.CostUSD), s.Tokens.add(t.Tokens)}
}

// Charge is the data of an EventCharge: one call of a model that was paid for.
// Callers may use a type of their own that has the fields of Spend.
type Charge struct {
	Spend  `json:",inline"`
	Model  string `json:"model,omitzero"`
	CallID string `json:"call_id,omitzero"`
}

// CheckpointRef names a checkpoint and what its file holds.
type CheckpointRef struct {
	N      int  `json:"n"`
	SHA256 Hash `json:"sha256,omitzero"`
}

// iterationRef is the data of an EventIteration.
type iterationRef struct {
	N       int    `json:"n"`
	Outcome string `json:"outcome"`
	Spend   `json:",inline"`
	SHA256  Hash `json:"sha256"` // of the line in iterations.jsonl
}

// ledger is what the events up to some point add up to. Writer, Open and Verify
// all use it, so that they cannot count differently.
type ledger struct {
	Iterations int
	Total      Spend // of all charges
	Open       Spend // of charges that no iteration has taken over yet
	Checkpoint CheckpointRef
	prior      CheckpointRef // what Checkpoint was before, where that is known
}

// counters leaves out what is known to a replay alone.
func (l ledger) counters() ledger {
	l.prior = CheckpointRef{}
	return l
}

func (l *ledger) apply(e Event) error {
	switch e.Type {
	case EventCharge:
		return l.charge(e)
	case EventIteration:
		var ref iterationRef
		if err := json.Unmarshal(e.Data, &ref); err != nil {
			return fmt.Errorf("it is no iteration: %w", err)
		}
		return l.iterate(ref)
	case EventCheckpoint:
		var ref CheckpointRef
		if err := json.Unmarshal(e.Data, &ref); err != nil {
			return fmt.Errorf("it is no checkpoint: %w", err)
		}
		if ref.N < 1 || ref.N > maxCheckpoint {
			return fmt.Errorf("there is no checkpoint %d", ref.N)
		}
		l.prior, l.Checkpoint = l.Checkpoint, ref
	case EventRepair:
		var what repair
		if err := json.Unmarshal(e.Data, &what); err != nil {
			return fmt.Errorf("it is no repair: %w", err)
		}
		if what.Back != nil {
			l.Checkpoint = *what.Back
		}
	}
	return nil
}

func (l *ledger) charge(e Event) error {
	var said struct {
		CostUSD *money.USD `json:"cost_usd"`
		Tokens  Tokens     `json:"tokens"`
	}
	if err := json.Unmarshal(e.Data, &said); err != nil {
		return fmt.Errorf("it is no charge: %w", err)
	}
	if said.CostUSD == nil || !said.Tokens.valid() {
		return errors.New("it is no charge: cost_usd is missing, or tokens are out of range")
	}
	spend := Spend{*said.CostUSD, said.Tokens}
	l.Total, l.Open = l.Total.add(spend), l.Open.add(spend)
	return nil
}

func (l *ledger) iterate(ref iterationRef) error {
	switch {
	case ref.N != l.Iterations+1:
		return fmt.Errorf("iteration %d follows iteration %d", ref.N, l.Iterations)
	case ref.Spend != l.Open:
		return fmt.Errorf("iteration %d says that it cost %v, its charges add up to %v (or its tokens differ)", ref.N, ref.CostUSD, l.Open.CostUSD)
	}
	l.Iterations, l.Open = ref.N, Spend{}
	return nil
}
