package keeper

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/agent-loop/ralph/internal/door"
	"github.com/agent-loop/ralph/internal/sandbox"
	"github.com/agent-loop/ralph/internal/sandbox/lifetime"
)

// Vessel is what an engine started to hold a keeper: a tree of processes, or a
// container.
type Vessel interface {
	// Exited is closed when nothing of the vessel runs any more as far as the engine
	// can see.
	Exited() <-chan struct{}

	// Reason says why the vessel ended when nobody asked for it, as far as that is
	// known; nil otherwise. It is asked after Exited.
	Reason() error

	// Kill ends everything inside and returns when it has ended. The error tells
	// what could not be ended.
	Kill() error

	// Discard deletes what is left after Kill, on disk and in the engine.
	Discard() error
}

// Start is what a Box is made of.
type Start struct {
	ID       string
	Spec     sandbox.Spec
	Settings Settings
	Vessel   Vessel
	Conn     net.Conn // leads to the keeper
}

// Box is a running sandbox with a keeper in it.
type Box struct {
	*lifetime.Lifetime
	start   Start
	door    *door.Listener
	control *messenger
	orders  *door.Stream
	gate    *gateListener
	pulse   pulse
	lasting error // what could not be ended

	mu       sync.Mutex
	lastID   uint32
	commands map[uint32]*execution
	measures measures
}

var _ sandbox.Sandbox = (*Box)(nil)

// Open waits until the keeper has answered and holds its settings. It takes over
// the connection and, whether it succeeds or not, the vessel: after an error
// nothing of it is left.
func Open(ctx context.Context, start Start) (*Box, error) {
	b := &Box{start: start, door: door.Listen(start.Conn), commands: map[uint32]*execution{}}
	b.gate = newGateListener()
	b.Lifetime = lifetime.New(b.stop)
	stop := context.AfterFunc(ctx, func() { b.End(fmt.Errorf("starting the sandbox: %w", ctx.Err())) })
	err := b.meet()
	switch {
	case !stop():
		return nil, errors.Join(fmt.Errorf("starting the sandbox: %w", ctx.Err()), b.Close())
	case err != nil:
		return nil, errors.Join(b.startFailure(err), b.Close())
	}
	go b.acceptStreams()
	go b.readReplies()
	go b.heartbeat()
	b.accompany()
	return b, nil
}

// meet awaits the keeper, tells it its settings, and hears that they hold.
func (b *Box) meet() error {
	go func() {
		<-b.start.Vessel.Exited()
		b.End(b.vesselEnded())
	}()
	conn, err := b.door.Accept()
	if err != nil {
		return err
	}
	b.orders = conn.(*door.Stream)
	var purpose [1]byte
	if _, err := b.orders.Read(purpose[:]); err != nil || purpose[0] != forControl {
		return errors.Join(errors.New("the keeper did not open its control stream"), err)
	}
	b.control = &messenger{to: b.orders}
	if err := b.control.send(order{Settings: &b.start.Settings}); err != nil {
		return fmt.Errorf("telling the keeper its settings: %w", err)
	}
	var answer reply
	if err := receive(b.orders, maxReply, &answer); err != nil {
		return fmt.Errorf("hearing from the keeper: %w", err)
	}
	if !answer.Ready {
		return fmt.Errorf("the keeper could not confine the sandbox: %.300q", answer.Refused)
	}
	return nil
}

// startFailure prefers what the vessel says over how we noticed.
func (b *Box) startFailure(err error) error {
	select {
	case <-b.start.Vessel.Exited():
		if reason := b.start.Vessel.Reason(); reason != nil {
			return reason
		}
	case <-time.After(time.Second):
	}
	return fmt.Errorf("starting the sandbox: %w", err)
}

// accompany starts what lasts as long as the sandbox.
func (b *Box) accompany() {
	b.EndAfter(b.start.Spec.Limits.Time)
	if b.start.Spec.Network == sandbox.NetworkGate {
		go b.Serve(b.start.Spec.Gate, b.gate)
	}
	b.holdDisk()
}

// vesselEnded is the cause when the vessel has ended by itself.
func (b *Box) vesselEnded() error {
	reason := b.start.Vessel.Reason()
	var limit *sandbox.LimitError
	switch {
	case reason == nil:
		return sandbox.ErrGone
	case errors.As(reason, &limit):
		return limit
	default:
		return fmt.Errorf("%w: %w", sandbox.ErrGone, reason)
	}
}

// ID is part of the sandbox.Sandbox interface.
func (b *Box) ID() string { return b.start.ID }

// stop ends the vessel. The door is shut first: that alone makes an honest keeper
// end, which is the quickest.
func (b *Box) stop() {
	b.door.Close()
	b.gate.Close()
	b.lasting = b.start.Vessel.Kill()
}

// Close is part of the sandbox.Sandbox interface.
func (b *Box) Close() error {
	b.End(sandbox.ErrGone)
	return errors.Join(b.lasting, b.start.Vessel.Discard())
}
