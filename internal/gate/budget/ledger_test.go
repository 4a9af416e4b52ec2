package budget

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agent-loop/ralph/internal/lockfile"
	"github.com/agent-loop/ralph/internal/money"
)

func TestEndingsOfAHold(t *testing.T) {
	const held = 40 * money.Cent
	for _, c := range []struct {
		name    string
		end     func(*Hold) error
		want    Totals
		overrun bool
	}{
		{"not ended", func(*Hold) error { return nil },
			Totals{Held: Amount{held, 100}, Open: 1}, false},
		{"settled for less", func(h *Hold) error { return h.Settle(Amount{30 * money.Cent, 70}) },
			Totals{Spent: Amount{30 * money.Cent, 70}, Calls: 1}, false},
		{"settled for nothing", func(h *Hold) error { return h.Settle(Amount{}) },
			Totals{Calls: 1}, false},
		{"settled for more dollars", func(h *Hold) error { return h.Settle(Amount{60 * money.Cent, 70}) },
			Totals{Spent: Amount{60 * money.Cent, 70}, Calls: 1}, true},
		{"settled for more tokens", func(h *Hold) error { return h.Settle(Amount{held, 101}) },
			Totals{Spent: Amount{held, 101}, Calls: 1}, true},
		{"forfeited", func(h *Hold) error { return h.Forfeit(Amount{}) },
			Totals{Uncertain: Amount{held, 100}, Calls: 1}, false},
		{"forfeited after more was seen", func(h *Hold) error { return h.Forfeit(Amount{50 * money.Cent, 1}) },
			Totals{Uncertain: Amount{50 * money.Cent, 100}, Calls: 1}, true},
		{"released", func(h *Hold) error { return h.Release() },
			Totals{}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := newPath(t)
			l := opened(t, path, Caps{USD: money.Dollar})
			h := reserved(t, l, Claim{Amount: Amount{held, 100}, Run: "r1"})
			var overrun *OverrunError
			if err := c.end(h); errors.As(err, &overrun) != c.overrun || !c.overrun && err != nil {
				t.Errorf("ending returned %v", err)
			}
			of, err := l.TotalsOf("r1")
			if got := totals(t, l); got != c.want || of != c.want || err != nil {
				t.Errorf("totals %+v, of the run %+v, want %+v", got, of, c.want)
			}
			if got := totals(t, opened(t, path, Caps{USD: money.Dollar})); got != c.want {
				t.Errorf("read from the file: %+v, want %+v", got, c.want)
			}
		})
	}
}

func TestAHoldEndsOnce(t *testing.T) {
	l := opened(t, newPath(t), Caps{})
	h := reserved(t, l, cents(5))
	if err := h.Settle(usd(-1)); err == nil || errors.Is(err, ErrEnded) {
		t.Errorf("a negative amount was settled: %v", err)
	}
	must(t, h.Settle(usd(money.Cent)))
	for name, again := range map[string]func() error{
		"settle":  func() error { return h.Settle(usd(money.Cent)) },
		"forfeit": func() error { return h.Forfeit(Amount{}) },
		"release": h.Release,
	} {
		if err := again(); !errors.Is(err, ErrEnded) {
			t.Errorf("%s of an ended hold: %v", name, err)
		}
	}
	if got, want := totals(t, l), (Totals{Spent: usd(money.Cent), Calls: 1}); got != want {
		t.Errorf("totals %+v, want %+v", got, want)
	}
}

func TestWhatFitsUnderACap(t *testing.T) {
	for _, c := range []struct {
		name  string
		caps  Caps
		asked []Amount
		fit   int
	}{
		{"to the nano-dollar", Caps{USD: 10}, []Amount{{4, 0}, {6, 0}, {1, 0}}, 2},
		{"one over", Caps{USD: 10}, []Amount{{4, 0}, {7, 0}}, 1},
		{"tokens", Caps{Tokens: 10}, []Amount{{1 << 40, 4}, {1 << 40, 6}, {0, 1}}, 2},
		{"both, dollars first", Caps{USD: 5, Tokens: 100}, []Amount{{5, 1}, {1, 1}}, 1},
		{"both, tokens first", Caps{USD: 100, Tokens: 5}, []Amount{{1, 5}, {1, 1}}, 1},
		{"nothing is free under a full cap", Caps{USD: 5}, []Amount{{5, 0}, {0, 0}}, 2},
		{"no cap", Caps{}, []Amount{{money.Dollar, 1e6}, {money.Most / 2, 1 << 60}}, 2},
		{"more than can be counted", Caps{}, []Amount{{money.Most, 0}, {1, 0}}, 1},
		{"more tokens than can be counted", Caps{}, []Amount{{0, 1}, {0, math.MaxInt64}}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := opened(t, newPath(t), c.caps)
			for i, amount := range c.asked {
				_, err := l.Reserve(t.Context(), Claim{Amount: amount})
				if i < c.fit && err != nil || i >= c.fit && !isSpent(err) {
					t.Errorf("reservation %d: %v", i, err)
				}
			}
		})
	}
}

