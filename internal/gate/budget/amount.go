package budget

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/agent-loop/ralph/internal/money"
)

// Amount is what a call costs, in both currencies of a budget.
type Amount struct {
	USD    money.USD
	Tokens int64
}

// plus adds, and stays at the most that can be counted instead of wrapping.
func (a Amount) plus(b Amount) Amount {
	tokens := int64(math.MaxInt64)
	if a.Tokens <= tokens-b.Tokens {
		tokens = a.Tokens + b.Tokens
	}
	return Amount{USD: a.USD.Add(b.USD), Tokens: tokens}
}

// minus subtracts what was added before.
func (a Amount) minus(b Amount) Amount {
	return Amount{USD: a.USD - b.USD, Tokens: a.Tokens - b.Tokens}
}

// atLeast raises each currency to that of b.
func (a Amount) atLeast(b Amount) Amount {
	return Amount{USD: max(a.USD, b.USD), Tokens: max(a.Tokens, b.Tokens)}
}

// within tells whether a passes b in neither currency.
func (a Amount) within(b Amount) bool { return a.USD <= b.USD && a.Tokens <= b.Tokens }

func (a Amount) valid() error {
	if a.USD < 0 || a.Tokens < 0 {
		return fmt.Errorf("an amount of %v and %d tokens is negative", a.USD, a.Tokens)
	}
	return nil
}

// String is for people.
func (a Amount) String() string { return fmt.Sprintf("%v and %d tokens", a.USD, a.Tokens) }

// Caps is what may be spent in all. Zero is no cap of that kind.
type Caps struct {
	USD    money.USD
	Tokens int64
}

func (c Caps) valid() error { return Amount(c).valid() }

// limit turns the absence of a cap into the most that can be counted, so that
// sums never wrap.
func (c Caps) limit() Amount {
	limit := Amount{USD: money.Most, Tokens: math.MaxInt64}
	if c.USD > 0 {
		limit.USD = c.USD
	}
	if c.Tokens > 0 {
		limit.Tokens = c.Tokens
	}
	return limit
}

// The most bytes of a claim's words. A line holds both, escaped.
const (
	maxRun  = 128
	maxNote = 256
)

// Claim asks for the worst case of one call.
type Claim struct {
	Amount
	Run  string // counted apart by [Ledger.TotalsOf]; at most 128 bytes of UTF-8
	Note string // for people, such as the model's name; cut to 256 bytes
}

// checked returns the claim as it will be written. A note may be anything, for
// it may come from a request; a run that was altered would be another run.
func (c Claim) checked() (Claim, error) {
	if err := c.valid(); err != nil {
		return c, err
	}
	if len(c.Run) > maxRun || !utf8.ValidString(c.Run) {
		return c, errors.New("the run's name is too long or not UTF-8")
	}
	c.Note = strings.ToValidUTF8(c.Note[:min(len(c.Note), maxNote)], "")
	return c, nil
}

// Totals is where the money of a budget or of a run is.
type Totals struct {
	Spent     Amount // known to be spent
	Uncertain Amount // the most that calls with an unknown end may have cost
	Held      Amount // set aside for calls under way
	Calls     int64  // that ended, other than by Release
	Open      int64  // under way
}

// Committed is all that counts against a cap.
func (t Totals) Committed() Amount { return t.Spent.plus(t.Uncertain).plus(t.Held) }
