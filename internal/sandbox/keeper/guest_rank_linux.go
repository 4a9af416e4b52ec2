package keeper

import (
	"io"
	"os"
)

// rank makes commands the kernel's first choice when memory runs out: the keeper
// must survive it, or nobody could say what happened. A process gets its parent's
// rank, and what it starts at once gets it too, so the keeper takes the rank
// itself while it starts one.
type rank struct {
	file *os.File // of this process; nil: there is none
	own  []byte
}

// first is the rank of commands, out of 1000.
const first = "900"

// newRank opens the file while it is still ours: that of a process that hides
// itself is root's.
func newRank() *rank {
	file, err := os.OpenFile("/proc/self/oom_score_adj", os.O_RDWR, 0)
	if err != nil {
		return &rank{}
	}
	own, err := io.ReadAll(io.LimitReader(file, 16))
	if err != nil {
		file.Close()
		return &rank{}
	}
	return &rank{file: file, own: own}
}

func (r *rank) offer() { r.set([]byte(first)) }

// restore takes back the keeper's own rank, which the kernel lets everybody do.
func (r *rank) restore() { r.set(r.own) }

func (r *rank) set(value []byte) {
	if r.file != nil {
		_, _ = r.file.WriteAt(value, 0)
	}
}
