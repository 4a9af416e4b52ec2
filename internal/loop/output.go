package loop

import (
	"bytes"
	"io"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/agent-loop/ralph/internal/agent"
	"github.com/agent-loop/ralph/internal/rundir"
)

const (
	// maxRecorded is how much of an attempt's output is kept, as the agent printed
	// it. Its end is kept beyond that, and how much is missing.
	maxRecorded = 64 << 20
	// maxEnding is how much is kept beyond that of what tells how it ended.
	maxEnding = 1 << 20
	// perEvent is about what an event takes besides what was printed: lines may be
	// empty, and many.
	perEvent = 256
	// maxFed is how much is parsed at once: every byte of it may be an event, and an
	// event takes hundreds.
	maxFed = 16 << 10
	// maxStderr is the same for its standard error.
	maxStderr = 1 << 20
	// maxStderrLine is the longest line of it.
	maxStderrLine = 16 << 10
)

// output turns what an agent prints into events of the record.
type output struct {
	r         *runner
	iteration int
	parser    *agent.Parser
	summary   *agent.Summary

	mu       sync.Mutex
	sight    sight
	recorded int64
	dropped  rundir.Output
	stderr   *stderr
}

// sight is what the watchdog must know.
type sight struct {
	last   time.Time // something was printed
	result time.Time // the agent said that it is done; zero: not yet
	turns  int
}

func newOutput(r *runner, n int, parser *agent.Parser) *output {
	o := &output{r: r, iteration: n, parser: parser, summary: agent.Summarize(), sight: sight{last: time.Now()}}
	o.stderr = &stderr{out: o}
	return o
}

// Write takes the agent's standard output. It fails when the record does, and
// with it the command.
func (o *output) Write(data []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.sight.last = time.Now()
	for part := range slices.Chunk(data, maxFed) {
		o.take(o.parser.Feed(part))
	}
	return len(data), o.r.recordErr()
}

func (o *output) take(events []agent.Event) {
	o.summary.Add(events...)
	for _, e := range events {
		switch e.Kind {
		case agent.Result:
			o.sight.result = time.Now()
		case agent.ToolCall:
			o.sight.turns++
		}
		o.keep(e)
	}
}

// keep records an event while there is room.
func (o *output) keep(e agent.Event) {
	if o.recorded > roomFor(e.Kind) {
		o.dropped.Events++
		o.dropped.Bytes += e.Size
		return
	}
	o.recorded += perEvent + max(e.Size, int64(len(e.Text)+len(e.Input)+len(e.Raw)))
	o.r.note(rundir.EventAgent, o.iteration, e)
}

// roomFor has some left for what tells how the attempt ended.
func roomFor(kind agent.EventKind) int64 {
	if kind == agent.Result || kind == agent.ErrorEvent {
		return maxRecorded + maxEnding
	}
	return maxRecorded
}

// seen is what the agent did last.
func (o *output) seen() sight {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.sight
}

// errors is the agent's standard error.
func (o *output) errors() io.Writer { return o.stderr }

// close takes what is left and returns what it all comes to.
func (o *output) close() *agent.Summary {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.take(o.parser.Close())
	o.stderr.flush()
	if o.dropped.Events > 0 || o.dropped.Bytes > 0 {
		o.r.note(rundir.EventOutput, o.iteration, o.dropped)
	}
	return o.summary
}

// stderr keeps the lines of the agent's standard error.
type stderr struct {
	out  *output
	line []byte
	kept int
}

func (s *stderr) Write(data []byte) (int, error) {
	s.out.mu.Lock()
	defer s.out.mu.Unlock()
	s.out.sight.last = time.Now()
	for rest := data; len(rest) > 0; {
		line, after, ended := bytes.Cut(rest, []byte{'\n'})
		room := max(0, maxStderrLine-len(s.line))
		s.line = append(s.line, line[:min(len(line), room)]...)
		s.out.dropped.Bytes += int64(max(0, len(line)-room))
		if rest = after; ended {
			s.flush()
		}
	}
	return len(data), s.out.r.recordErr()
}

func (s *stderr) flush() {
	if len(s.line) == 0 {
		return
	}
	if s.kept += perEvent + len(s.line); s.kept > maxStderr {
		s.out.dropped.Bytes += int64(len(s.line))
	} else {
		s.out.r.note(rundir.EventAgentError, s.out.iteration, asText(s.line))
	}
	s.line = s.line[:0]
}

func asText(line []byte) rundir.Text {
	if utf8.Valid(line) {
		return rundir.Text{Text: string(line)}
	}
	return rundir.Text{Base64: bytes.Clone(line)}
}
