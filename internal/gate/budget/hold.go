package budget

import "fmt"

// Hold is an amount that is set aside for one call. It must end once: by Settle,
// Forfeit or Release. The first that is recorded stands; later ones change nothing
// and return [ErrEnded], or [ErrClosed] when the ledger was closed first. After
// any other error but *[OverrunError] the hold is still open, counted in full, and
// may be ended again.
type Hold struct {
	ledger *Ledger
	key    key
	held   Amount
}

// Held is the amount that was set aside.
func (h *Hold) Held() Amount { return h.held }

// Settle records what the call came to. More than was held is recorded as it is,
// and reported by an *[OverrunError].
func (h *Hold) Settle(actual Amount) error { return h.end(opSettle, actual) }

// Forfeit records that nobody knows what the call came to: the stream broke, the
// answer could not be read. All that was held stays counted, for ever. If a part
// of the price was seen and is more, that counts, with an *[OverrunError].
func (h *Hold) Forfeit(seen Amount) error { return h.end(opForfeit, seen) }

// Release records that nothing was spent: the call was never sent, or it was
// refused by the upstream in a way that is not billed.
func (h *Hold) Release() error { return h.end(opRelease, Amount{}) }

func (h *Hold) end(op string, actual Amount) error {
	if err := actual.valid(); err != nil {
		return fmt.Errorf("ending a reservation: %w", err)
	}
	counted := actual
	if op == opForfeit {
		counted = actual.atLeast(h.held)
	}
	err := h.ledger.briefly(func() error {
		if _, open := h.ledger.journal.state.open[h.key]; !open {
			return ErrEnded
		}
		return h.ledger.journal.append(record{Op: op, Owner: h.key.owner, N: h.key.n}.with(counted))
	})
	if err != nil {
		return fmt.Errorf("ending a reservation: %w", err)
	}
	if !actual.within(h.held) {
		return &OverrunError{Held: h.held, Actual: actual}
	}
	return nil
}
