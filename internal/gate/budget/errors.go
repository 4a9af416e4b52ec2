package budget

import (
	"errors"
	"fmt"
)

var (
	// ErrEnded is returned by an ending of a hold that has already ended.
	ErrEnded = errors.New("the reservation has already ended")
	// ErrClosed is returned by all methods of a closed ledger and of its holds.
	ErrClosed = errors.New("the ledger is closed")
)

// SpentError refuses a reservation that does not fit under a cap. It is final
// until caps are raised or reservations under way come to less than was held.
type SpentError struct {
	Caps   Caps
	Totals Totals
	Asked  Amount
}

// OverUSD tells whether the cap in dollars refuses, not only the one in tokens.
func (e *SpentError) OverUSD() bool { return e.Totals.Committed().USD > e.Caps.limit().USD-e.Asked.USD }

// Error names the cap, and where the money is.
func (e *SpentError) Error() string {
	t := e.Totals
	if e.OverUSD() {
		return fmt.Sprintf("budget of %v has no room for a call of up to %v: %v spent, %v uncertain, %v held",
			e.Caps.limit().USD, e.Asked.USD, t.Spent.USD, t.Uncertain.USD, t.Held.USD)
	}
	return fmt.Sprintf("budget of %d tokens has no room for a call of up to %d: %d spent, %d uncertain, %d held",
		e.Caps.limit().Tokens, e.Asked.Tokens, t.Spent.Tokens, t.Uncertain.Tokens, t.Held.Tokens)
}

// OverrunError reports that a call came to more than was held for it. It has
// been recorded in full; the bound was wrong, and the cap may now be passed.
type OverrunError struct {
	Held, Actual Amount
}

func (e *OverrunError) Error() string {
	return fmt.Sprintf("a call came to %v, more than the %v held for it", e.Actual, e.Held)
}

// CapsError reports that a ledger was opened with other caps than it records.
// [OpenExisting] followed by [Ledger.SetCaps] changes them.
type CapsError struct {
	Recorded, Asked Caps
}

func (e *CapsError) Error() string {
	return fmt.Sprintf("the budget has caps of %v (zero is none), not of %v", Amount(e.Recorded), Amount(e.Asked))
}

// DamagedError reports a ledger whose totals cannot be trusted. Nothing can be
// reserved from it.
type DamagedError struct {
	Path   string
	Line   int64 // counted from one
	Offset int64 // in bytes, of the line's start
	Err    error
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("ledger %s is damaged at line %d (byte %d): %v; nothing more is spent on it: "+
		"restore the file, or move it away and start a new budget with what is left", e.Path, e.Line, e.Offset, e.Err)
}

func (e *DamagedError) Unwrap() error { return e.Err }
