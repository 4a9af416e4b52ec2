package sandboxtest

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"time"

	"github.com/agent-loop/ralph/internal/sandbox"
)

// memorySandbox lives as long as its context. Everything inside runs under that
// context, so that one cancel ends it all.
type memorySandbox struct {
	engine  *Memory
	id      string
	spec    sandbox.Spec
	created time.Time
	files   *namespace
	door    *door // nil without a gate

	ctx    context.Context
	cancel context.CancelCauseFunc
	once   sync.Once
}

func newMemorySandbox(m *Memory, id string, spec sandbox.Spec) (*memorySandbox, error) {
	files, err := newNamespace(spec.Mounts, spec.Own...)
	if err != nil {
		return nil, err
	}
	s := &memorySandbox{engine: m, id: id, spec: spec, created: time.Now(), files: files}
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	if spec.Network == sandbox.NetworkGate {
		s.door = newDoor()
	}
	return s, nil
}

// start opens the gate and the clock, once the engine knows the sandbox.
func (s *memorySandbox) start() {
	if s.door != nil {
		go func() {
			// A gate that failed must not leave its guests waiting.
			if err := s.spec.Gate(s.door); err != nil {
				s.door.Close()
			}
		}()
	}
	if limit := s.spec.Limits.Time; limit > 0 {
		timer := time.AfterFunc(limit, func() {
			s.end(&sandbox.LimitError{Limit: "time", Value: limit.String()})
		})
		context.AfterFunc(s.ctx, func() { timer.Stop() })
	}
}

// end is the only way in which a sandbox ends. Commands that are running report
// the cause.
func (s *memorySandbox) end(cause error) {
	s.once.Do(func() {
		s.cancel(cause)
		if s.door != nil {
			s.door.Close()
		}
		s.engine.forget(s)
		s.files.remove()
	})
}

// ID is part of sandbox.Sandbox.
func (s *memorySandbox) ID() string { return s.id }

// Close is part of sandbox.Sandbox.
func (s *memorySandbox) Close() error {
	s.end(sandbox.ErrGone)
	return nil
}

// noExitCode goes with an error, for callers who look at the code alone.
const noExitCode = -1

// Exec is part of sandbox.Sandbox.
func (s *memorySandbox) Exec(ctx context.Context, cmd sandbox.Command) (int, error) {
	s.engine.record(cmd)
	if s.ctx.Err() != nil {
		return noExitCode, sandbox.ErrGone
	}
	streams, err := openStreams(cmd)
	if err != nil {
		return noExitCode, err
	}
	defer streams.close()
	process, err := s.prepare(cmd, streams)
	if err != nil {
		return noExitCode, err
	}
	begun := time.Now()
	ended := make(chan int, 1)
	go func() { ended <- process.run(s.ctx) }()
	select {
	case code := <-ended:
		if s.ctx.Err() != nil { // it did not end by itself
			return noExitCode, context.Cause(s.ctx)
		}
		return code, nil
	case <-s.ctx.Done():
		return noExitCode, context.Cause(s.ctx)
	case <-ctx.Done():
		s.end(sandbox.ErrGone)
		return noExitCode, contextError(ctx, begun)
	}
}

// contextError is what Exec reports when the caller's context ended first.
func contextError(ctx context.Context, begun time.Time) error {
	if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return ctx.Err()
	}
	deadline, _ := ctx.Deadline()
	allowed := deadline.Sub(begun).Round(time.Millisecond)
	return &sandbox.LimitError{Limit: "time", Value: allowed.String()}
}

// prepare refuses what cannot be started.
func (s *memorySandbox) prepare(cmd sandbox.Command, streams *streams) (*Process, error) {
	if cmd.Terminal != nil {
		return nil, &sandbox.RefusedError{What: "a terminal", Why: "engine memory has none"}
	}
	p := &Process{
		Args:    cmd.Args,
		Env:     sandbox.MergeEnv(s.spec.Env, cmd.Env),
		Dir:     cmd.Dir,
		Stdin:   streams.stdin,
		Stdout:  streams.stdout,
		Stderr:  streams.stderr,
		sandbox: s,
	}
	if p.Dir == "" {
		p.Dir = s.spec.WorkDir()
	}
	if info, err := s.files.stat(p.Dir); err != nil || !info.IsDir() {
		return nil, &sandbox.StartError{Program: p.name(), Code: 127, Reason: "no such directory: " + p.Dir}
	}
	return p, p.find()
}

// streams are the ends that a command holds. When Exec returns they are shut,
// so that nothing left in the background writes to the caller's buffers.
type streams struct {
	stdin          *os.File
	stdout, stderr *output
	mu             *sync.Mutex
}

func openStreams(cmd sandbox.Command) (*streams, error) {
	stdin, err := pipeFrom(cmd.Stdin)
	if err != nil {
		return nil, err
	}
	mu := &sync.Mutex{} // one for both: callers may pass the same writer twice
	return &streams{
		stdin:  stdin,
		stdout: &output{mu: mu, w: cmd.Stdout},
		stderr: &output{mu: mu, w: cmd.Stderr},
		mu:     mu,
	}, nil
}

func (s *streams) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stdout.closed, s.stderr.closed = true, true
	s.stdin.Close()
}

// pipeFrom gives r the form of a file, which the interpreter needs, and which
// can be closed under a reader that waits. Closing it also ends the copying.
func pipeFrom(r io.Reader) (*os.File, error) {
	if r == nil {
		return os.Open(os.DevNull)
	}
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	go func() {
		_, _ = io.Copy(write, r) // fails when the command has ended: that is fine
		write.Close()
	}()
	return read, nil
}

type output struct {
	mu     *sync.Mutex
	w      io.Writer
	closed bool
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.closed:
		return 0, io.ErrClosedPipe
	case o.w == nil:
		return len(p), nil
	default:
		return o.w.Write(p)
	}
}
