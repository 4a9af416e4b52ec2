// Package workspace claims the folder that a sandbox works on: one ralph at a
// time, with the names in it that the host would obey kept out of the agent's
// reach, and nothing left behind afterwards.
package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/agent-loop/ralph/internal/sandbox"
)

// Workspace is a claimed folder.
type Workspace struct {
	// Dir is its real, absolute path.
	Dir string
	// Protect are the paths in it that must be read-only, for Mount.Protect.
	Protect []string
	// Linked is how many files in it have another name outside, where writing to
	// them shows as well.
	Linked int

	claim *claim
}

// Claim takes dir for this process and prepares it for a sandbox. An empty dir
// means the current folder, and command tells others who has it. Records of
// claims are kept below stateDir, where no agent can write. A claim that a
// killed ralph left is cleaned up first.
//
// When somebody else has the folder, the error is a *BusyError.
func Claim(ctx context.Context, stateDir, dir, command string, extra []string) (*Workspace, error) {
	dir, err := Resolve(dir)
	if err != nil {
		return nil, err
	}
	c, err := acquire(stateDir, dir, command)
	if err != nil {
		return nil, err
	}
	w := &Workspace{Dir: dir, claim: c}
	if w.Protect, w.Linked, err = c.prepare(ctx, extra); err != nil {
		return nil, errors.Join(err, c.release())
	}
	return w, nil
}

// Release gives the folder back.
func (w *Workspace) Release() error { return w.claim.release() }

// Resolve turns what the user wrote into the workspace's real path, and refuses
// what cannot be one. An empty dir means the current folder, whose real path is
// where the user's shell stands, links or not.
func Resolve(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err == nil && dir == "" {
		abs, err = filepath.EvalSymlinks(abs)
	}
	if err != nil {
		return "", fmt.Errorf("finding the workspace: %w", err)
	}
	why, fix := sandbox.CheckPath(abs)
	if why == "" {
		why, fix = checkFolder(abs)
	}
	if why != "" {
		return "", &sandbox.RefusedError{What: fmt.Sprintf("workspace %q", dir), Why: why, Fix: fix}
	}
	return abs, nil
}

func checkFolder(path string) (why, fix string) {
	info, err := os.Stat(path)
	if err != nil {
		return err.Error(), ""
	}
	if !info.IsDir() {
		return "it is not a folder", "give the folder that holds it, " + filepath.Dir(path)
	}
	f, err := os.Open(path)
	if err != nil {
		return "it cannot be read", "check its permissions"
	}
	f.Close()
	for dir := path; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if isGitDir(dir) {
			return fmt.Sprintf("%s is a git directory, whose hooks and settings git obeys", dir), "clone the repository, and work there"
		}
	}
	return "", ""
}

// isGitDir recognises a git directory, bare or not, as git does.
func isGitDir(dir string) bool {
	for _, name := range []string{"objects", "refs"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || !info.IsDir() {
			return false
		}
	}
	_, err := os.Lstat(filepath.Join(dir, "HEAD"))
	return err == nil
}
