package budget

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// patience is how long a method without a context waits for other processes.
const patience = 10 * time.Second

// Ledger is an open budget. All methods may be called from many goroutines, and
// several Ledgers, in one process or in many, may share a file.
type Ledger struct {
	turn    chan struct{} // held by whoever uses the fields below
	journal *journal
	owner   *owner // from the first reservation on

	open  context.Context // ends, with ErrClosed, when Close begins
	close func() error
}

// Open opens the ledger of one budget, or makes it with these caps. A ledger that
// records other caps is refused with a *[CapsError]: nobody changes caps by
// opening. The file must be this user's own, with mode 0600, and no link.
func Open(path string, caps Caps) (*Ledger, error) {
	if err := caps.valid(); err != nil {
		return nil, fmt.Errorf("opening the ledger: %w", err)
	}
	return open(path, os.O_CREATE, &caps)
}

// OpenExisting opens a ledger with the caps that it records.
func OpenExisting(path string) (*Ledger, error) { return open(path, 0, nil) }

func open(path string, flags int, caps *Caps) (*Ledger, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("opening the ledger: %w", err)
	}
	j, err := openJournal(path, flags)
	if err != nil {
		return nil, fmt.Errorf("opening the ledger: %w", err)
	}
	l := &Ledger{turn: make(chan struct{}, 1), journal: j}
	var end context.CancelCauseFunc
	l.open, end = context.WithCancelCause(context.Background())
	l.close = sync.OnceValue(func() error { end(ErrClosed); return l.shut() })
	if err := l.briefly(func() error { return l.agree(caps) }); err != nil {
		j.file.Close()
		return nil, fmt.Errorf("opening the ledger: %w", err)
	}
	return l, nil
}

// agree gives a new ledger its caps, and compares them with those of an old one.
// Having no cap is recorded too, so that the second line always is of caps.
func (l *Ledger) agree(caps *Caps) error {
	recorded := l.journal.state.caps
	switch {
	case l.journal.lines == 1 && caps != nil:
		return l.journal.append(record{Op: opCaps}.with(Amount(*caps)))
	case l.journal.lines == 1:
		return errors.New("the ledger has no caps yet: it was never used")
	case caps != nil && recorded != *caps:
		return &CapsError{Recorded: recorded, Asked: *caps}
	}
	return nil
}

// Reserve sets the worst case of a call aside. When it returns a Hold, that is on
// disk; otherwise the call must not be made. A *[SpentError] means that it does
// not fit. The context ends a wait for other processes.
func (l *Ledger) Reserve(ctx context.Context, claim Claim) (*Hold, error) {
	claim, err := claim.checked()
	if err != nil {
		return nil, fmt.Errorf("reserving: %w", err)
	}
	var hold *Hold
	var end int64
	err = l.exclusively(ctx, func() error {
		hold, err = l.place(claim)
		end = l.journal.offset
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reserving: %w", err)
	}
	// Outside the lock, so that others write meanwhile. If this fails the hold
	// stays in the file, unused: that counts too much.
	if err := l.journal.sync(end); err != nil {
		return nil, fmt.Errorf("reserving: %w", err)
	}
	return hold, nil
}

// place writes a hold if it fits.
func (l *Ledger) place(claim Claim) (*Hold, error) {
	j := l.journal
	if err := j.syncer.failed(); err != nil {
		return nil, err
	}
	if j.state.lacks(j.state.caps.limit(), claim.Amount) {
		_ = j.reap() // for the words of the error; the sums are the same
		return nil, &SpentError{Caps: j.state.caps, Totals: j.state.all, Asked: claim.Amount}
	}
	if j.offset >= j.most {
		return nil, fmt.Errorf("%s is full with %d bytes: start a new budget with what is left", j.path, j.offset)
	}
	if err := l.becomeOwner(); err != nil {
		return nil, err
	}
	n := l.owner.made + 1
	r := record{Op: opHold, Owner: l.owner.id, N: n, Run: claim.Run, Note: claim.Note}.with(claim.Amount)
	if err := j.append(r); err != nil {
		return nil, err
	}
	l.owner.made = n
	return &Hold{ledger: l, key: r.key(), held: claim.Amount}, nil
}

// becomeOwner makes the file that shows that we live, and brings both names to
// disk, so that no power loss can take the ledger away.
func (l *Ledger) becomeOwner() error {
	if l.owner != nil {
		return nil
	}
	o, err := newOwner(l.journal.path)
	if err != nil {
		return err
	}
	if err := syncDirectory(l.journal.path); err != nil {
		o.close()
		return fmt.Errorf("bringing the ledger's name to disk: %w", err)
	}
	l.owner = o
	return nil
}

// Totals returns where the money of the budget is, after looking who has died.
func (l *Ledger) Totals() (Totals, error) {
	var t Totals
	err := l.look(func(s *state) { t = s.all })
	return t, err
}

// TotalsOf returns where the money of one run is.
func (l *Ledger) TotalsOf(run string) (Totals, error) {
	var t Totals
	err := l.look(func(s *state) {
		if of := s.runs[run]; of != nil {
			t = *of
		}
	})
	return t, err
}

// Caps returns the caps in force.
func (l *Ledger) Caps() (Caps, error) {
	var c Caps
	err := l.look(func(s *state) { c = s.caps })
	return c, err
}

// look shows the state. Where the dead cannot be written down, as on a full disk,
// their holds are shown as held.
func (l *Ledger) look(at func(*state)) error {
	err := l.briefly(func() error {
		_ = l.journal.reap()
		at(&l.journal.state)
		return l.journal.damage
	})
	if err != nil {
		return fmt.Errorf("reading the ledger: %w", err)
	}
	return nil
}

// SetCaps changes the caps for all who share the ledger; zero is no cap. Caps
// below what is spent let nothing more through.
func (l *Ledger) SetCaps(ctx context.Context, caps Caps) error {
	if err := caps.valid(); err != nil {
		return fmt.Errorf("changing caps: %w", err)
	}
	var end int64
	err := l.exclusively(ctx, func() error {
		err := l.journal.append(record{Op: opCaps}.with(Amount(caps)))
		end = l.journal.offset
		return err
	})
	if err == nil {
		err = l.journal.sync(end)
	}
	if err != nil {
		return fmt.Errorf("changing caps: %w", err)
	}
	return nil
}

// Close ends all use of the ledger. Holds that are still open become uncertain.
func (l *Ledger) Close() error { return l.close() }
