package rundir

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Reader reads a run, whether it is being written or not, and takes no lock. It
// may be used by several goroutines.
type Reader struct {
	id   string
	path string
	dir  *os.Root
	logs *os.Root
}

// OpenReadOnly opens the run that is meant by an id or a short one; see Resolve.
func OpenReadOnly(root, id string) (*Reader, error) {
	runs, id, err := find(root, id)
	if err != nil {
		return nil, err
	}
	defer runs.Close()
	return newReader(runs, id)
}

func newReader(runs *os.Root, id string) (*Reader, error) {
	dir, err := openFolder(runs, id)
	if err != nil {
		return nil, fmt.Errorf("opening run %s: %w", id, err)
	}
	logs, err := openFolder(dir, logsFolder)
	if err != nil {
		dir.Close()
		return nil, fmt.Errorf("opening run %s: %w", id, err)
	}
	return &Reader{id: id, path: filepath.Join(runs.Name(), id), dir: dir, logs: logs}, nil
}

// ID is the run's whole id.
func (r *Reader) ID() string { return r.id }

// Path is the run's folder.
func (r *Reader) Path() string { return r.path }

// Close gives the folder back.
func (r *Reader) Close() error { return errors.Join(r.logs.Close(), r.dir.Close()) }

// Spec returns spec.json as it was written.
func (r *Reader) Spec() (jsontext.Value, error) {
	spec, err := readFile(r.dir, specFile)
	if err == nil && !jsontext.Value(spec).IsValid() {
		err = bad(specFile, 0, "it is no JSON")
	}
	return spec, err
}

// State returns what state.json says, which is what was saved last.
func (r *Reader) State() (State, error) { return readState(r.dir) }

func readState(dir *os.Root) (State, error) {
	text, err := readFile(dir, stateFile)
	if err != nil {
		return State{}, fmt.Errorf("reading the state: %w", err)
	}
	return parseState(text)
}

// Iterations returns the records of all iterations, first to last, one by one; an
// error ends it. Half a line at the end is not there yet.
func (r *Reader) Iterations() iter.Seq2[Iteration, error] {
	return func(yield func(Iteration, error) bool) {
		file, err := openFile(r.logs, iterationsFile, os.O_RDONLY)
		if err != nil {
			yield(Iteration{}, fmt.Errorf("opening the iterations: %w", err))
			return
		}
		defer file.Close()
		lines := lineReader{file: file}
		for n := 1; ; n++ {
			line, err := lines.next()
			if errors.Is(err, io.EOF) || errors.Is(err, errTorn) {
				return
			}
			var it Iteration
			if err == nil {
				err = json.Unmarshal(line, &it)
			}
			if err != nil {
				err = bad(iterationsPath, n, "%v", err)
			}
			if !yield(it, err) || err != nil {
				return
			}
		}
	}
}
