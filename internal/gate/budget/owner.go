package budget

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/agent-loop/ralph/internal/lockfile"
)

// ownerMark stands between a ledger's name and the id of an owner, in the name
// of the file whose lock shows that the owner lives.
const ownerMark = ".owner-"

// owner is a Ledger that has reserved something. Its file and its lock exist
// before its first hold is written, so whose lock is free is dead.
type owner struct {
	id   string
	path string
	file *os.File
	made int64 // holds so far
}

// newOwner is called with the ledger's lock held, which keeps reap from taking
// the file for one that a dead owner left.
func newOwner(ledger string) (*owner, error) {
	id := newOwnerID()
	path := ledger + ownerMark + id
	f, err := openPrivate(path, os.O_CREATE|os.O_EXCL)
	if err != nil {
		return nil, err
	}
	o := &owner{id: id, path: path, file: f}
	if err := lockfile.Try(f); err != nil {
		o.close()
		return nil, fmt.Errorf("locking %s: %w", path, err)
	}
	return o, nil
}

func newOwnerID() string {
	var id [8]byte
	_, _ = rand.Read(id[:]) // does not fail
	return hex.EncodeToString(id[:])
}

// isOwnerID keeps hands off what is only named alike.
func isOwnerID(id string) bool {
	decoded, err := hex.DecodeString(id)
	return err == nil && len(decoded) == 8
}

// close shows that we are gone. A file that cannot be removed now, as while
// somebody asks for its lock, is removed by the next to look.
func (o *owner) close() {
	o.file.Close()
	_ = os.Remove(o.path)
}

// reap writes down which owners with open holds have died, and removes the files
// they left. Totals are the same before and after: held becomes uncertain. It is
// called with the ledger's lock held.
func (j *journal) reap() error {
	alive, err := livingOwners(j.path)
	if err != nil {
		return err
	}
	for id := range j.state.owners() {
		if alive[id] {
			continue
		}
		if err := j.append(record{Op: opEnd, Owner: id}); err != nil {
			return err
		}
	}
	return nil
}

// livingOwners lists whose lock is held, and removes the files of all others.
func livingOwners(ledger string) (map[string]bool, error) {
	entries, err := os.ReadDir(filepath.Dir(ledger))
	if err != nil {
		return nil, err
	}
	alive := map[string]bool{}
	for _, entry := range entries {
		if id, ok := strings.CutPrefix(entry.Name(), filepath.Base(ledger)+ownerMark); ok && isOwnerID(id) {
			alive[id] = lives(ledger + ownerMark + id)
		}
	}
	return alive, nil
}

// lives tells whether somebody holds the lock of a file, and removes the file if
// not. It takes for alive who may be. Our own lock is found held as well.
func lives(path string) bool {
	f, err := openPrivate(path, 0)
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	err = lockfile.Try(f)
	info, unknown := f.Stat()
	f.Close()
	if err == nil && unknown == nil && info.Size() == 0 { // as ours are
		_ = os.Remove(path)
	}
	return err != nil
}
