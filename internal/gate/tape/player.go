package tape

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"sync"
)

// Options change how requests are compared with a tape.
type Options struct {
	// Volatile is added to DefaultVolatile.
	Volatile []Volatile
	// Mask is what the Recorder had, so that a masked body is met by its like.
	Mask func([]byte) []byte
}

// A Player answers from a tape. A request gets the answer of the first exchange
// that was not played yet among those with its method, path and model; what
// ran in parallel then may come in another order now. It must have the query
// and the body of that exchange, as JSON: the order of names and white space do
// not count, volatile places neither, numbers must be spelled alike.
//
// A request that does not match, or that comes when the tape is at its end, is
// answered with status 400 in the shape of its API and the header
// X-Ralph-Replay: mismatch; Mismatches tells what was wrong.
type Player struct {
	tape    io.ReaderAt
	file    io.Closer
	matcher matcher
	mask    func([]byte) []byte

	credential string

	mu         sync.Mutex
	queues     map[key][]entry
	left       int
	mismatches []*MismatchError
}

// key is what the exchanges of one queue have in common.
type key struct{ method, path, model string }

// entry is where an exchange lies. The bodies stay on the tape, for a long run
// sends its whole conversation many times over.
type entry struct {
	seq    int
	beside []int
	offset int64
	length int
}

// Open opens a tape. Every line is checked; the first that is wrong is named in
// the error.
func Open(path string, options Options) (*Player, error) {
	file, size, err := openRegular(path)
	if err != nil {
		return nil, fmt.Errorf("opening the tape: %w", err)
	}
	player, err := Load(file, size, options)
	if err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("reading the tape %s: %w", path, err)
	}
	player.file = file
	return player, nil
}

// openRegular looks before it opens: opening a pipe waits for its other end.
func openRegular(path string) (*os.File, int64, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, 0, err
	}
	if !info.Mode().IsRegular() {
		return nil, 0, fmt.Errorf("%s is not a regular file", path)
	}
	file, err := os.Open(path)
	return file, info.Size(), err
}

// Load is Open for a tape that is not a file of its own.
func Load(tape io.ReaderAt, size int64, options Options) (*Player, error) {
	matcher, err := newMatcher(append(DefaultVolatile(), options.Volatile...))
	if err != nil {
		return nil, err
	}
	p := &Player{tape: tape, matcher: matcher, mask: options.Mask, queues: map[key][]entry{}}
	if p.mask == nil {
		p.mask = func(raw []byte) []byte { return raw }
	}
	if size > maxTape {
		return nil, fmt.Errorf("it has %d bytes, more than %d", size, int64(maxTape))
	}
	return p, p.index(bufio.NewReaderSize(io.NewSectionReader(tape, 0, size), 64<<10))
}

// index notes where every exchange lies.
func (p *Player) index(tape *bufio.Reader) error {
	seen := map[int]bool{}
	for offset := int64(0); ; {
		text, err := readLine(tape)
		if errors.Is(err, io.EOF) {
			break
		}
		number := p.left + 1
		if err != nil {
			return fmt.Errorf("line %d: %w", number, err)
		}
		l, err := decode(text)
		if err != nil {
			return fmt.Errorf("line %d: %w", number, err)
		}
		if seen[l.Seq] {
			return fmt.Errorf("line %d: a second exchange %d", number, l.Seq)
		}
		seen[l.Seq] = true
		p.credential = cmp.Or(p.credential, l.Credential)
		k := key{l.Method, l.Path, modelOf(l.Request.bytes())}
		p.queues[k] = append(p.queues[k], entry{l.Seq, l.Beside, offset, len(text)})
		p.left++
		offset += int64(len(text))
	}
	for _, queue := range p.queues {
		slices.SortFunc(queue, func(a, b entry) int { return a.seq - b.seq })
	}
	return nil
}

