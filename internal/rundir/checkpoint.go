package rundir

import (
	"crypto/sha256"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

const (
	checkpointsFolder = "checkpoints"
	maxCheckpoint     = 999_999
)

// Checkpoint is what the next iteration needs to know of the last.
type Checkpoint struct {
	Commit            string   `json:"commit,omitzero"`
	Summary           string   `json:"summary,omitzero"`
	Next              string   `json:"next,omitzero"`
	ValidationFailure string   `json:"validation_failure,omitzero"`
	Question          string   `json:"question,omitzero"`
	Answers           []Answer `json:"answers,omitempty"`
	SessionID         string   `json:"session_id,omitzero"`
	Done              string   `json:"done,omitzero"` // why the work is verified done; empty: it is not

	Verification *Verification `json:"verification,omitzero"` // of work that is done

	// Tasks is the task file as it was when a person last had it, for what an agent
	// may not change in it.
	Tasks jsontext.Value `json:"tasks,omitzero"`
}

// Answer is what a person said when the agent asked.
type Answer struct {
	Question string `json:"question"`
	Answer   string `json:"answer"`
}

func checkpointPath(n int) string { return fmt.Sprintf("%s/%04d.json", checkpointsFolder, n) }

// SaveCheckpoint keeps the checkpoint of iteration n, lasting, and replaces the one
// that was there. The chain learns its hash first, so that no file is believed
// that this package did not write.
func (r *Run) SaveCheckpoint(n int, c Checkpoint) error {
	if n < 1 || n > maxCheckpoint {
		return fmt.Errorf("there is no checkpoint %d", n)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	content, err := r.encodeCheckpoint(c)
	if err != nil {
		return fmt.Errorf("encoding checkpoint %d: %w", n, err)
	}
	data, err := encodeData(CheckpointRef{N: n, SHA256: sha256.Sum256(content)})
	if err != nil {
		return err
	}
	folder, err := openFolder(r.dir, checkpointsFolder)
	if err != nil {
		return fmt.Errorf("saving checkpoint %d: %w", n, err)
	}
	defer folder.Close()
	if err := r.add(Event{Type: EventCheckpoint, Iteration: n, Data: data}); err != nil {
		return err
	}
	if err := r.chain.sync(); err != nil {
		return err
	}
	return replaceFile(r.dir, checkpointPath(n), content)
}

func (r *Run) encodeCheckpoint(c Checkpoint) ([]byte, error) {
	value, err := json.Marshal(c, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return nil, err
	}
	return encodeFile(jsontext.Value(value), r.options)
}

// LastCheckpoint returns the checkpoint that was saved last, and its number; 0 when
// there is none. A file that was changed since is a BadRecordError.
func (r *Run) LastCheckpoint() (int, Checkpoint, error) {
	r.mu.Lock()
	ref := r.ledger.Checkpoint
	r.mu.Unlock()
	return r.checkpoint(ref)
}

// LastCheckpoint is that of the saved state.
func (r *Reader) LastCheckpoint() (int, Checkpoint, error) {
	state, err := r.State()
	if err != nil {
		return 0, Checkpoint{}, err
	}
	return r.checkpoint(state.Checkpoint)
}

func (r *Reader) checkpoint(ref CheckpointRef) (int, Checkpoint, error) {
	if ref == (CheckpointRef{}) {
		return 0, Checkpoint{}, nil
	}
	content, err := r.readCheckpoint(ref.N)
	if err != nil {
		return 0, Checkpoint{}, bad(checkpointPath(ref.N), 0, "%v", err)
	}
	if sha256.Sum256(content) != ref.SHA256 {
		return 0, Checkpoint{}, bad(checkpointPath(ref.N), 0, "it was changed after it was saved")
	}
	var c Checkpoint
	if err := json.Unmarshal(content, &c); err != nil {
		return 0, Checkpoint{}, bad(checkpointPath(ref.N), 0, "%v", err)
	}
	return ref.N, c, nil
}

func (r *Reader) readCheckpoint(n int) ([]byte, error) {
	folder, err := openFolder(r.dir, checkpointsFolder)
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	return readFile(folder, fmt.Sprintf("%04d.json", n))
}
