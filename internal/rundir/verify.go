package rundir

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"

	"github.com/go-json-experiment/json"
)

// Report is what a verified run holds.
type Report struct {
	ID          string `json:"id"`
	Events      int64  `json:"events"`
	Iterations  int    `json:"iterations"`
	Checkpoints int    `json:"checkpoints"`
	Charges     int64  `json:"charges"`
	Spend       `json:",inline"`
	Head        Hash `json:"head"` // of the last event; kept elsewhere, it proves all of the run

	// Unsealed is how many events and iterations came after state.json was last
	// saved. They are chained, but their last could be cut off unnoticed. Of a run
	// that was closed in order there are none.
	Unsealed int64 `json:"unsealed"`
	// TornBytes is the length of half a line at the end of the events, which a
	// writer left that is still at it or was killed.
	TornBytes int64 `json:"torn_bytes"`
}

// Verify checks the record of a run, offline and without a lock, and returns a
// BadRecordError for the first thing that is wrong:
//
//   - every event follows from the one before, the first from spec.json; none is
//     missing, and none is earlier than the first;
//   - every iteration is in its place, is what its event says, and cost what the
//     events of type EventCharge since the one before add up to;
//   - every checkpoint is what was saved;
//   - state.json is what was saved, and says what the events up to it add up to.
//
// The report is good as far as the check came.
func Verify(root, id string) (Report, error) {
	r, err := OpenReadOnly(root, id)
	if err != nil {
		return Report{}, err
	}
	defer r.Close()
	v := verifier{Reader: r, report: Report{ID: r.id}, checkpoints: map[int]*checkpointSeen{}}
	err = v.run()
	return v.report, err
}

type verifier struct {
	*Reader
	report      Report
	state       State
	seal        Hash // what the event at the state's head must hold
	iterations  []Hash
	checkpoints map[int]*checkpointSeen
}

// checkpointSeen is what the events say of one checkpoint: what it is, and what
// it was before; the zero Hash for none.
type checkpointSeen struct {
	last, before Hash
	unsealed     bool // the last was announced after state.json was saved
}

// run reads the state first: the events can only have grown since.
func (v *verifier) run() error {
	if err := v.readState(); err != nil {
		return err
	}
	if err := v.readEvents(); err != nil {
		return err
	}
	if err := v.readIterations(); err != nil {
		return err
	}
	return v.readCheckpoints()
}

func (v *verifier) readState() error {
	text, err := readFile(v.dir, stateFile)
	if err != nil {
		return bad(stateFile, 0, "%v", err)
	}
	if v.state, err = parseState(text); err != nil {
		return err
	}
	again, err := v.state.encode()
	if err != nil || !bytes.Equal(text, again) {
		return bad(stateFile, 0, "it is not as it was written")
	}
	if v.state.ID != v.id {
		return bad(stateFile, 0, "it is of run %q", v.state.ID)
	}
	unsealed := v.state
	unsealed.EventsHead = Head{}
	text, err = unsealed.encode()
	v.seal = sha256.Sum256(text)
	return err
}

func (v *verifier) readEvents() error {
	spec, err := readFile(v.dir, specFile)
	if err != nil {
		return bad(specFile, 0, "%v", err)
	}
	file, err := openFile(v.logs, eventsFile, os.O_RDONLY)
	if err != nil {
		return bad(eventsPath, 0, "%v", err)
	}
	defer file.Close()
	walk := walker{lines: lineReader{file: file}, head: Head{Hash: sha256.Sum256(spec)}}
	for {
		e, err := walk.next()
		if errors.Is(err, io.EOF) || errors.Is(err, errTorn) {
			break
		}
		if err == nil {
			err = v.event(e, &walk)
		}
		if err != nil {
			return err
		}
	}
	return v.endOfEvents(file, walk.head)
}

// event takes in an event that the walker found good.
func (v *verifier) event(e Event, walk *walker) error {
	v.report.Events, v.report.Head, v.report.Spend = e.Seq, walk.head.Hash, walk.ledger.Total
	if e.Seq == 1 {
		if e.Type != EventCreated {
			return bad(eventsPath, 1, "the first event is %q, not %q", e.Type, EventCreated)
		}
		walk.start = e.Time
	}
	var err error
	switch e.Type {
	case EventCharge:
		v.report.Charges++
	case EventIteration:
		var ref iterationRef
		err = json.Unmarshal(e.Data, &ref)
		v.iterations = append(v.iterations, ref.SHA256)
	case EventCheckpoint:
		v.sawCheckpoint(e.Seq, walk.ledger.Checkpoint)
	case EventRepair:
		err = v.sawRepair(e)
	}
	if err != nil {
		return bad(eventsPath, int(e.Seq), "%v", err)
	}
	if e.Seq == v.state.EventsHead.Count {
		return v.atHead(e, walk)
	}
	return nil
}

