package rundir

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Options are what a writer of a run needs to know. All may be left out.
type Options struct {
	// Mask returns its argument with every secret replaced, and may change it in
	// place. It sees encoded JSON: a secret that JSON would escape must be known to
	// it in that form also. It is called by one goroutine at a time.
	Mask func([]byte) []byte
	// Command is what the lock says its holder runs; by default the program's name.
	Command string
	// Now is the clock; by default time.Now.
	Now func() time.Time
}

func (o Options) filled() Options {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Command == "" {
		o.Command = os.Args[0]
	}
	return o
}

func (o Options) mask(text []byte) []byte {
	if o.Mask == nil {
		return text
	}
	return o.Mask(text)
}

// Create makes a run and opens it for writing. The folder root is made when it is
// missing. It returns an ExistsError when there is a run of this id; a run that
// could not be made whole is not there at all.
func Create(root, id string, spec any, o Options) (*Run, error) {
	o = o.filled()
	if err := checkID(id); err != nil {
		return nil, err
	}
	text, err := encodeFile(spec, o)
	if err != nil {
		return nil, fmt.Errorf("encoding the spec: %w", err)
	}
	if err := os.MkdirAll(root, folderMode); err != nil {
		return nil, fmt.Errorf("making the folder of runs: %w", err)
	}
	runs, err := os.OpenRoot(root)
	if err != nil {
		return nil, fmt.Errorf("opening the folder of runs: %w", err)
	}
	defer runs.Close()
	if err := place(runs, id, text, o.Now()); err != nil {
		return nil, err
	}
	return open(runs, id, o)
}

// place makes the folder under another name and renames it when it is whole.
func place(runs *os.Root, id string, spec []byte, now time.Time) error {
	if _, err := runs.Lstat(id); err == nil {
		return &ExistsError{id}
	}
	draft := ".new-" + rand.Text()
	err := fill(runs, draft, id, spec, now)
	if err == nil {
		err = runs.Rename(draft, id)
		if _, there := runs.Lstat(id); err != nil && there == nil {
			err = &ExistsError{id}
		}
	}
	if err != nil {
		return errors.Join(fmt.Errorf("making run %s: %w", id, err), runs.RemoveAll(draft))
	}
	return syncFolder(runs, id)
}

// fill writes the files that every run has.
func fill(runs *os.Root, draft, id string, spec []byte, now time.Time) error {
	for _, folder := range []string{draft, draft + "/" + logsFolder, draft + "/" + checkpointsFolder} {
		if err := runs.Mkdir(folder, folderMode); err != nil {
			return err
		}
	}
	dir, err := openFolder(runs, draft)
	if err != nil {
		return err
	}
	defer dir.Close()
	now = now.UTC()
	first := chain{head: Head{Hash: sha256.Sum256(spec)}}
	first.add(Event{Time: now, Type: EventCreated})
	state := State{Schema: schema, ID: id, Status: Running, StartedAt: now, UpdatedAt: now}
	state, body, err := state.sealed()
	if err != nil {
		return err
	}
	first.add(Event{Time: now, Type: EventState, Data: body})
	state.EventsHead = first.head
	text, err := state.encode()
	if err != nil {
		return err
	}
	for name, content := range map[string][]byte{
		specFile: spec, stateFile: text, eventsPath: first.pending, iterationsPath: nil,
	} {
		if err := writeNew(dir, name, content); err != nil {
			return err
		}
	}
	return errors.Join(syncFolder(dir, eventsPath), syncFolder(dir, specFile))
}

// WorkFolder makes the run's own workspace, if it is not there, and returns its path.
func (r *Run) WorkFolder() (string, error) {
	if err := r.dir.Mkdir("work", folderMode); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("making the workspace of run %s: %w", r.id, err)
	}
	work, err := openFolder(r.dir, "work")
	if err != nil {
		return "", err
	}
	defer work.Close()
	return filepath.Join(r.path, "work"), nil
}

// encodeFile makes the content of a JSON file that people read, with no secret.
func encodeFile(value any, o Options) ([]byte, error) {
	text, err := json.Marshal(value, json.Deterministic(true), jsontext.WithIndent("  "))
	if err != nil {
		return nil, err
	}
	text = o.mask(append(bytes.Clone(text), '\n'))
	if !jsontext.Value(text).IsValid() {
		return nil, errors.New("with its secrets masked it is no JSON any more")
	}
	if len(text) >= maxFile {
		return nil, fmt.Errorf("it takes %d bytes, not fewer than %d", len(text), maxFile)
	}
	return text, nil
}
