package workspace

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"syscall"
	"time"

	"github.com/agent-loop/ralph/internal/lockfile"
	"github.com/agent-loop/ralph/internal/sandbox"
)

// BusyError means that another process works on the folder.
type BusyError struct {
	Dir    string
	Holder Holder
}

func (e *BusyError) Error() string {
	if e.Holder.PID == 0 {
		return fmt.Sprintf("workspace %s is in use by another ralph", e.Dir)
	}
	return fmt.Sprintf("workspace %s is in use by process %d (%s) since %s",
		e.Dir, e.Holder.PID, e.Holder.Command, e.Holder.Since.Local().Format("2006-01-02 15:04:05"))
}

// Hint is what to do next.
func (e *BusyError) Hint() string {
	return "wait for it, end it, or work on a copy of the folder"
}

// Holder says who has a workspace, and what is to be undone in it if the holder
// dies.
type Holder struct {
	Workspace string    `json:"workspace"`
	PID       int       `json:"pid"`
	Command   string    `json:"command"`
	Since     time.Time `json:"since"`
	StandIns  []string  `json:"stand_ins"`
	// Mode is the folder's own, which the agent may change and which is given
	// back afterwards.
	Mode fs.FileMode `json:"mode"`
}

// claim is a locked file that names its holder. The kernel drops the lock with
// the process; what the file says is then there for the next one to clean up.
type claim struct {
	file   *os.File
	folder *os.File // the workspace itself, locked against other users' ralphs
	holder Holder
}

func claimDir(stateDir string) string { return filepath.Join(stateDir, "workspaces") }

// claimPath gives each workspace a file of its own.
func claimPath(stateDir, dir string) string {
	return filepath.Join(claimDir(stateDir), claimName(dir))
}

// claimNames are the names that claimName gives.
var claimNames = regexp.MustCompile(`^[0-9a-f]{24}\.json$`)

func claimName(dir string) string {
	sum := sha256.Sum256([]byte(dir))
	return hex.EncodeToString(sum[:12]) + ".json"
}

func acquire(stateDir, dir, command string) (*claim, error) {
	if err := os.MkdirAll(claimDir(stateDir), 0o700); err != nil {
		return nil, fmt.Errorf("claiming the workspace: %w", err)
	}
	c, err := openClaim(claimPath(stateDir, dir), os.O_CREATE)
	if errors.Is(err, lockfile.ErrHeld) {
		return nil, &BusyError{Dir: dir, Holder: currentHolder(claimPath(stateDir, dir))}
	}
	if err != nil {
		return nil, fmt.Errorf("claiming the workspace: %w", err)
	}
	if err := c.cleanUp(); err != nil {
		c.file.Close()
		return nil, fmt.Errorf("cleaning up after process %d: %w", c.holder.PID, err)
	}
	c.holder = Holder{Workspace: dir, PID: os.Getpid(), Command: command, Since: time.Now()}
	if err := c.take(stateDir); err != nil {
		return nil, errors.Join(err, c.release())
	}
	return c, nil
}

// take makes a new claim known, and then looks whether another one is in its
// way: of two that overlap and come at once, at least one sees the other.
func (c *claim) take(stateDir string) error {
	info, err := os.Stat(c.holder.Workspace)
	if err != nil {
		return fmt.Errorf("claiming the workspace: %w", err)
	}
	c.holder.Mode = info.Mode().Perm()
	if err := c.write(); err != nil {
		return err
	}
	if c.folder, err = os.Open(c.holder.Workspace); err != nil {
		return fmt.Errorf("claiming the workspace: %w", err)
	}
	if err := lockfile.Try(c.folder); errors.Is(err, lockfile.ErrHeld) {
		return &BusyError{Dir: c.holder.Workspace}
	}
	return CheckFree(stateDir, c.holder.Workspace)
}

// CheckFree returns a *BusyError when a path lies in, or holds, a folder that
// another process has claimed: the agent there could exchange what is mounted
// here for something else.
func CheckFree(stateDir, path string) error {
	files, err := filepath.Glob(filepath.Join(claimDir(stateDir), "*.json"))
	if err != nil {
		return fmt.Errorf("looking at claimed workspaces: %w", err)
	}
	for _, file := range files {
		h := currentHolder(file)
		if h.Workspace == "" || h.PID == os.Getpid() || !sandbox.Overlap(h.Workspace, path) {
			continue
		}
		c, err := openClaim(file, 0)
		if errors.Is(err, lockfile.ErrHeld) {
			return &BusyError{Dir: h.Workspace, Holder: h}
		}
		if err == nil {
			c.file.Close() // its holder is dead
		}
	}
	return nil
}

// openClaim opens and locks a claim file and reads what its last holder wrote.
// A file that was deleted between the two steps is not the one others see, so
// it is opened again.
func openClaim(path string, flag int) (*claim, error) {
	for {
		f, err := os.OpenFile(path, os.O_RDWR|flag, 0o600)
		if err != nil {
			return nil, err
		}
		if err := lockfile.Try(f); err != nil {
			f.Close()
			return nil, err
		}
		if sameFile(f, path) {
			return &claim{file: f, holder: readHolder(f, path)}, nil
		}
		f.Close()
	}
}

