package rundir

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/go-json-experiment/json"
)

// repair is the data of an EventRepair.
type repair struct {
	File     string `json:"file"`
	CutBytes int64  `json:"cut_bytes,omitzero"` // half a line that was cut off
	// Lost is a checkpoint whose event is there and whose file is not; Back is the
	// one that counts instead.
	Lost *CheckpointRef `json:"lost,omitzero"`
	Back *CheckpointRef `json:"back,omitzero"`
}

// Open opens the run that is meant by an id or a short one for writing; see
// Resolve. It returns a BusyError while another process writes it, and a
// BadRecordError when the record was changed: nothing is added to such a run.
//
// What a crash left half done is put right, and an event tells of it. Open reads
// the tail of the logs alone. Requests that were not met are dropped.
func Open(root, id string, o Options) (*Run, error) {
	runs, id, err := find(root, id)
	if err != nil {
		return nil, err
	}
	defer runs.Close()
	return open(runs, id, o.filled())
}

func open(runs *os.Root, id string, o Options) (*Run, error) {
	reader, err := newReader(runs, id)
	if err != nil {
		return nil, err
	}
	lock, err := takeLock(reader.logs, id, o.Command, o.Now())
	if err != nil {
		reader.Close()
		return nil, err
	}
	r := &Run{Reader: reader, options: o, lock: lock}
	if err := r.recover(); err != nil {
		r.abandon()
		return nil, fmt.Errorf("opening run %s: %w", id, err)
	}
	return r, nil
}

// abandon closes what a failed recover has opened.
func (r *Run) abandon() {
	if r.chain != nil {
		r.chain.file.Close()
	}
	if r.iterations != nil {
		r.iterations.Close()
	}
	r.lock.Close()
	r.Reader.Close()
}

// recover finds the end of both logs and mends it.
func (r *Run) recover() error {
	state, err := r.State()
	if err != nil {
		return err
	}
	if state.ID != r.id {
		return bad(stateFile, 0, "it is of run %q", state.ID)
	}
	if r.start, err = startOf(r.logs); err != nil {
		return err
	}
	var tornEvents, tornIterations int64
	r.chain, r.ledger, tornEvents, err = openChain(r.logs, state.EventsHead, state.ledger())
	if err != nil {
		return err
	}
	if tornIterations, err = r.openIterations(); err != nil {
		return err
	}
	r.ClearRequests()
	r.removeDrafts()
	return errors.Join(
		r.noteCut(eventsPath, tornEvents),
		r.noteCut(iterationsPath, tornIterations),
		r.noteLostCheckpoint(state.Checkpoint))
}

// openIterations finds the last record. Its event is added when a crash came
// between the two.
func (r *Run) openIterations() (torn int64, err error) {
	if r.iterations, err = openFile(r.logs, iterationsFile, os.O_RDWR); err != nil {
		return 0, fmt.Errorf("opening the iterations: %w", err)
	}
	info, err := r.iterations.Stat()
	if err != nil {
		return 0, err
	}
	if r.written, err = lastLineEnd(r.iterations, info.Size()); err != nil {
		return 0, bad(iterationsPath, 0, "its end: %v", err)
	}
	if torn, err = cutAt(r.iterations, r.written); err != nil {
		return 0, err
	}
	return torn, r.matchLastIteration()
}

func (r *Run) matchLastIteration() error {
	if r.written == 0 && r.ledger.Iterations == 0 {
		return nil
	}
	line, err := lineBefore(r.iterations, r.written)
	if err != nil {
		return bad(iterationsPath, r.ledger.Iterations, "it is missing: %v", err)
	}
	var it Iteration
	if err := json.Unmarshal(line, &it); err != nil {
		return bad(iterationsPath, r.ledger.Iterations, "%v", err)
	}
	switch {
	case it.N == r.ledger.Iterations:
		return nil
	case it.N == r.ledger.Iterations+1 && it.EventsHead == r.chain.head:
		return r.addIterationEvent(it, sha256.Sum256(line))
	}
	return bad(iterationsPath, it.N, "the last iteration here is %d, the events know of %d", it.N, r.ledger.Iterations)
}

func (r *Run) noteCut(path string, torn int64) error {
	if torn == 0 {
		return nil
	}
	return r.note(repair{File: path, CutBytes: torn})
}

// noteLostCheckpoint tells of a checkpoint that was announced when the crash came.
func (r *Run) noteLostCheckpoint(saved CheckpointRef) error {
	announced := r.ledger.Checkpoint
	if announced == saved || announced == (CheckpointRef{}) {
		return nil
	}
	content, err := r.readCheckpoint(announced.N)
	if err == nil && sha256.Sum256(content) == announced.SHA256 {
		return nil
	}
	back := r.ledger.prior
	return r.note(repair{File: checkpointPath(announced.N), Lost: &announced, Back: &back})
}

func (r *Run) note(what repair) error {
	data, err := encodeData(what)
	if err != nil {
		return err
	}
	return r.add(Event{Type: EventRepair, Data: data})
}

// removeDrafts removes files that were not finished when a crash came. Those that
// cannot be removed do no harm.
func (r *Run) removeDrafts() {
	folder, err := r.logs.Open(".")
	if err != nil {
		return
	}
	defer folder.Close()
	names, _ := folder.Readdirnames(-1)
	for _, name := range names {
		if strings.HasPrefix(name, "new-") {
			_ = r.logs.Remove(name)
		}
	}
}
