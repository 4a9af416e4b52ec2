package budget

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/agent-loop/ralph/internal/money"
)

// TestFullDisk fills a tiny file system. Nothing may be reserved or ended that
// could not be written, and everything goes on when there is room again.
func TestFullDisk(t *testing.T) {
	directory := t.TempDir()
	if err := syscall.Mount("tmpfs", directory, "tmpfs", 0, "size=16k"); err != nil {
		t.Skipf("mounting a file system needs root: %v", err)
	}
	t.Cleanup(func() { syscall.Unmount(directory, syscall.MNT_DETACH) })
	path, ballast := filepath.Join(directory, "budget.jsonl"), filepath.Join(directory, "ballast")
	l := opened(t, path, Caps{USD: money.Dollar})
	open := []*Hold{reserved(t, l, cents(1))}
	fillDisk(t, ballast)

	var err error
	for err == nil { // the ledger's last page has room left
		var h *Hold
		if h, err = l.Reserve(t.Context(), cents(1)); err == nil {
			open = append(open, h)
		}
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("reserved on a full disk: %v", err)
	}
	checkOpen(t, l, path, len(open))

	for err = nil; err == nil; { // an ending is shorter and may still fit
		if err = open[0].Release(); err == nil {
			open = open[1:]
		}
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("ended on a full disk: %v", err)
	}
	checkOpen(t, l, path, len(open))

	must(t, os.Remove(ballast))
	must(t, open[0].Release())
	reserved(t, l, cents(1))
	checkOpen(t, l, path, len(open))
}

func fillDisk(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	must(t, err)
	defer f.Close()
	for err == nil {
		_, err = f.Write(make([]byte, 512))
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
}

// checkOpen compares what a ledger says with what another reads from its file.
func checkOpen(t *testing.T, l *Ledger, path string, open int) {
	t.Helper()
	other := opened(t, path, Caps{USD: money.Dollar})
	for _, each := range []*Ledger{l, other} {
		if got := totals(t, each); got.Open != int64(open) || got.Held != usd(money.Cent.Times(int64(open))) {
			t.Errorf("totals %+v, want %d open holds", got, open)
		}
	}
}