// atHead compares state.json with the events up to its own.
func (v *verifier) atHead(e Event, walk *walker) error {
	var seal stateSeal
	switch {
	case walk.head != v.state.EventsHead:
		return bad(eventsPath, int(e.Seq), "it is not the line that state.json knows")
	case e.Type != EventState || json.Unmarshal(e.Data, &seal) != nil || seal.SHA256 != v.seal:
		return bad(stateFile, 0, "it was changed after event %d, which seals it", e.Seq)
	case walk.ledger.counters() != v.state.ledger():
		return bad(stateFile, 0, "it says %d iterations for %v, the events add up to %d for %v (or other counters differ)",
			v.state.Iteration, v.state.CostUSD, walk.ledger.Iterations, walk.ledger.Total.CostUSD)
	}
	return nil
}

func (v *verifier) endOfEvents(file *os.File, head Head) error {
	if head.Count < v.state.EventsHead.Count || head.Count == 0 {
		return bad(eventsPath, int(head.Count)+1, "it is missing: state.json knows of %d events", v.state.EventsHead.Count)
	}
	if v.state.EventsHead.Count == 0 {
		return bad(stateFile, 0, "no event seals it")
	}
	v.report.Unsealed = head.Count - v.state.EventsHead.Count
	info, err := file.Stat()
	if err == nil {
		v.report.TornBytes = max(0, info.Size()-head.Bytes)
	}
	return err
}

// readIterations compares each line with its event. A line more than events may
// be there when its writer has come, or came, no further.
func (v *verifier) readIterations() error {
	file, err := openFile(v.logs, iterationsFile, os.O_RDONLY)
	if err != nil {
		return bad(iterationsPath, 0, "%v", err)
	}
	defer file.Close()
	lines := lineReader{file: file}
	for n := 1; ; n++ {
		line, err := lines.next()
		if errors.Is(err, io.EOF) || errors.Is(err, errTorn) {
			break
		}
		var it Iteration
		if err == nil {
			err = json.Unmarshal(line, &it)
		}
		switch {
		case err != nil:
			return bad(iterationsPath, n, "%v", err)
		case it.N != n:
			return bad(iterationsPath, n, "iteration %d stands where %d is due", it.N, n)
		case n <= len(v.iterations) && sha256.Sum256(line) != v.iterations[n-1]:
			return bad(iterationsPath, n, "it was changed after it was recorded")
		case n > len(v.iterations) && it.EventsHead.Count < v.report.Events:
			return bad(iterationsPath, n, "no event tells of it")
		case n > len(v.iterations):
			v.report.Unsealed++
		}
		v.report.Iterations = n
	}
	if v.report.Iterations < len(v.iterations) {
		return bad(iterationsPath, v.report.Iterations+1, "it is missing: the events know of %d iterations", len(v.iterations))
	}
	return nil
}

func (v *verifier) sawCheckpoint(seq int64, ref CheckpointRef) {
	seen := v.checkpoints[ref.N]
	if seen == nil {
		seen = &checkpointSeen{}
		v.checkpoints[ref.N] = seen
	}
	seen.before, seen.last, seen.unsealed = seen.last, ref.SHA256, seq > v.state.EventsHead.Count
}

// sawRepair goes back to the checkpoint before the one that a crash took.
func (v *verifier) sawRepair(e Event) error {
	var what repair
	if err := json.Unmarshal(e.Data, &what); err != nil || what.Lost == nil {
		return err
	}
	seen := v.checkpoints[what.Lost.N]
	if seen == nil || seen.last != what.Lost.SHA256 {
		return errors.New("no such checkpoint was announced")
	}
	seen.last = seen.before
	return nil
}

func (v *verifier) readCheckpoints() error {
	for _, n := range slices.Sorted(maps.Keys(v.checkpoints)) {
		seen := v.checkpoints[n]
		content, err := v.readCheckpoint(n)
		hash := Hash(sha256.Sum256(content))
		missing := errors.Is(err, fs.ErrNotExist)
		switch {
		case err == nil && hash == seen.last, missing && seen.last == Hash{}:
		case seen.unsealed && (missing || hash == seen.before): // its writer came no further
		case err != nil:
			return bad(checkpointPath(n), 0, "%v", err)
		default:
			return bad(checkpointPath(n), 0, "it was changed after it was saved")
		}
		v.report.Checkpoints++
	}
	return nil
}
