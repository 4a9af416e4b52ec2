package rundir

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"

	"github.com/go-json-experiment/json"
)

// Rewind records that the run was taken back to a commit, where it was after an
// iteration; 0 is its beginning. All that happened since stays in the record, and
// what it cost stays spent: iterations are counted on. The run is Stopped then.
//
// What the iteration to come needs is saved under its own number, which it replaces
// when it ends: so the checkpoints of all iterations stay, and each of them can be
// gone back to again. Doing it twice is no harm; a kill in between leaves a run
// that can be taken back once more.
func (r *Run) Rewind(to int, commit string) error {
	if err := r.Sync(); err != nil {
		return err
	}
	state, err := r.State()
	if err != nil {
		return err
	}
	c, err := r.Checkpoint(to)
	if err != nil {
		return err
	}
	c.Commit, c.Done, c.Verification, c.Question = commit, "", nil, ""
	if err := r.SaveCheckpoint(r.Iterated()+1, c); err != nil {
		return err
	}
	if err := r.Append(EventRewind, 0, Rewind{To: to, Commit: commit}); err != nil {
		return err
	}
	state.Status, state.StopReason = Stopped, fmt.Sprintf("rewound to iteration %d", to)
	if to == 0 {
		state.StopReason = "rewound to its beginning"
	}
	state.Commit, state.Verification, state.Current, state.EndedAt = commit, nil, 0, nil
	return r.SaveState(state)
}

// Checkpoint returns the checkpoint that iteration n left, or an empty one where it
// left none. A file that was changed since is a BadRecordError.
func (r *Reader) Checkpoint(n int) (Checkpoint, error) {
	var last, before Hash
	for e, err := range r.EventsOf(EventCheckpoint, EventRepair) {
		if err != nil {
			return Checkpoint{}, err
		}
		var what struct {
			repair        `json:",inline"`
			CheckpointRef `json:",inline"`
		}
		if err := json.Unmarshal(e.Data, &what); err != nil {
			return Checkpoint{}, bad(eventsPath, int(e.Seq), "%v", err)
		}
		switch lost := what.Lost; {
		case e.Type == EventCheckpoint && what.N == n:
			before, last = last, what.SHA256
		case e.Type == EventRepair && lost != nil && lost.N == n && lost.SHA256 == last:
			last = before
		}
	}
	if last == (Hash{}) {
		return Checkpoint{}, nil
	}
	_, c, err := r.checkpoint(CheckpointRef{N: n, SHA256: last})
	return c, err
}

// Span is what was done between two commits.
type Span struct {
	From, To string // From is empty in a run without commits
}

// Span returns what iteration n did. It began where the one before ended, or where
// the run was taken back to since.
func (r *Reader) Span(n int) (Span, error) {
	state, err := r.State()
	if err != nil {
		return Span{}, err
	}
	rewinds, err := r.rewinds()
	if err != nil {
		return Span{}, err
	}
	tip := state.Base
	for it, err := range r.Iterations() {
		if err != nil {
			return Span{}, err
		}
		for len(rewinds) > 0 && rewinds[0].seq <= it.EventsHead.Count {
			tip, rewinds = rewinds[0].Commit, rewinds[1:]
		}
		span := Span{From: tip, To: tip}
		if it.Commit != "" {
			tip, span.To = it.Commit, it.Commit
		}
		if it.N == n {
			return span, nil
		}
	}
	return Span{}, fmt.Errorf("there is no iteration %d: the run has %d", n, state.Iteration)
}

// rewindAt is a Rewind and where it stands among the events.
type rewindAt struct {
	Rewind
	seq int64
}

func (r *Reader) rewinds() (all []rewindAt, err error) {
	for e, err := range r.EventsOf(EventRewind) {
		if err != nil {
			return nil, err
		}
		at := rewindAt{seq: e.Seq}
		if err := json.Unmarshal(e.Data, &at.Rewind); err != nil {
			return nil, bad(eventsPath, int(e.Seq), "%v", err)
		}
		all = append(all, at)
	}
	return all, nil
}

// EventsOf returns the events of some types that are there now. An error ends it.
// It is quick: most of a log is what agents say, and is passed over unread.
func (r *Reader) EventsOf(types ...string) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		file, err := openFile(r.logs, eventsFile, os.O_RDONLY)
		if err != nil {
			yield(Event{}, fmt.Errorf("opening the events: %w", err))
			return
		}
		defer file.Close()
		lines := lineReader{file: file}
		for n := int64(1); ; n++ {
			line, err := lines.next()
			if errors.Is(err, io.EOF) || errors.Is(err, errTorn) {
				return
			}
			if name := typeOf(line); err == nil && name != "" && !slices.Contains(types, name) {
				continue
			}
			e, err := parsed(line, err, n)
			if err == nil && !slices.Contains(types, e.Type) {
				continue
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// typeOf is the type of an event as its writer puts it, before all data; empty: the
// line is of another shape.
func typeOf(line []byte) string {
	const before = 100 // bytes of the number and the time
	head, rest, _ := bytes.Cut(line[:min(len(line), before+maxType)], []byte(`,"type":"`))
	name, _, whole := bytes.Cut(rest, []byte(`"`))
	if !whole || bytes.LastIndexByte(head, '{') != 0 || bytes.IndexByte(name, '\\') >= 0 {
		return ""
	}
	return string(name)
}
