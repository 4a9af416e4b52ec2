package gate

import (
	"bytes"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// frames follows the requests of one connection while net/http reads them, and
// keeps the head of each as it came: net/http mends shapes that should be
// refused. Where a request ends it knows from the head and the chunks, not from
// net/http; when it loses the thread, no later request has a head, and those are
// refused.
type frames struct {
	most int // bytes of a head

	mu    sync.Mutex   // net/http reads ahead while a request is served
	heads []framedHead // complete, and not taken yet
	at    frameStep
	part  []byte // of a head or a line that is not complete
	left  int64  // of a body or a chunk
	told  bool   // unserved has said so
}

// frameStep is the part of a request that comes next.
type frameStep int

const (
	atHead frameStep = iota
	atBody
	atChunkSize
	atChunk
	atTrailer
	atLoss     // the thread is lost
	atLostHead // the same, within a head
)

// framedHead is the head of one request.
type framedHead struct {
	raw  []byte
	head requestHead
	err  error // why it must be refused
}

var errNoHead = errors.New("where it begins is not clear")

// see takes the bytes that were read.
func (f *frames) see(p []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for len(p) > 0 && f.at != atLoss && f.at != atLostHead {
		p = f.advance(p)
	}
}

// advance takes bytes of the part that comes next, and returns the others.
func (f *frames) advance(p []byte) (rest []byte) {
	switch f.at {
	case atHead:
		return f.inHead(p)
	case atBody:
		return f.skip(p, atHead)
	case atChunk:
		return f.skip(p, atChunkSize)
	case atChunkSize:
		return f.inChunkSize(p)
	case atTrailer:
		return f.inTrailer(p)
	}
	return nil
}

// take returns the head of r, the next request.
func (f *frames) take(r *http.Request) framedHead {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.heads) == 0 {
		return framedHead{err: errNoHead}
	}
	next := f.heads[0]
	f.heads = f.heads[1:]
	if next.err == nil && !bytes.HasPrefix(next.raw, []byte(r.Method+" "+r.RequestURI+" "+r.Proto+"\r\n")) {
		next.err = errNoHead
	}
	return next
}

// abandon forgets what is still to come: the connection is about to be closed.
func (f *frames) abandon() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.heads, f.at, f.part = nil, atLoss, nil
}

// unserved tells, once, whether something was sent that never became a request.
func (f *frames) unserved() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.told {
		return false
	}
	f.told = len(f.heads) > 0 || f.at == atLostHead || f.at == atHead && len(f.part) > 0
	return f.told
}

// lose gives up: what follows is not understood.
func (f *frames) lose() []byte {
	f.at, f.part = atLoss, nil
	return nil
}

func (f *frames) inHead(p []byte) []byte {
	from := max(0, len(f.part)-len(endOfHead)+1)
	before := len(f.part)
	f.part = append(f.part, p...)
	end := bytes.Index(f.part[from:], endOfHead)
	if end < 0 {
		// net/http allows itself some slack above its limit, and answers the rest.
		if len(f.part) > f.most+8<<10 {
			f.at, f.part = atLostHead, nil
		}
		return nil
	}
	end += from + len(endOfHead)
	raw := bytes.Clone(f.part[:end])
	f.part = nil
	f.begin(raw)
	return p[end-before:]
}

// begin notes a head and finds out what follows it.
func (f *frames) begin(raw []byte) {
	head, err := checkHead(raw)
	f.heads = append(f.heads, framedHead{raw: raw, head: head, err: err})
	length, chunked, lengthErr := bodyLength(raw)
	switch {
	case err != nil || lengthErr != nil:
		f.at = atLoss
	case chunked:
		f.at = atChunkSize
	case length > 0:
		f.at, f.left = atBody, length
	}
}

// bodyLength reads how a request, whose head is checked, states its length.
func bodyLength(raw []byte) (length int64, chunked bool, err error) {
	for line := range strings.SplitSeq(string(raw), "\r\n") {
		name, value, ok := strings.Cut(line, ":")
		value = strings.Trim(value, " \t")
		switch {
		case !ok:
		case strings.EqualFold(name, "Content-Length"):
			if value == "" || strings.Trim(value, "0123456789") != "" {
				return 0, false, errors.New("its length is no number")
			}
			if length, err = strconv.ParseInt(value, 10, 64); err != nil {
				return 0, false, err
			}
		case strings.EqualFold(name, "Transfer-Encoding"):
			if !strings.EqualFold(value, "chunked") {
				return 0, false, errors.New("its encoding is not known")
			}
			chunked = true
		}
	}
	return length, chunked, nil
}

// skip passes over what is left, and goes on with next.
func (f *frames) skip(p []byte, next frameStep) []byte {
	n := min(int64(len(p)), f.left)
	if f.left -= n; f.left == 0 {
		f.at = next
	}
	return p[n:]
}

func (f *frames) inChunkSize(p []byte) []byte {
	line, rest, ok := f.line(p)
	if !ok {
		return rest
	}
	digits, _, _ := strings.Cut(line, ";")
	size, err := strconv.ParseInt(strings.TrimRight(digits, " \t"), 16, 62)
	switch {
	case err != nil || size < 0 || digits[0] == '+':
		return f.lose()
	case size == 0:
		f.at = atTrailer
	default:
		f.at, f.left = atChunk, size+int64(len("\r\n"))
	}
	return rest
}

func (f *frames) inTrailer(p []byte) []byte {
	line, rest, ok := f.line(p)
	if ok && line == "" {
		f.at = atHead
	}
	return rest
}

// maxFrameLine is the longest line between chunks; net/http allows no longer.
const maxFrameLine = 4 << 10

// line returns the next line, once it is complete, and what follows it.
func (f *frames) line(p []byte) (line string, rest []byte, ok bool) {
	end := bytes.IndexByte(p, '\n')
	if end < 0 {
		end = len(p) - 1
	}
	f.part = append(f.part, p[:end+1]...)
	rest = p[end+1:]
	if !bytes.HasSuffix(f.part, []byte("\n")) {
		if len(f.part) > maxFrameLine {
			return "", f.lose(), false
		}
		return "", rest, false
	}
	text, whole := bytes.CutSuffix(f.part, []byte("\r\n"))
	if !whole || len(text) > maxFrameLine {
		return "", f.lose(), false
	}
	f.part = nil
	return string(text), rest, true
}
