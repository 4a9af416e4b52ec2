package budget

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/agent-loop/ralph/internal/money"
)

// The test binary is also the other process of these tests: a child is told what
// to do by the environment.
const (
	childEnv  = "RALPH_BUDGET_CHILD" // which of children
	ledgerEnv = "RALPH_BUDGET_LEDGER"
	seedEnv   = "RALPH_BUDGET_SEED"
	sideEnv   = "RALPH_BUDGET_SIDE"
)

func TestMain(m *testing.M) {
	children := map[string]func(path string) error{"race": raceChild, "crash": crashChild}
	child, ok := children[os.Getenv(childEnv)]
	if !ok {
		os.Exit(m.Run())
	}
	if err := child(os.Getenv(ledgerEnv)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// childCommand runs this binary as one of the children.
func childCommand(t *testing.T, child, path string, env ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), append(env, childEnv+"="+child, ledgerEnv+"="+path)...)
	cmd.Env = append(cmd.Env, "GORACE=atexit_sleep_ms=0") // the race detector's children linger
	cmd.Stderr = os.Stderr
	return cmd
}

// sevenFit is a cap with room for exactly seven of the calls that raceFor makes.
var sevenFit = Caps{USD: 7*13*money.Cent + 12*money.Cent}

// raceFor lets goroutines ask for one call each, and counts those let through.
// All ask before the first settles, if they can.
func raceFor(ctx context.Context, l *Ledger, goroutines int) (passed int, err error) {
	var made atomic.Int64
	var failure atomic.Pointer[error]
	var all sync.WaitGroup
	start := make(chan struct{})
	for range goroutines {
		all.Go(func() {
			<-start
			h, err := l.Reserve(ctx, cents(13))
			if err == nil {
				made.Add(1)
				err = h.Settle(h.Held())
			}
			if err != nil && !isSpent(err) {
				failure.Store(&err)
			}
		})
	}
	close(start)
	all.Wait()
	if failed := failure.Load(); failed != nil {
		err = *failed
	}
	return int(made.Load()), err
}

func checkSeven(t *testing.T, path string, passed int) {
	t.Helper()
	if passed != 7 {
		t.Errorf("%d calls passed, want 7", passed)
	}
	want := Totals{Spent: usd(7 * 13 * money.Cent), Calls: 7}
	if got := totals(t, opened(t, path, sevenFit)); got != want {
		t.Errorf("totals %+v, want %+v", got, want)
	}
	if most := highWater(t, path); most > sevenFit.USD {
		t.Errorf("%v was committed at one time, over the cap of %v", most, sevenFit.USD)
	}
}

func TestFiftyGoroutinesRaceForSevenCalls(t *testing.T) {
	path := newPath(t)
	passed, err := raceFor(t.Context(), opened(t, path, sevenFit), 50)
	must(t, err)
	checkSeven(t, path, passed)
}

func TestTwoLedgersOfOneProcessShareABudget(t *testing.T) {
	path := newPath(t)
	var passed atomic.Int64
	var both sync.WaitGroup
	for range 2 {
		l := opened(t, path, sevenFit)
		both.Go(func() {
			n, err := raceFor(t.Context(), l, 25)
			if err != nil {
				t.Error(err)
			}
			passed.Add(int64(n))
		})
	}
	both.Wait()
	checkSeven(t, path, int(passed.Load()))
}

func TestFiveProcessesRaceForSevenCalls(t *testing.T) {
	path := newPath(t)
	passed := make([]strings.Builder, 5)
	var all []*exec.Cmd
	for i := range passed {
		cmd := childCommand(t, "race", path)
		cmd.Stdout = &passed[i]
		must(t, cmd.Start())
		all = append(all, cmd)
	}
	sum := 0
	for i, cmd := range all {
		must(t, cmd.Wait())
		var n int
		if _, err := fmt.Sscan(passed[i].String(), &n); err != nil {
			t.Fatal(err)
		}
		sum += n
	}
	checkSeven(t, path, sum)
}

// raceChild prints how many of its calls were let through.
func raceChild(path string) error {
	l, err := Open(path, sevenFit)
	if err != nil {
		return err
	}
	passed, err := raceFor(context.Background(), l, 10)
	if err != nil {
		return err
	}
	fmt.Println(passed)
	return l.Close()
}