func TestRefusalSaysWhereTheMoneyIs(t *testing.T) {
	l := opened(t, newPath(t), Caps{USD: money.Dollar, Tokens: 50})
	must(t, reserved(t, l, cents(20)).Settle(usd(20*money.Cent)))
	must(t, reserved(t, l, cents(30)).Forfeit(Amount{}))
	reserved(t, l, cents(40))
	_, err := l.Reserve(t.Context(), cents(11))
	var spent *SpentError
	if !errors.As(err, &spent) || !spent.OverUSD() {
		t.Fatal(err)
	}
	want := "budget of $1.00 has no room for a call of up to $0.11: $0.20 spent, $0.30 uncertain, $0.40 held"
	if spent.Error() != want {
		t.Errorf("%q, want %q", spent, want)
	}
	_, err = l.Reserve(t.Context(), Claim{Amount: Amount{Tokens: 51}})
	if !errors.As(err, &spent) || spent.OverUSD() || !strings.Contains(spent.Error(), "50 tokens") {
		t.Errorf("over the cap of tokens: %v", err)
	}
}

func TestAnOverrunStopsEverything(t *testing.T) {
	l := opened(t, newPath(t), Caps{USD: money.Dollar})
	h := reserved(t, l, cents(10))
	var overrun *OverrunError
	if err := h.Settle(usd(101 * money.Cent)); !errors.As(err, &overrun) {
		t.Fatalf("settled for more than was held: %v", err)
	}
	if _, err := l.Reserve(t.Context(), Claim{}); !isSpent(err) {
		t.Errorf("reserved past the cap: %v", err)
	}
	if got := totals(t, l).Spent.USD; got != 101*money.Cent {
		t.Errorf("spent %v", got)
	}
}

func TestRunsAreCountedApart(t *testing.T) {
	l := opened(t, newPath(t), Caps{USD: money.Dollar})
	for _, run := range []string{"a", "b", "a", ""} {
		claim := cents(3)
		claim.Run = run
		must(t, reserved(t, l, claim).Settle(usd(2*money.Cent)))
	}
	for run, calls := range map[string]int64{"a": 2, "b": 1, "": 1, "never": 0} {
		got, err := l.TotalsOf(run)
		if want := (Totals{Spent: usd(money.Cent.Times(2 * calls)), Calls: calls}); got != want || err != nil {
			t.Errorf("run %q: %+v %v, want %+v", run, got, err, want)
		}
	}
}

func TestCapsChangeOnlyBySetCaps(t *testing.T) {
	path := newPath(t)
	caps := Caps{USD: 10 * money.Cent}
	l := opened(t, path, caps)
	must(t, reserved(t, l, cents(10)).Settle(usd(10*money.Cent)))

	var differ *CapsError
	if _, err := Open(path, Caps{}); !errors.As(err, &differ) || differ.Recorded != caps {
		t.Fatalf("opened without the cap: %v", err)
	}
	other, err := OpenExisting(path)
	must(t, err)
	defer other.Close()
	must(t, other.SetCaps(t.Context(), Caps{USD: 11 * money.Cent}))
	h := reserved(t, l, cents(1)) // the one that was open before sees it too
	must(t, h.Settle(h.Held()))

	must(t, l.SetCaps(t.Context(), Caps{USD: money.Cent}))
	if _, err := other.Reserve(t.Context(), cents(0)); !isSpent(err) {
		t.Errorf("reserved under a cap below what is spent: %v", err)
	}
	if got, err := opened(t, path, Caps{USD: money.Cent}).Caps(); got != (Caps{USD: money.Cent}) || err != nil {
		t.Errorf("caps %+v %v", got, err)
	}
	if err := l.SetCaps(t.Context(), Caps{USD: -1}); err == nil {
		t.Error("a negative cap was set")
	}
}

