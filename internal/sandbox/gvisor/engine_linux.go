package gvisor

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/agent-loop/ralph/internal/sandbox"
)

// Engine starts gVisor sandboxes. It keeps their state in one folder.
type Engine struct {
	base   string
	binary string
}

var _ sandbox.Engine = (*Engine)(nil)

// New returns an engine that keeps its state below stateDir. Sandboxes are
// started from binary, a ralph that calls Reexec first thing in main; empty
// means this very program.
func New(stateDir, binary string) *Engine {
	return &Engine{base: filepath.Join(stateDir, Name), binary: binary}
}

// Name is part of the sandbox.Engine interface.
func (*Engine) Name() string { return Name }

// Probe is part of the sandbox.Engine interface.
func (e *Engine) Probe(context.Context) (sandbox.Info, error) {
	binary, err := e.program()
	if err == nil {
		err = checkStatic(binary)
	}
	if err == nil {
		err = checkKernel(binary)
	}
	if err != nil {
		return sandbox.Info{}, err
	}
	return sandbox.Info{
		Engine:         Name,
		Version:        cmp.Or(Version(), "unknown"),
		Boundary:       "user-space kernel (gVisor, systrap)",
		Rootless:       os.Geteuid() != 0,
		Networks:       []sandbox.Network{sandbox.NetworkNone, sandbox.NetworkGate},
		Helper:         helperPath,
		Isolated:       true,
		ProtectedPaths: true,
		Rootfs:         true,
		Terminal:       true,
		LimitMemory:    true,
		LimitCPUs:      true,
		LimitProcesses: true,
		LimitDisk:      true,
		OwnFiles:       true,
		// Twice to three times as fast as mounts, but they count as memory and are
		// lost when ralph is killed: a user must want that.
		PrefersOwnFiles: false,
	}, nil
}

// Create is part of the sandbox.Engine interface.
func (e *Engine) Create(ctx context.Context, spec sandbox.Spec) (sandbox.Sandbox, error) {
	if err := checkUser(spec.User); err != nil {
		return nil, err
	}
	id, err := newID()
	if err != nil {
		return nil, err
	}
	e.sweep()
	spec.Mounts = slices.Clone(spec.Mounts)
	for i, m := range spec.Mounts {
		spec.Mounts[i].Source, spec.Mounts[i].Target = filepath.Clean(m.Source), filepath.Clean(m.Target)
	}
	dir := filepath.Join(e.base, id)
	b, err := e.create(ctx, id, dir, spec)
	if err != nil {
		return nil, errors.Join(err, removeDir(dir))
	}
	return b, nil
}

func (e *Engine) create(ctx context.Context, id, dir string, spec sandbox.Spec) (*box, error) {
	lock, err := e.makeDir(dir)
	if err != nil {
		return nil, err
	}
	b := &box{id: id, dir: dir, spec: spec, ids: newIdentity(spec.User), lock: lock, ended: make(chan struct{})}
	b.binary, err = e.program()
	if err == nil {
		b.binary, err = readableBinary(b.binary, dir)
	}
	if err == nil {
		err = writeBundle(bundleDir(dir), spec, b.ids, b.binary)
	}
	if err == nil {
		err = b.start(ctx)
	}
	if err != nil {
		lock.Close()
		return nil, err
	}
	return b, nil
}

// makeDir creates a sandbox's folder and returns its lock. The folder gets its
// name when it is locked, so that no other ralph takes it for a dead one's.
func (e *Engine) makeDir(dir string) (*os.File, error) {
	// As root, the sandbox's processes are nobody on the host and must still
	// be able to walk to their root file system.
	mode := os.FileMode(0o700)
	if os.Geteuid() == 0 {
		mode = 0o711
	}
	beside := filepath.Join(e.base, newPrefix+filepath.Base(dir))
	if err := os.MkdirAll(runscDir(beside), mode); err != nil {
		return nil, fmt.Errorf("creating the sandbox's folder: %w", err)
	}
	lock, err := createLock(beside)
	if err == nil {
		err = os.Rename(beside, dir)
	}
	if err == nil && os.Geteuid() == 0 {
		err = checkReachable(dir)
	}
	if err != nil {
		lock.Close()
		return nil, errors.Join(err, removeDir(beside))
	}
	return lock, nil
}

