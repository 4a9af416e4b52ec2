package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/agent-loop/ralph/internal/sandbox"
)

// A run's spec says whose credentials are used and what runs where, as the user
// once said it. But a folder that looks like a run can come with a repository, or
// be made by an agent in its workspace. So what this user started is noted in the
// state folder, which nobody else writes, and only that is resumed unasked.

// knownRun is the note of one run.
type knownRun struct {
	Run  string `json:"run"`         // its folder
	Spec string `json:"spec_sha256"` // of its spec.json
}

func newKnownRun(folder string, spec jsontext.Value) knownRun {
	sum := sha256.Sum256(spec)
	return knownRun{Run: folder, Spec: hex.EncodeToString(sum[:])}
}

func (w World) knownDir() (string, error) {
	state, err := w.makeStateDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(state, "known-runs")
	if err := makeOwnFolder(dir); err != nil {
		return "", fmt.Errorf("creating the folder of known runs: %w", err)
	}
	return dir, nil
}

func (k knownRun) path(dir string) string {
	sum := sha256.Sum256([]byte(k.Run))
	return filepath.Join(dir, hex.EncodeToString(sum[:16])+".json")
}

// remember notes a run as this user's own.
func (w World) remember(k knownRun) error {
	dir, err := w.knownDir()
	if err != nil {
		return err
	}
	text, err := json.Marshal(k)
	if err != nil {
		return fmt.Errorf("noting the run: %w", err)
	}
	beside := k.path(dir) + ".new"
	if err := os.WriteFile(beside, text, 0o600); err != nil {
		return fmt.Errorf("noting the run: %w", err)
	}
	if err := os.Rename(beside, k.path(dir)); err != nil {
		return fmt.Errorf("noting the run: %w", err)
	}
	return nil
}

// forget removes the note of a run.
func (w World) forget(k knownRun) error {
	dir, err := w.knownDir()
	if err != nil {
		return err
	}
	if err := os.Remove(k.path(dir)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("forgetting the run: %w", err)
	}
	return nil
}

// knownRoots are the folders in dir that hold runs of this user: an agent that works
// there must not see them, and could have a later resume obey what it writes.
func (w World) knownRoots(dir string) ([]string, error) {
	notes, err := w.knownDir()
	if err != nil {
		return nil, err
	}
	files, err := filepath.Glob(filepath.Join(notes, "*.json"))
	if err != nil {
		return nil, fmt.Errorf("looking at known runs: %w", err)
	}
	var roots []string
	for _, file := range files {
		k, err := readKnownRun(file)
		if err != nil {
			return nil, err
		}
		root := filepath.Dir(k.Run)
		if info, err := os.Lstat(root); err == nil && info.IsDir() && sandbox.Within(root, dir) {
			roots = append(roots, root)
		}
	}
	return roots, nil
}

func readKnownRun(file string) (k knownRun, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return k, fmt.Errorf("looking for the note of the run: %w", err)
	}
	if err := json.Unmarshal(text, &k); err != nil {
		return k, fmt.Errorf("reading %s: %w", file, err)
	}
	return k, nil
}

// knows tells whether this user started the run, with this very spec.
func (w World) knows(k knownRun) (bool, error) {
	dir, err := w.knownDir()
	if err != nil {
		return false, err
	}
	noted, err := readKnownRun(k.path(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && noted == k, err
}
