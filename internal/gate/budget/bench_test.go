package budget

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/agent-loop/ralph/internal/money"
)

// places are where a ledger may lie: on a disk, and in memory, where the rest
// shows without the cost of a sync.
func places(b *testing.B) map[string]string {
	b.Helper()
	all := map[string]string{"disk": newPath(b)}
	if directory, err := os.MkdirTemp("/dev/shm", "budget"); err == nil {
		b.Cleanup(func() { os.RemoveAll(directory) })
		all["memory"] = filepath.Join(directory, "budget.jsonl")
	}
	return all
}

func call(b testing.TB, l *Ledger) {
	h, err := l.Reserve(b.Context(), Claim{Amount: Amount{money.Cent, 1000}, Run: "20260102-030405-abcd", Note: "some-model-4"})
	if err == nil {
		err = h.Settle(Amount{money.Cent / 2, 500})
	}
	if err != nil {
		b.Error(err)
	}
}

func BenchmarkReserveSettle(b *testing.B) {
	for name, path := range places(b) {
		b.Run(name, func(b *testing.B) {
			l := opened(b, path, Caps{})
			for b.Loop() {
				call(b, l)
			}
		})
	}
}

func BenchmarkReserveSettleParallel(b *testing.B) {
	for name, path := range places(b) {
		b.Run(name, func(b *testing.B) {
			l := opened(b, path, Caps{})
			b.SetParallelism(16)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					call(b, l)
				}
			})
		})
	}
}

// BenchmarkOpen says whether a ledger ever needs to be compacted.
func BenchmarkOpen(b *testing.B) {
	for _, calls := range []int{1_000, 100_000} {
		b.Run(fmt.Sprint(2*calls, "lines"), func(b *testing.B) {
			path := newPath(b)
			l := opened(b, path, Caps{})
			l.journal.syncer.sync = func(*os.File) error { return nil }
			for range calls {
				call(b, l)
			}
			info, err := os.Stat(path)
			must(b, err)
			b.SetBytes(info.Size())
			for b.Loop() {
				must(b, opened(b, path, Caps{}).Close())
			}
		})
	}
}