// checkReachable reports the first folder above dir that only its owner may
// enter.
func checkReachable(dir string) error {
	for p := dir; ; p = filepath.Dir(p) {
		info, err := os.Stat(p)
		if err != nil {
			return fmt.Errorf("looking at the state folder: %w", err)
		}
		if info.Mode().Perm()&0o001 == 0 {
			return &sandbox.UnavailableError{
				Engine: Name,
				Reason: fmt.Sprintf("its state folder lies in %s, which only its owner may enter", p),
				Fix:    "set RALPH_STATE_DIR to a folder that others may enter, such as /var/lib/ralph",
			}
		}
		if p == filepath.Dir(p) {
			return nil
		}
	}
}

// List is part of the sandbox.Engine interface.
func (e *Engine) List(context.Context) ([]sandbox.Status, error) {
	records, err := scan(e.base)
	if err != nil {
		return nil, err
	}
	list := make([]sandbox.Status, 0, len(records))
	for _, r := range records {
		list = append(list, r.Status)
	}
	return list, nil
}

// Remove is part of the sandbox.Engine interface.
func (e *Engine) Remove(ctx context.Context, id string) error {
	if !validID.MatchString(id) {
		return nil
	}
	dir := filepath.Join(e.base, id)
	if err := endOther(ctx, dir, id); err != nil {
		return err
	}
	return removeDir(dir)
}

// endOther ends a sandbox that may be another ralph's, and waits until that one
// has seen its processes go.
func endOther(ctx context.Context, dir, id string) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	tick := time.NewTicker(startPoll)
	defer tick.Stop()
	for {
		if r, err := readRecord(dir); err == nil {
			if err := killLauncher(r.Launcher, id); err != nil {
				return err
			}
		}
		lock, err := takeLock(dir)
		if err != nil {
			return nil //nolint:nilerr // it is gone
		}
		if lock != nil {
			return lock.Close()
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("ending the sandbox: %w", ctx.Err())
		case <-tick.C:
		}
	}
}

// unfinished is how old a folder must be that never got its name before it is
// taken for a dead ralph's.
const unfinished = time.Minute

// sweep deletes what sandboxes left behind whose ralph was killed. What cannot
// be deleted now is tried again at the next start.
func (e *Engine) sweep() {
	records, err := scan(e.base)
	if err != nil {
		return
	}
	for _, r := range records {
		if r.State == sandbox.Stale {
			_ = removeDir(filepath.Join(e.base, r.ID))
		}
	}
	nameless, _ := filepath.Glob(filepath.Join(e.base, newPrefix+"*"))
	for _, dir := range nameless {
		if info, err := os.Stat(dir); err == nil && time.Since(info.ModTime()) > unfinished {
			_ = removeDir(dir)
		}
	}
}

func removeDir(dir string) error {
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("deleting the sandbox's state: %w", err)
	}
	return nil
}

func newID() (string, error) {
	b := make([]byte, 6)
	if _, err := rand.Read(b); err != nil {
		return "", fmt.Errorf("choosing a sandbox id: %w", err)
	}
	return "ralph-" + hex.EncodeToString(b), nil
}

// status describes a sandbox that was just started.
func (b *box) status() sandbox.Status {
	return sandbox.Status{
		ID:          b.id,
		Engine:      Name,
		State:       sandbox.Running,
		Workspace:   b.spec.Workspace(),
		PID:         os.Getpid(),
		CreatedAt:   time.Now().UTC().Truncate(time.Millisecond),
		Labels:      b.spec.Labels,
		Fingerprint: b.spec.Fingerprint(),
	}
}
