package keeper

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/agent-loop/ralph/internal/door"
	"github.com/agent-loop/ralph/internal/sandbox"
)

// greeting is how long a stream may take to say what it is for.
const greeting = 30 * time.Second

// acceptStreams takes the keeper's streams until the door is shut. A guest that
// breaks the door's protocol loses its sandbox.
func (b *Box) acceptStreams() {
	for {
		conn, err := b.door.Accept()
		if err == nil {
			go b.greet(conn.(*door.Stream))
			continue
		}
		cause := fmt.Errorf("%w: its keeper went away: %w", sandbox.ErrGone, err)
		if errors.Is(err, door.ErrProtocol) {
			b.End(cause)
		} else {
			b.EndUnlessOver(cause) // the vessel is about to say why
		}
		return
	}
}

// greet hands a stream to whom it is for.
func (b *Box) greet(stream *door.Stream) {
	if err := b.place(stream); err != nil {
		stream.Close()
	}
}

func (b *Box) place(stream *door.Stream) error {
	if err := stream.SetReadDeadline(time.Now().Add(greeting)); err != nil {
		return err
	}
	var head [5]byte
	if _, err := io.ReadFull(stream, head[:1]); err != nil {
		return err
	}
	switch head[0] {
	case forGate:
		_ = stream.SetReadDeadline(time.Time{})
		return b.gate.push(stream)
	case forOutput, forErrors:
		if _, err := io.ReadFull(stream, head[1:]); err != nil {
			return err
		}
		_ = stream.SetReadDeadline(time.Time{})
		e := b.command(binary.BigEndian.Uint32(head[1:]))
		if e == nil {
			return errors.New("a stream of no command")
		}
		return e.attach(head[0], stream)
	}
	return errors.New("a stream for nothing")
}

// readReplies hears the keeper until the end.
func (b *Box) readReplies() {
	for {
		var r reply
		if err := receive(b.orders, maxReply, &r); err != nil {
			b.EndUnlessOver(fmt.Errorf("%w: its keeper went away: %w", sandbox.ErrGone, err))
			return
		}
		b.hear(r)
	}
}

func (b *Box) hear(r reply) {
	switch {
	case r.Exited != nil:
		b.settle(r.Exited.ID, outcome{code: r.Exited.Code})
	case r.Failed != nil:
		b.settle(r.Failed.ID, outcome{failed: r.Failed})
	case r.Pong != 0:
		b.pulse.answered(r.Pong)
	case r.Measured != nil:
		b.measures.settle(*r.Measured)
	case r.Limit == "memory":
		b.End(&sandbox.LimitError{Limit: "memory", Value: fmt.Sprintf("%d MiB", b.start.Spec.Limits.Memory>>20)})
	}
}

// gateListener hands the gate the connections that programs inside make.
type gateListener struct {
	streams chan net.Conn
	once    sync.Once
	closed  chan struct{}
}

func newGateListener() *gateListener {
	return &gateListener{streams: make(chan net.Conn), closed: make(chan struct{})}
}

func (l *gateListener) push(conn net.Conn) error {
	select {
	case l.streams <- conn:
		return nil
	case <-l.closed:
		return net.ErrClosed
	}
}

// Accept is part of net.Listener.
func (l *gateListener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.streams:
		return conn, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close is part of net.Listener.
func (l *gateListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// Addr is part of net.Listener.
func (*gateListener) Addr() net.Addr { return pipeAddr{} }
