package sandboxtest

import (
	"context"
	"errors"
	"net"
	"sync"

	"github.com/agent-loop/ralph/internal/sandbox"
)

// door is a listener whose connections never touch a network.
type door struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

var _ net.Listener = (*door)(nil)

func newDoor() *door {
	return &door{conns: make(chan net.Conn), closed: make(chan struct{})}
}

// Accept is part of net.Listener.
func (d *door) Accept() (net.Conn, error) {
	select {
	case c := <-d.conns:
		return c, nil
	case <-d.closed:
		return nil, net.ErrClosed
	}
}

// Close is part of net.Listener.
func (d *door) Close() error {
	d.once.Do(func() { close(d.closed) })
	return nil
}

// Addr is part of net.Listener.
func (d *door) Addr() net.Addr { return doorAddr{} }

type doorAddr struct{}

func (doorAddr) Network() string { return "memory" }
func (doorAddr) String() string  { return sandbox.GateAddress }

// dial hands one end of a connection to whoever serves the gate.
func (s *memorySandbox) dial(ctx context.Context) (net.Conn, error) {
	if s.door == nil {
		return nil, errors.New("dialling the gate: the sandbox has no network")
	}
	inside, outside := net.Pipe()
	select {
	case s.door.conns <- outside:
		// Whatever is still open when the sandbox ends, ends with it.
		context.AfterFunc(s.ctx, func() { inside.Close() })
		return inside, nil
	case <-s.door.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