func TestBudgetsAreIndependent(t *testing.T) {
	directory := t.TempDir()
	// One is named as if it were the file of an owner of the other.
	one := opened(t, filepath.Join(directory, "b"), Caps{USD: money.Cent})
	two := opened(t, filepath.Join(directory, "b"+ownerMark+newOwnerID()), Caps{USD: money.Cent})
	h := reserved(t, one, cents(1))
	reserved(t, two, cents(1))
	if got := totals(t, one); got.Held != usd(money.Cent) || got.Open != 1 {
		t.Errorf("totals of the first %+v", got)
	}
	if got := totals(t, two); got.Held != usd(money.Cent) || got.Open != 1 {
		t.Errorf("totals of the second %+v", got)
	}
	must(t, h.Release())
	if _, err := two.Reserve(t.Context(), cents(1)); !isSpent(err) {
		t.Errorf("the second got money of the first: %v", err)
	}
}

func TestCloseForfeitsOpenHolds(t *testing.T) {
	path := newPath(t)
	caps := Caps{USD: money.Dollar}
	l := opened(t, path, caps)
	watcher := opened(t, path, caps)
	h := reserved(t, l, cents(7))
	reserved(t, l, cents(8))
	if got := totals(t, watcher); got.Held != usd(15*money.Cent) || got.Open != 2 {
		t.Errorf("before Close: %+v", got)
	}
	must(t, l.Close())
	if got, want := totals(t, watcher), (Totals{Uncertain: usd(15 * money.Cent), Calls: 2}); got != want {
		t.Errorf("after Close: %+v, want %+v", got, want)
	}
	for name, use := range map[string]func() error{
		"Settle":  func() error { return h.Settle(Amount{}) },
		"Reserve": func() error { _, err := l.Reserve(context.Background(), cents(1)); return err },
		"Totals":  func() error { _, err := l.Totals(); return err },
	} {
		if err := use(); !errors.Is(err, ErrClosed) {
			t.Errorf("%s after Close: %v", name, err)
		}
	}
	must(t, l.Close()) // again
	must(t, watcher.Close())
	if left, _ := filepath.Glob(path + ".*"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestWaitingForAnotherProcessEnds(t *testing.T) {
	path := newPath(t)
	l := opened(t, path, Caps{USD: money.Dollar})
	other, err := os.OpenFile(path, os.O_RDWR, 0)
	must(t, err)
	defer other.Close()
	must(t, lockfile.Try(other))

	tired := errors.New("tired of waiting")
	ctx, stop := context.WithTimeoutCause(t.Context(), 20*time.Millisecond, tired)
	defer stop()
	if _, err := l.Reserve(ctx, cents(1)); !errors.Is(err, tired) {
		t.Errorf("after the context's end: %v", err)
	}
	must(t, lockfile.Unlock(other))
	if _, err := l.Reserve(ctx, cents(1)); !errors.Is(err, tired) {
		t.Errorf("with a context that has ended: %v", err)
	}
	must(t, lockfile.Try(other))

	refused := make(chan error)
	go func() {
		_, err := l.Reserve(t.Context(), cents(1))
		refused <- err
	}()
	l.Close() // has no open hold, so needs no lock
	if err := <-refused; !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

func TestClaimsAreChecked(t *testing.T) {
	path := newPath(t)
	l := opened(t, path, Caps{})
	for name, claim := range map[string]Claim{
		"negative dollars": {Amount: usd(-1)},
		"negative tokens":  {Amount: Amount{Tokens: -1}},
		"long run":         {Run: strings.Repeat("r", maxRun+1)},
		"run not UTF-8":    {Run: "\xff"},
	} {
		if _, err := l.Reserve(t.Context(), claim); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
	longest := Claim{
		Amount: Amount{money.Most, math.MaxInt64},
		Run:    strings.Repeat("\x01", maxRun),
		Note:   strings.Repeat("\x02", maxNote-1) + "é, cut in its middle",
	}
	must(t, reserved(t, l, longest).Release())
	for _, r := range records(t, path) {
		if r.Op == opHold && (r.Run != longest.Run || r.Note != longest.Note[:maxNote-1]) {
			t.Errorf("recorded run %q and note %q", r.Run, r.Note)
		}
	}
}
