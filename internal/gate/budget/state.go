package budget

import (
	"errors"
	"fmt"
)

// key names a hold: its owner's id and the owner's count.
type key struct {
	owner string
	n     int64
}

// openHold is a reservation that has not ended.
type openHold struct {
	Amount
	run string
}

// state is what the lines of a ledger add up to.
type state struct {
	started bool // the first line has been seen
	caps    Caps
	all     Totals
	runs    map[string]*Totals
	open    map[key]openHold
}

func newState() state {
	return state{runs: map[string]*Totals{}, open: map[key]openHold{}}
}

// apply adds one record. A record that makes no sense leaves the state as it was.
func (s *state) apply(r record) error {
	if s.started != (r.Op != opLedger) {
		return errors.New("the first line, and no other, must say that this is a ledger")
	}
	if err := r.amount().valid(); err != nil {
		return err
	}
	switch r.Op {
	case opLedger:
		return s.start(r)
	case opCaps:
		s.caps = Caps(r.amount())
		return nil
	case opHold:
		return s.hold(r)
	case opSettle, opForfeit, opRelease:
		return s.end(r)
	case opEnd:
		s.endOwner(r.Owner)
		return nil
	}
	return fmt.Errorf("unknown record %q", r.Op)
}

func (s *state) start(r record) error {
	if r.V != version {
		return fmt.Errorf("the ledger has format %d, not %d: it was made by another version of ralph", r.V, version)
	}
	s.started = true
	return nil
}

// lacks tells whether an amount does not fit under a limit beside what is
// committed already. The differences cannot wrap: nothing is negative.
func (s *state) lacks(limit, asked Amount) bool {
	committed := s.all.Committed()
	return committed.USD > limit.USD-asked.USD || committed.Tokens > limit.Tokens-asked.Tokens
}

// hold does not look at caps, which may since have been lowered; but what cannot
// be counted can not have been held.
func (s *state) hold(r record) error {
	if _, twice := s.open[r.key()]; twice || r.Owner == "" || r.N <= 0 {
		return fmt.Errorf("reservation %d of %q is there twice, or unnamed", r.N, r.Owner)
	}
	if s.lacks(Caps{}.limit(), r.amount()) {
		return errors.New("more is held than can be counted")
	}
	s.open[r.key()] = openHold{Amount: r.amount(), run: r.Run}
	s.both(r.Run, func(t *Totals) {
		t.Held = t.Held.plus(r.amount())
		t.Open++
	})
	return nil
}

func (s *state) end(r record) error {
	h, ok := s.open[r.key()]
	if !ok {
		return fmt.Errorf("reservation %d of %q ends without having begun", r.N, r.Owner)
	}
	delete(s.open, r.key())
	s.both(h.run, func(t *Totals) { t.end(r.Op, h.Amount, r.amount()) })
	return nil
}

// end moves what was held to where it counts now.
func (t *Totals) end(op string, held, actual Amount) {
	t.Held = t.Held.minus(held)
	t.Open--
	switch op {
	case opSettle:
		t.Spent = t.Spent.plus(actual)
		t.Calls++
	case opForfeit:
		t.Uncertain = t.Uncertain.plus(actual)
		t.Calls++
	}
}

// endOwner forfeits all open holds of an owner.
func (s *state) endOwner(owner string) {
	for k, h := range s.open {
		if k.owner == owner {
			delete(s.open, k)
			s.both(h.run, func(t *Totals) { t.end(opForfeit, h.Amount, h.Amount) })
		}
	}
}

// both changes the totals of the budget and those of one run alike.
func (s *state) both(run string, change func(*Totals)) {
	if s.runs[run] == nil {
		s.runs[run] = &Totals{}
	}
	change(&s.all)
	change(s.runs[run])
}

// owners returns who has open holds.
func (s *state) owners() map[string]bool {
	owners := map[string]bool{}
	for k := range s.open {
		owners[k.owner] = true
	}
	return owners
}
