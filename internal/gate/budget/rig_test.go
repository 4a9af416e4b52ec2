package budget

import (
	"bufio"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/agent-loop/ralph/internal/money"
)

// newPath is where a ledger may be made.
func newPath(t testing.TB) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "budget.jsonl")
}

// opened opens a ledger and closes it with the test.
func opened(t testing.TB, path string, caps Caps) *Ledger {
	t.Helper()
	l, err := Open(path, caps)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func usd(amount money.USD) Amount { return Amount{USD: amount} }

// cents claims dollars only.
func cents(n int64) Claim { return Claim{Amount: usd(money.Cent.Times(n))} }

func reserved(t testing.TB, l *Ledger, claim Claim) *Hold {
	t.Helper()
	h, err := l.Reserve(t.Context(), claim)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func isSpent(err error) bool {
	var spent *SpentError
	return errors.As(err, &spent)
}

func isDamaged(err error) bool {
	var damaged *DamagedError
	return errors.As(err, &damaged)
}

func totals(t testing.TB, l *Ledger) Totals {
	t.Helper()
	all, err := l.Totals()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// records reads a ledger line by line.
func records(t testing.TB, path string) []record {
	t.Helper()
	f, err := os.Open(path)
	must(t, err)
	defer f.Close()
	var all []record
	var sum uint32
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var r record
		if r, sum, err = decode(lines.Bytes(), sum); err != nil {
			t.Fatalf("line %d: %v", len(all)+1, err)
		}
		all = append(all, r)
	}
	return all
}

// highWater replays a ledger in another way than the package does, and returns
// the most dollars that were ever committed at one time.
func highWater(t testing.TB, path string) money.USD {
	t.Helper()
	var most, committed money.USD
	holds := map[key]money.USD{}
	for _, r := range records(t, path) {
		switch r.Op {
		case opHold:
			holds[r.key()] = r.amount().USD
			committed += r.amount().USD
		case opSettle, opForfeit, opRelease:
			committed += r.amount().USD - holds[r.key()]
		}
		most = max(most, committed)
	}
	return most
}
