package keeper

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agent-loop/ralph/internal/door"
	"github.com/agent-loop/ralph/internal/sandbox"
	"github.com/agent-loop/ralph/internal/sandbox/lifetime"
	"github.com/agent-loop/ralph/internal/sandbox/streams"
)

// execution is a command that runs inside.
type execution struct {
	id      uint32
	cmd     sandbox.Command
	merged  bool
	settled chan outcome
	copying sync.WaitGroup        // one for each stream that is to come
	failed  atomic.Pointer[error] // the first write to the caller that failed

	mu      sync.Mutex
	streams map[byte]*door.Stream
	over    bool
}

// outcome is how a command ended: with a code, or not even started.
type outcome struct {
	code   int
	failed *failedReply
}

// Exec is part of the sandbox.Sandbox interface. When ctx ends before the command,
// the whole sandbox does.
func (b *Box) Exec(ctx context.Context, cmd sandbox.Command) (int, error) {
	if err := b.Admit(ctx, cmd); err != nil {
		return 0, err
	}
	began := time.Now()
	e := b.add(cmd)
	defer b.forget(e)
	// It holds for all that follows: a keeper may not take the order, nor a caller
	// the output.
	stop := context.AfterFunc(ctx, func() { b.End(lifetime.CauseOf(ctx, began)) })
	defer stop()
	if err := b.control.send(order{Start: b.startOrder(e)}); err != nil {
		return 0, b.Lost(fmt.Errorf("starting %s: %w", cmd.Args[0], err))
	}
	go b.resize(e)
	return b.await(e)
}

func (b *Box) add(cmd sandbox.Command) *execution {
	e := &execution{cmd: cmd, merged: cmd.Terminal != nil || streams.Same(cmd.Stdout, cmd.Stderr), settled: make(chan outcome, 1), streams: map[byte]*door.Stream{}}
	e.copying.Add(e.expected())
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lastID++
	e.id = b.lastID
	b.commands[e.id] = e
	return e
}

func (b *Box) command(id uint32) *execution {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.commands[id]
}

// forget closes what the command's streams still hold.
func (b *Box) forget(e *execution) {
	b.mu.Lock()
	delete(b.commands, e.id)
	b.mu.Unlock()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.over = true
	for _, stream := range e.streams {
		stream.Close()
	}
	for range e.expected() - len(e.streams) {
		e.copying.Done() // they come no more
	}
}

// expected is how many streams the command has.
func (e *execution) expected() int {
	if e.merged {
		return 1
	}
	return 2
}

// settle notes how a command ended. A guest that says so twice, or of a command
// that is not there, is not heard.
func (b *Box) settle(id uint32, o outcome) {
	if e := b.command(id); e != nil {
		select {
		case e.settled <- o:
		default:
		}
	}
}

func (b *Box) startOrder(e *execution) *startOrder {
	dir := e.cmd.Dir
	if dir == "" {
		dir = b.start.Spec.WorkDir()
	}
	env := sandbox.MergeEnv(b.start.Spec.Env, e.cmd.Env)
	o := &startOrder{ID: e.id, Args: asBytes(e.cmd.Args), Dir: dir, Stdin: e.cmd.Stdin != nil, Merged: e.merged}
	if e.cmd.Terminal != nil {
		size := e.cmd.Terminal.Size
		o.Terminal = &size
		env = sandbox.MergeEnv([]string{"TERM=xterm-256color"}, env)
	}
	o.Env = asBytes(env)
	return o
}

// resize passes on the later sizes of a terminal.
func (b *Box) resize(e *execution) {
	if e.cmd.Terminal == nil || e.cmd.Terminal.Resize == nil {
		return
	}
	for size := range e.cmd.Terminal.Resize {
		if b.command(e.id) == nil || b.control.send(order{Resize: &resizeOrder{e.id, size}}) != nil {
			return
		}
	}
}

// attach connects a stream of the command to the caller.
func (e *execution) attach(kind byte, stream *door.Stream) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.over || e.streams[kind] != nil || kind == forErrors && e.merged {
		return errors.New("a stream too many")
	}
	e.streams[kind] = stream
	to := e.cmd.Stdout
	if kind == forErrors {
		to = e.cmd.Stderr
	} else if e.cmd.Stdin != nil {
		// The copy is not awaited: the caller's reader may never return.
		go func() {
			_, _ = io.Copy(stream, e.cmd.Stdin)
			_ = stream.CloseWrite()
		}()
	}
	go e.copyOut(to, stream)
	return nil
}

// copyOut passes output on until it ends. When the caller takes no more, the
// stream is closed, so that the command learns of it as it would outside.
func (e *execution) copyOut(to io.Writer, stream *door.Stream) {
	defer e.copying.Done()
	if to == nil {
		to = io.Discard
	}
	out := &noting{to: to}
	if _, _ = io.Copy(out, stream); out.err != nil {
		e.failed.CompareAndSwap(nil, &out.err)
		stream.Close()
	}
}

// noting remembers that the caller did not take what it was given, which is not
// the same as a stream that broke.
type noting struct {
	to  io.Writer
	err error
}

func (n *noting) Write(p []byte) (int, error) {
	written, err := n.to.Write(p)
	if err != nil {
		n.err = err
	}
	return written, err
}

// await waits for a command, or for the end of the sandbox.
func (b *Box) await(e *execution) (int, error) {
	select {
	case o := <-e.settled:
		return b.conclude(e, o)
	case <-b.Ended():
		return 0, b.Cause()
	}
}

// conclude turns the keeper's word into what Exec returns.
func (b *Box) conclude(e *execution, o outcome) (int, error) {
	program := e.cmd.Args[0]
	switch {
	case o.failed != nil && (o.failed.Code == 126 || o.failed.Code == 127):
		return 0, &sandbox.StartError{Program: program, Code: o.failed.Code, Reason: fmt.Sprintf("%.200s", o.failed.Reason)}
	case o.failed != nil:
		return 0, b.Lost(fmt.Errorf("starting %s: %.200q", program, o.failed.Reason))
	case o.code < 0 || o.code > 255:
		return 0, b.Lost(fmt.Errorf("running %s: it ended with the code %d", program, o.code))
	case o.code != 0 && b.Ending():
		return 0, b.Lost(sandbox.ErrGone) // its processes go one after the other
	}
	if err := b.outputEnd(e); o.code == 0 && err != nil {
		return 0, err
	}
	return o.code, nil
}

// outputEnd waits for the rest of the output and returns why the caller did not
// take it all. A caller who takes nothing is waited for as long as the sandbox
// lives, and a moment longer.
func (b *Box) outputEnd(e *execution) error {
	done := make(chan struct{})
	go func() {
		e.copying.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-b.Ended():
		select {
		case <-done:
		case <-time.After(time.Second):
		}
	}
	if err := e.failed.Load(); err != nil {
		return fmt.Errorf("passing on the command's output: %w", *err)
	}
	return nil
}