// readLine reads a line with its end. It gives up on one that is too long.
func readLine(tape *bufio.Reader) ([]byte, error) {
	var text []byte
	for {
		part, err := tape.ReadSlice('\n')
		text = append(text, part...)
		switch {
		case len(text) > maxLine:
			return nil, fmt.Errorf("it has more than %d bytes", maxLine)
		case err == nil:
			return text, nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(text) > 0:
			return nil, errors.New("it has no end: the recording was cut off; delete the line to play the rest")
		default:
			return nil, err
		}
	}
}

// Close closes the file that Open opened.
func (p *Player) Close() error {
	if p.file == nil {
		return nil
	}
	return p.file.Close()
}

// Credential is the kind of credential that the recorded caller believed to hold;
// "" if the tape does not tell.
func (p *Player) Credential() string { return p.credential }

// Done tells whether every exchange was played.
func (p *Player) Done() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.left == 0
}

// Mismatches returns the requests that had no answer on the tape, in order.
func (p *Player) Mismatches() []*MismatchError {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.mismatches)
}

// RoundTrip is part of http.RoundTripper.
func (p *Player) RoundTrip(request *http.Request) (*http.Response, error) {
	raw, err := readBody(request)
	if err != nil {
		return nil, fmt.Errorf("reading the request for the replay: %w", err)
	}
	l, mismatch := p.take(request, p.mask(raw))
	switch {
	case mismatch != nil:
		return mismatch.response(request), nil
	case l.Status == 0:
		return nil, fmt.Errorf("replaying exchange %d: %s", l.Seq, l.Error)
	}
	return l.replay(request), nil
}

func readBody(request *http.Request) ([]byte, error) {
	if request.Body == nil {
		return nil, nil
	}
	raw, err := io.ReadAll(io.LimitReader(request.Body, maxBody+1))
	if err == nil && len(raw) > maxBody {
		err = fmt.Errorf("it has more than %d bytes", maxBody)
	}
	return raw, errors.Join(err, request.Body.Close())
}

// take finds the exchange for a request and takes it off the tape.
func (p *Player) take(request *http.Request, raw []byte) (*line, *MismatchError) {
	k := key{request.Method, string(p.mask([]byte(pathOf(request)))), modelOf(raw)}
	tree := p.matcher.settle(parse(raw))
	p.mu.Lock()
	defer p.mu.Unlock()
	mismatch := &MismatchError{Method: k.method, Path: k.path, Model: k.model, Reason: "the tape holds no further call of this kind"}
	queue := p.queues[k]
	for i := 0; i < len(queue) && queue[i].besideAll(queue[:i]); i++ {
		l, err := p.read(queue[i])
		if err == nil {
			err = p.compare(l, request, tree)
		}
		if err == nil {
			p.queues[k] = slices.Delete(queue, i, i+1)
			p.left--
			return l, nil
		}
		if i == 0 {
			mismatch.because(queue[i].seq, err)
		}
	}
	if len(p.mismatches) < maxMismatches {
		p.mismatches = append(p.mismatches, mismatch)
	}
	return nil, mismatch
}

// besideAll tells whether the exchange began before each of the others ended.
func (e entry) besideAll(others []entry) bool {
	return !slices.ContainsFunc(others, func(o entry) bool { return !slices.Contains(e.beside, o.seq) })
}

// read reads an exchange again. The file may have changed since it was indexed.
func (p *Player) read(e entry) (*line, error) {
	text := make([]byte, e.length)
	if _, err := p.tape.ReadAt(text, e.offset); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	l, err := decode(bytes.TrimSpace(text))
	if err == nil && l.Seq != e.seq {
		err = errors.New("the tape has changed")
	}
	return l, err
}

// compare tells how a request differs from the recorded one.
func (p *Player) compare(l *line, request *http.Request, tree any) error {
	if reason := cmp.Or(l.Request.Omitted, l.Response.Omitted); reason != "" {
		return fmt.Errorf("it cannot be played, a body was not recorded: %s", reason)
	}
	if query := string(p.mask([]byte(request.URL.RawQuery))); query != l.Query {
		return &difference{"query", show(l.Query), show(query)}
	}
	if d := diff("", p.matcher.settle(parse(l.Request.bytes())), tree); d != nil {
		return d
	}
	return nil
}