func sameFile(f *os.File, path string) bool {
	opened, err1 := f.Stat()
	there, err2 := os.Stat(path)
	return err1 == nil && err2 == nil && os.SameFile(opened, there)
}

// maxRecord is far more than a claim file ever holds.
const maxRecord = 1 << 20

// readHolder reads a claim file. One that is not a claim on the workspace whose
// name it bears has no holder, and nothing to undo: it was half-written, before
// anything was done, or somebody tampered with it.
func readHolder(f io.Reader, path string) Holder {
	var h Holder
	data, err := io.ReadAll(io.LimitReader(f, maxRecord))
	if err == nil {
		err = json.Unmarshal(data, &h)
	}
	if err != nil || claimName(h.Workspace) != filepath.Base(path) {
		return Holder{}
	}
	return h
}

// currentHolder reads the claim of a process that is alive.
func currentHolder(path string) Holder {
	f, err := os.Open(path)
	if err != nil {
		return Holder{}
	}
	defer f.Close()
	return readHolder(f, path)
}

// prepare surveys the workspace and puts the stand-ins in place. They are
// written down first: whoever finds the record of a dead holder removes them.
func (c *claim) prepare(ctx context.Context, extra []string) (protect []string, linked int, err error) {
	root, err := os.OpenRoot(c.holder.Workspace)
	if err != nil {
		return nil, 0, fmt.Errorf("opening the workspace: %w", err)
	}
	defer root.Close()
	protect, c.holder.StandIns, linked, err = survey(ctx, root, extra)
	if err == nil {
		err = c.write()
	}
	if err == nil {
		err = createStandIns(root, c.holder.StandIns)
	}
	if err == nil && ignoresCase(root) {
		err = refuseWorkspace("its file system takes .GIT for .git, so that nothing in it can be protected by name", "work on a copy on another file system")
	}
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
		err = refuseWorkspace(fmt.Sprintf("it cannot be written to (%v)", err), "check its permissions, or mount it read-only into another workspace")
	}
	return protect, linked, err
}

// write records the holder. It outlives this process, which is enough: after a
// power cut, a stand-in that is left is an empty folder and nothing more.
func (c *claim) write() error {
	data, err := json.Marshal(c.holder)
	if err == nil {
		err = c.file.Truncate(0)
	}
	if err == nil {
		_, err = c.file.WriteAt(data, 0)
	}
	if err != nil {
		return fmt.Errorf("recording the claim on the workspace: %w", err)
	}
	return nil
}

// cleanUp undoes what the claim says was done.
func (c *claim) cleanUp() error {
	if c.holder.Workspace == "" {
		return nil
	}
	info, err := os.Lstat(c.holder.Workspace)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
		return nil // the folder is gone, and our stand-ins with it
	}
	if c.holder.Mode == 0 || info.Mode().Perm() == c.holder.Mode {
		return c.removeStandIns()
	}
	// The agent has changed the folder's mode, perhaps so that we cannot clean
	// up in it.
	return errors.Join(
		os.Chmod(c.holder.Workspace, c.holder.Mode|0o700),
		c.removeStandIns(),
		os.Chmod(c.holder.Workspace, c.holder.Mode),
	)
}

func (c *claim) removeStandIns() error {
	root, err := os.OpenRoot(c.holder.Workspace)
	if err != nil {
		return fmt.Errorf("opening the workspace: %w", err)
	}
	defer root.Close()
	return removeStandIns(root, c.holder.StandIns)
}

// release undoes the claim. The file is deleted while it is still locked, so
// that nobody can have taken it over in between.
func (c *claim) release() error {
	defer c.file.Close()
	defer c.folder.Close() // nothing if it was not opened
	if err := c.cleanUp(); err != nil {
		return err
	}
	if err := os.Remove(c.file.Name()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("releasing the workspace: %w", err)
	}
	return nil
}

// Prune cleans up after all holders that died, and returns the workspaces it
// cleaned.
func Prune(stateDir string) ([]string, error) {
	entries, err := os.ReadDir(claimDir(stateDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("listing claimed workspaces: %w", err)
	}
	var cleaned []string
	var errs []error
	for _, e := range entries {
		if !e.Type().IsRegular() || !claimNames.MatchString(e.Name()) {
			continue // not ours
		}
		c, err := openClaim(filepath.Join(claimDir(stateDir), e.Name()), 0)
		if errors.Is(err, lockfile.ErrHeld) || errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = c.release()
		}
		if err == nil && c.holder.Workspace != "" {
			cleaned = append(cleaned, c.holder.Workspace)
		}
		errs = append(errs, err)
	}
	return cleaned, errors.Join(errs...)
}
