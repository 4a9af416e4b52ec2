package budget

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/agent-loop/ralph/internal/money"
)

// TestKilledProcesses kills a process that makes calls, at random points, and
// starts it again. What was really spent is counted by the calls themselves, in
// a file of their own. The cap is reached before the last round.
func TestKilledProcesses(t *testing.T) {
	path, side, caps := newPath(t), filepath.Join(t.TempDir(), "calls"), Caps{USD: 8 * money.Dollar}
	l := opened(t, path, caps)
	random := rand.New(rand.NewPCG(1, 2))
	for round := range uint64(20) {
		killAfter(t, path, side, round, 1+random.IntN(60))
		all, real := totals(t, l), realSpend(t, side)
		committed := all.Committed().USD
		if real > committed || committed > caps.USD {
			t.Fatalf("round %d: really spent %v, committed %v, cap %v", round, real, committed, caps.USD)
		}
		if all.Open != 0 || all.Held != (Amount{}) {
			t.Fatalf("round %d: the dead still hold: %+v", round, all)
		}
	}
	if left, _ := filepath.Glob(path + ".*"); len(left) > 0 {
		t.Errorf("files of dead owners were left: %v", left)
	}
}

// TestKillsBesideAProcessThatGoesOn ends when that one has spent the budget.
func TestKillsBesideAProcessThatGoesOn(t *testing.T) {
	path, side, caps := newPath(t), filepath.Join(t.TempDir(), "calls"), Caps{USD: 60 * money.Dollar}
	l := opened(t, path, caps)
	survivor := childCommand(t, "crash", path, sideEnv+"="+side, seedEnv+"=99")
	must(t, survivor.Start())
	for round := range uint64(5) {
		killAfter(t, path, side, round, 20)
	}
	must(t, survivor.Wait())
	all, real := totals(t, l), realSpend(t, side)
	if committed := all.Committed().USD; real > committed || committed > caps.USD || all.Open != 0 {
		t.Errorf("really spent %v of %v, totals %+v", real, caps.USD, all)
	}
	if all.Committed().USD < caps.USD-20*money.Cent {
		t.Errorf("totals %+v: the last call would have fitted", all)
	}
	if most := highWater(t, path); most > caps.USD {
		t.Errorf("%v was committed at one time", most)
	}
}

// killAfter starts a child and kills it when it has taken so many steps.
func killAfter(t *testing.T, path, side string, seed uint64, steps int) {
	t.Helper()
	cmd := childCommand(t, "crash", path, sideEnv+"="+side, fmt.Sprintf("%s=%d", seedEnv, seed))
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	for progress := bufio.NewScanner(out); steps > 0 && progress.Scan(); {
		steps--
	}
	cmd.Process.Kill()
	cmd.Wait() // says that it was killed
}

// crashChild makes calls from several goroutines until the budget is spent.
func crashChild(path string) error {
	seed, err := strconv.ParseUint(os.Getenv(seedEnv), 10, 64)
	if err != nil {
		return err
	}
	l, err := OpenExisting(path)
	if err != nil {
		return err
	}
	side, err := os.OpenFile(os.Getenv(sideEnv), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	var all sync.WaitGroup
	for i := range uint64(4) {
		all.Go(func() {
			for random := rand.New(rand.NewPCG(seed, i)); ; {
				err := oneCall(l, side, random)
				if isSpent(err) {
					return
				}
				if err != nil {
					panic(err)
				}
			}
		})
	}
	all.Wait()
	return l.Close()
}

// oneCall reserves, spends and ends. It tells of each step on standard output.
func oneCall(l *Ledger, side *os.File, random *rand.Rand) error {
	held := money.Cent.Times(1 + random.Int64N(20))
	fmt.Println("reserving")
	h, err := l.Reserve(context.Background(), Claim{Amount: usd(held), Run: "crash"})
	if err != nil {
		return err
	}
	fmt.Println("calling")
	if random.IntN(10) == 0 {
		return h.Release()
	}
	actual := money.USD(random.Int64N(int64(held) + 1))
	if _, err := fmt.Fprintf(side, "\n%d\n", int64(actual)); err != nil {
		return err
	}
	fmt.Println("ending")
	if random.IntN(10) == 0 {
		return h.Forfeit(Amount{})
	}
	return h.Settle(usd(actual))
}

// realSpend adds up the calls that were made. A line that a kill cut short is
// counted as far as it goes, and does not run into the next.
func realSpend(t *testing.T, side string) money.USD {
	t.Helper()
	f, err := os.Open(side)
	if os.IsNotExist(err) {
		return 0
	}
	must(t, err)
	defer f.Close()
	var sum money.USD
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if lines.Text() == "" {
			continue
		}
		n, err := strconv.ParseInt(lines.Text(), 10, 64)
		must(t, err)
		sum += money.USD(n)
	}
	return sum
}
