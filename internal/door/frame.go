package door

import (
	"encoding/binary"
	"fmt"
)

const (
	// version is the value of the hello frame.
	version = 1

	headerSize = 8

	// maxPayload caps a data frame. Larger frames save system calls, smaller
	// ones let streams take turns.
	maxPayload = 1 << 20

	// downloadWindow is what the guest grants the host on each stream. It is
	// the sandbox's memory.
	downloadWindow = 4 << 20

	// uploadWindow is what the host grants the guest on each stream. It is the
	// host's memory, held at the guest's will, up to MaxStreams times.
	uploadWindow = 512 << 10

	// maxIDs caps the streams one side may have to know of, those that wait
	// for the peer's reset included. The guest opens no more than that.
	maxIDs = 2 * MaxStreams
)

// kind says what a frame means and what its value counts.
type kind uint8

const (
	kindHello  kind = iota + 1 // guest only, first, once; value: version
	kindOpen                   // guest only
	kindData                   // value: length of the payload that follows
	kindWindow                 // value: bytes granted
	kindEnd                    // no more data from this side
	kindReset                  // neither data nor reading from this side
)

func (k kind) String() string {
	names := [...]string{"", "hello", "open", "data", "window", "end", "reset"}
	if k == 0 || int(k) >= len(names) {
		return fmt.Sprintf("kind %d", uint8(k))
	}
	return names[k]
}

// frame is a header. Its value has 24 bits on the wire.
type frame struct {
	stream uint32
	kind   kind
	value  int
}

// append adds the frame's eight bytes to b.
func (f frame) append(b []byte) []byte {
	b = binary.BigEndian.AppendUint32(b, f.stream)
	return binary.BigEndian.AppendUint32(b, uint32(f.kind)<<24|uint32(f.value))
}

// parse reads a header of headerSize bytes. Whether it makes sense is for check.
func parse(b []byte) frame {
	v := binary.BigEndian.Uint32(b[4:])
	return frame{
		stream: binary.BigEndian.Uint32(b),
		kind:   kind(v >> 24),
		value:  int(v & (1<<24 - 1)),
	}
}

// check refuses what no state of a session allows.
func (f frame) check() error {
	var ok bool
	switch f.kind {
	case kindHello:
		ok = f.stream == 0 && f.value == version
	case kindData:
		ok = f.stream != 0 && f.value > 0 && f.value <= maxPayload
	case kindWindow:
		ok = f.stream != 0 && f.value > 0
	case kindOpen, kindEnd, kindReset:
		ok = f.stream != 0 && f.value == 0
	}
	if !ok {
		return violation("malformed frame: %v of %d on stream %d", f.kind, f.value, f.stream)
	}
	return nil
}
