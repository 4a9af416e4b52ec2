package rundir

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Types of events that this package writes or adds up. All other types are the
// callers' own.
const (
	EventCreated    = "run.created" // the first of every run
	EventRepair     = "run.repair"  // what a crash left half done and Open put right
	EventCharge     = "charge"      // money spent; see Charge. The one type that verify adds up
	EventIteration  = "iteration"   // an iteration was recorded; see AppendIteration
	EventCheckpoint = "checkpoint"  // a checkpoint was saved
	EventState      = "state"       // state.json was saved
)

const (
	// MaxLine is the length of the longest line of a log.
	MaxLine = 1 << 20
	// maxData leaves room for the rest of a line.
	maxData    = MaxLine - 4<<10
	maxType    = 64
	clippedTop = 64 << 10
)

// Event is one line of the log. Its place is told by Seq, which has no gaps; Time
// is what the clock said and may go back, though never before the run's start.
type Event struct {
	Seq       int64          `json:"seq"`
	Time      time.Time      `json:"time"`
	Type      string         `json:"type"`
	Iteration int            `json:"iteration,omitzero"` // 0 outside of iterations
	Data      jsontext.Value `json:"data,omitzero"`
}

// Hash is a SHA-256, in hexadecimal when it is text.
type Hash [sha256.Size]byte

func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// MarshalText writes the hash in hexadecimal.
func (h Hash) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, h[:]), nil }

// UnmarshalText reads what MarshalText writes.
func (h *Hash) UnmarshalText(text []byte) error {
	if len(text) != 2*len(h) {
		return errors.New("a hash has 64 digits")
	}
	_, err := hex.Decode(h[:], text)
	return err
}

// storedEvent is a line as it is parsed. Pointers tell what is missing.
type storedEvent struct {
	Event `json:",inline"`
	Prev  *Hash `json:"prev"`
}

// appendLine appends the line of an event, without line feed. Type and data must
// have been checked.
func appendLine(b []byte, e Event, prev Hash) []byte {
	b = strconv.AppendInt(append(b, `{"seq":`...), e.Seq, 10)
	b = e.Time.AppendFormat(append(b, `,"time":"`...), time.RFC3339Nano)
	b = append(append(b, `","type":"`...), e.Type...)
	b = append(b, '"')
	if e.Iteration != 0 {
		b = strconv.AppendInt(append(b, `,"iteration":`...), int64(e.Iteration), 10)
	}
	if len(e.Data) > 0 {
		b = append(append(b, `,"data":`...), e.Data...)
	}
	b = hex.AppendEncode(append(b, `,"prev":"`...), prev[:])
	return append(b, `"}`...)
}

// parseLine reads a line of the log, without its line feed.
func parseLine(line []byte) (Event, Hash, error) {
	if len(line) > MaxLine {
		return Event{}, Hash{}, errTooLong
	}
	var stored storedEvent
	if err := json.Unmarshal(line, &stored, json.RejectUnknownMembers(true)); err != nil {
		return Event{}, Hash{}, fmt.Errorf("it is no event: %w", err)
	}
	switch {
	case stored.Prev == nil:
		return Event{}, Hash{}, errors.New("it is no event: prev is missing")
	case stored.Seq < 1 || stored.Iteration < 0:
		return Event{}, Hash{}, errors.New("it is no event: seq or iteration is out of range")
	}
	if err := checkType(stored.Type); err != nil {
		return Event{}, Hash{}, err
	}
	return stored.Event, *stored.Prev, nil
}

// checkType accepts names that need no escapes in JSON.
func checkType(name string) error {
	if name == "" || len(name) > maxType {
		return fmt.Errorf("an event's type has 1 to %d characters", maxType)
	}
	for _, c := range name {
		if !isWord(c) && c != '.' && c != '-' {
			return fmt.Errorf("event type %q has other characters than letters, digits, dot, dash and underscore", name)
		}
	}
	return nil
}
