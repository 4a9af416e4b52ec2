package keeper

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/agent-loop/ralph/internal/sandbox"
)

const (
	// maxOrder bounds a message from the host: the arguments and the environment of
	// a command, which the kernel itself bounds.
	maxOrder = 16 << 20
	// maxReply bounds a message from inside.
	maxReply = 64 << 10
)

// The first byte of a stream.
const (
	forControl = 'c'
	forOutput  = 'o' // then the command's number
	forErrors  = 'e' // then the command's number
	forGate    = 'g'
)

// Settings are what the keeper is to hold for everything that it starts.
type Settings struct {
	Gate        bool  `json:"gate"`           // listen at sandbox.GateAddress
	UnixSockets bool  `json:"unix_sockets"`   // let programs make unix sockets
	OwnKernel   bool  `json:"own_kernel"`     // the sandbox has a kernel of its own
	Processes   int   `json:"processes"`      // 0: no limit that the keeper need hold
	FileSize    int64 `json:"file_size"`      // 0: no limit
	Memory      int64 `json:"memory"`         // 0: no limit that the keeper need watch
	MemoryGroup bool  `json:"memory_group"`   // the kernel keeps a memory limit; tell when it struck
	CPUs        []int `json:"cpus,omitempty"` // the processors to use; none: all
}

// order is a message from the host; one of its parts is set.
type order struct {
	Settings *Settings     `json:"settings,omitempty"`
	Start    *startOrder   `json:"start,omitempty"`
	Resize   *resizeOrder  `json:"resize,omitempty"`
	Ping     uint64        `json:"ping,omitempty"`
	Measure  *measureOrder `json:"measure,omitempty"`
}

// startOrder asks for a command. What it holds may be any bytes, not just text.
type startOrder struct {
	ID       uint32                `json:"id"`
	Args     [][]byte              `json:"args"`
	Env      [][]byte              `json:"env"`
	Dir      string                `json:"dir"`
	Stdin    bool                  `json:"stdin"`  // there is input
	Merged   bool                  `json:"merged"` // both outputs go one way
	Terminal *sandbox.TerminalSize `json:"terminal,omitempty"`
}

type resizeOrder struct {
	ID   uint32               `json:"id"`
	Size sandbox.TerminalSize `json:"size"`
}

// measureOrder asks how much disk files take that have no name any more.
type measureOrder struct {
	ID uint64 `json:"id"`
}

// reply is a message from the keeper; one of its parts is set.
type reply struct {
	Ready    bool           `json:"ready,omitempty"`
	Refused  string         `json:"refused,omitempty"` // the settings cannot be held
	Failed   *failedReply   `json:"failed,omitempty"`
	Exited   *exitedReply   `json:"exited,omitempty"`
	Pong     uint64         `json:"pong,omitempty"`
	Limit    string         `json:"limit,omitempty"` // a limit was reached
	Measured *measuredReply `json:"measured,omitempty"`
}

// failedReply says that a command could not be started.
type failedReply struct {
	ID     uint32 `json:"id"`
	Code   int    `json:"code"` // as a shell would return; 0: for a reason of ours
	Reason string `json:"reason"`
}

// exitedReply says that a command has ended and its output is complete.
type exitedReply struct {
	ID   uint32 `json:"id"`
	Code int    `json:"code"`
}

// measuredReply counts open files without a name.
type measuredReply struct {
	ID       uint64 `json:"id"`
	Unlinked int64  `json:"unlinked"`
	Hidden   bool   `json:"hidden"` // some processes cannot be looked at
}

// messenger sends messages, one at a time.
type messenger struct {
	mu sync.Mutex
	to io.Writer
}

func (m *messenger) send(message any) error {
	data, err := json.Marshal(message)
	if err != nil {
		return fmt.Errorf("encoding a message: %w", err)
	}
	if len(data) > maxOrder {
		return errors.New("the message is too long")
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	_, err = m.to.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(data))), data...))
	return err
}

// receive reads one message of at most limit bytes.
func receive(from io.Reader, limit uint32, message any) error {
	var head [4]byte
	if _, err := io.ReadFull(from, head[:]); err != nil {
		return err
	}
	size := binary.BigEndian.Uint32(head[:])
	if size > limit {
		return fmt.Errorf("a message of %d bytes is too long", size)
	}
	data := make([]byte, size)
	if _, err := io.ReadFull(from, data); err != nil {
		return fmt.Errorf("reading a message: %w", err)
	}
	if err := json.Unmarshal(data, message); err != nil {
		return fmt.Errorf("reading a message: %w", err)
	}
	return nil
}

func asBytes(list []string) [][]byte {
	out := make([][]byte, len(list))
	for i, s := range list {
		out[i] = []byte(s)
	}
	return out
}

func asStrings(list [][]byte) []string {
	out := make([]string, len(list))
	for i, b := range list {
		out[i] = string(b)
	}
	return out
}
