package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/agent-loop/ralph/internal/sandbox"
	"github.com/agent-loop/ralph/internal/wholefile"
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

// openNotes opens the folder of all notes.
func (w World) openNotes() (*os.Root, error) {
	state, err := w.makeStateDir()
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(state, "known-runs")
	if err := makeOwnFolder(dir); err != nil {
		return nil, fmt.Errorf("creating the folder of known runs: %w", err)
	}
	return os.OpenRoot(dir)
}

// path is where the note lies: notes of runs in the same folder lie together, so
// that one tells of the folder however many there are.
func (k knownRun) path() string { return nameOf(filepath.Dir(k.Run)) + "/" + nameOf(k.Run) + ".json" }

func nameOf(path string) string {
	sum := sha256.Sum256([]byte(path))
	return hex.EncodeToString(sum[:16])
}

// remember notes a run as this user's own.
func (w World) remember(k knownRun) error {
	notes, err := w.openNotes()
	if err != nil {
		return err
	}
	defer notes.Close()
	text, err := json.Marshal(k)
	if err == nil {
		err = notes.MkdirAll(filepath.Dir(k.path()), 0o700)
	}
	if err == nil {
		err = wholefile.Replace(notes, k.path(), text, 0o600)
	}
	if err != nil {
		return fmt.Errorf("noting the run: %w", err)
	}
	return nil
}

// forget removes the note of a run.
func (w World) forget(k knownRun) error {
	notes, err := w.openNotes()
	if err != nil {
		return err
	}
	defer notes.Close()
	if err := notes.Remove(k.path()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("forgetting the run: %w", err)
	}
	_ = notes.Remove(filepath.Dir(k.path())) // unless there are others
	return nil
}

// knownRoots are the folders in dir that hold runs of this user: an agent that works
// there must not see them, and could have a later resume obey what it writes.
func (w World) knownRoots(dir string) ([]string, error) {
	notes, err := w.openNotes()
	if err != nil {
		return nil, err
	}
	defer notes.Close()
	folders, err := fs.ReadDir(notes.FS(), ".")
	if err != nil {
		return nil, fmt.Errorf("looking at known runs: %w", err)
	}
	var roots []string
	for _, folder := range folders {
		if !folder.IsDir() {
			continue
		}
		root, err := notedRoot(notes, folder.Name())
		if err != nil {
			return nil, err
		}
		if info, err := os.Lstat(root); err == nil && info.IsDir() && sandbox.Within(root, dir) {
			roots = append(roots, root)
		}
	}
	return roots, nil
}

// notedRoot is the folder of runs that the notes in a folder are about; empty: there
// is none.
func notedRoot(notes *os.Root, folder string) (string, error) {
	opened, err := notes.Open(folder)
	if err != nil {
		return "", fmt.Errorf("looking at known runs: %w", err)
	}
	defer opened.Close()
	for {
		some, err := opened.Readdirnames(1)
		if errors.Is(err, io.EOF) {
			return "", nil
		}
		if err != nil {
			return "", fmt.Errorf("looking at known runs: %w", err)
		}
		if filepath.Ext(some[0]) == ".json" { // or it was never finished
			k, err := readKnownRun(notes, folder+"/"+some[0])
			return filepath.Dir(k.Run), err
		}
	}
}

func readKnownRun(notes *os.Root, file string) (k knownRun, err error) {
	text, err := notes.ReadFile(file)
	if err != nil {
		return k, fmt.Errorf("looking for the note of the run: %w", err)
	}
	if err := json.Unmarshal(text, &k); err != nil {
		return k, fmt.Errorf("reading the note %s: %w", file, err)
	}
	return k, nil
}

// knows tells whether this user started the run, with this very spec.
func (w World) knows(k knownRun) (bool, error) {
	notes, err := w.openNotes()
	if err != nil {
		return false, err
	}
	defer notes.Close()
	noted, err := readKnownRun(notes, k.path())
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && noted == k, err
}
