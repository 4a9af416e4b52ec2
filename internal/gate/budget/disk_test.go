package budget

import (
	"bytes"
	"errors"
	"os"
	"runtime"
	"sync"
	"testing"

	"github.com/agent-loop/ralph/internal/money"
)

func TestAReservationIsOnDiskBeforeItReturns(t *testing.T) {
	path := newPath(t)
	l := opened(t, path, Caps{USD: money.Dollar})
	var onDisk []byte // what a power loss would leave at least
	l.journal.syncer.sync = func(f *os.File) error {
		var err error
		onDisk, err = os.ReadFile(path)
		return errors.Join(err, f.Sync())
	}
	for range 3 {
		h := reserved(t, l, cents(30))
		now, err := os.ReadFile(path)
		must(t, err)
		if !bytes.Equal(onDisk, now) {
			t.Fatalf("of %d bytes, %d are on disk", len(now), len(onDisk))
		}
		must(t, h.Settle(usd(10*money.Cent)))
	}
	must(t, l.SetCaps(t.Context(), Caps{USD: money.Cent}))
	if !bytes.Contains(onDisk[bytes.LastIndexByte(onDisk[:len(onDisk)-1], '\n'):], []byte(`"op":"caps"`)) {
		t.Error("a lowered cap is not on disk")
	}
}

// TestAfterAPowerLossNoCallIsForgotten cuts a ledger wherever a power loss may
// have cut it after each reservation: anywhere behind what was synced.
func TestAfterAPowerLossNoCallIsForgotten(t *testing.T) {
	path, caps := newPath(t), Caps{USD: money.Dollar}
	l := opened(t, path, caps)
	var synced int
	l.journal.syncer.sync = func(*os.File) error {
		content, err := os.ReadFile(path)
		synced = len(content)
		return err
	}
	var real money.USD
	for i := range int64(4) {
		h := reserved(t, l, cents(20))
		real += money.Cent.Times(3 * i)
		must(t, h.Settle(usd(money.Cent.Times(3*i))))
		content, err := os.ReadFile(path)
		must(t, err)
		for length := synced; length <= len(content); length++ {
			after := opened(t, ledgerOf(t, content[:length]), caps)
			if got := totals(t, after).Committed().USD; got < real || got > caps.USD {
				t.Fatalf("call %d, cut at byte %d of %d: %v committed, %v spent", i, length, len(content), got, real)
			}
			must(t, after.Close())
		}
	}
}

func TestAFailedSyncIsFinal(t *testing.T) {
	path := newPath(t)
	l := opened(t, path, Caps{USD: money.Dollar})
	broken := errors.New("the disk is broken")
	failing := true
	l.journal.syncer.sync = func(*os.File) error {
		if failing {
			return broken
		}
		return nil
	}
	for range 3 {
		if _, err := l.Reserve(t.Context(), cents(1)); !errors.Is(err, broken) {
			t.Fatalf("reserved without a sync: %v", err)
		}
		failing = false // as kernels do: they report it once
	}
	if got := totals(t, l).Committed(); got != usd(money.Cent) {
		t.Errorf("%v committed: the first stays counted, the others were not written", got)
	}
}

func TestWaitingReservationsShareASync(t *testing.T) {
	l := opened(t, newPath(t), Caps{})
	var syncs int // by one goroutine at a time
	begun, goOn := make(chan struct{}), make(chan struct{})
	l.journal.syncer.sync = func(f *os.File) error {
		if syncs++; syncs == 1 {
			close(begun)
			<-goOn
		}
		return f.Sync()
	}
	const others = 20
	var all sync.WaitGroup
	reserve := func() {
		if _, err := l.Reserve(t.Context(), cents(1)); err != nil {
			t.Error(err)
		}
	}
	all.Go(reserve)
	<-begun
	for range others {
		all.Go(reserve)
	}
	for totals(t, l).Open < 1+others { // all have written, none is synced
		runtime.Gosched()
	}
	close(goOn)
	all.Wait()
	if syncs != 2 {
		t.Errorf("%d syncs, want one for the first and one for all others", syncs)
	}
}

// TestALedgerDoesNotFillTheDisk: whoever makes calls that cost nothing makes the
// file longer all the same. What is held when it is full can still be ended.
func TestALedgerDoesNotFillTheDisk(t *testing.T) {
	l := opened(t, newPath(t), Caps{USD: money.Dollar})
	h := reserved(t, l, cents(1))
	l.journal.most = l.journal.offset
	if _, err := l.Reserve(t.Context(), cents(1)); err == nil || isSpent(err) || isDamaged(err) {
		t.Errorf("a full ledger: %v", err)
	}
	must(t, h.Settle(usd(money.Cent)))
	if got := totals(t, l); got.Spent.USD != money.Cent || got.Open != 0 {
		t.Errorf("totals %+v", got)
	}
}
