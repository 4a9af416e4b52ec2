package gvisor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"gvisor.dev/gvisor/pkg/sentry/control"
	"gvisor.dev/gvisor/pkg/sentry/kernel/auth"

	"github.com/agent-loop/ralph/internal/door"
	"github.com/agent-loop/ralph/internal/sandbox"
)

// box is one running sandbox.
type box struct {
	id     string
	dir    string
	spec   sandbox.Spec
	ids    identity
	binary string
	lock   *os.File // tells other ralphs that this sandbox is alive

	launcher  *launcher
	processes *processes // nil until it runs
	control   *sentryControl

	once    sync.Once
	ending  atomic.Bool
	lasting error         // processes that would not end
	ended   chan struct{} // closed when the sandbox is over
	cause   error         // why; set before ended is closed
}

var _ sandbox.Sandbox = (*box)(nil)

// ID is part of the sandbox.Sandbox interface.
func (b *box) ID() string { return b.id }

// start brings the sandbox up and returns when commands can run.
func (b *box) start(ctx context.Context) error {
	var err error
	if b.control, err = connect(b.dir, b.id); err != nil {
		return err
	}
	if b.launcher, err = launch(b.binary, b.dir, b.id, chooseCPUs(b.spec.Limits.CPUs)); err != nil {
		b.control.close()
		return err
	}
	err = writeRecord(b.dir, record{Status: b.status(), Launcher: b.launcher.process.Pid})
	if err == nil {
		err = b.launcher.await(ctx, b.control.running)
	}
	if err == nil {
		err = b.supervise()
	}
	if err == nil && b.spec.Network == sandbox.NetworkGate {
		err = b.openDoor(ctx)
	}
	if err != nil {
		b.end(sandbox.ErrGone)
	}
	return err
}

// supervise starts what accompanies the sandbox to its end.
func (b *box) supervise() error {
	var err error
	if b.processes, err = findProcesses(b.dir, b.id); err != nil {
		return err
	}
	if err := b.watch(b.processes); err != nil {
		return err
	}
	go func() {
		<-b.launcher.exited
		b.end(sandbox.ErrGone)
	}()
	if limit := b.spec.Limits.Time; limit > 0 {
		timer := time.AfterFunc(limit, func() { b.end(&sandbox.LimitError{Limit: "time", Value: limit.String()}) })
		go func() {
			<-b.ended
			timer.Stop()
		}()
	}
	return nil
}

// openDoor starts the process inside that guards the way out, and the gate
// behind it.
func (b *box) openDoor(ctx context.Context) error {
	host, guest, err := door.Pair()
	if err != nil {
		return fmt.Errorf("making the door: %w", err)
	}
	defer guest.Close()
	listener, err := door.NewListener(host)
	if err != nil {
		host.Close()
		return fmt.Errorf("making the door: %w", err)
	}
	go func() {
		<-b.ended
		listener.Close()
	}()
	if err := b.startGuard(guest); err != nil {
		return fmt.Errorf("starting the door: %w", err)
	}
	select {
	case <-listener.Ready():
		go b.serveGate(listener)
		return nil
	case <-b.ended:
		return fmt.Errorf("starting the door: %w", b.cause)
	case <-ctx.Done():
		return fmt.Errorf("starting the door: %w", ctx.Err())
	}
}

// startGuard starts the process that holds the guest's end of the door.
func (b *box) startGuard(end *os.File) error {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	_, err = b.control.execute(&control.ExecArgs{
		Argv:             []string{doorPath},
		WorkingDirectory: "/",
		KUID:             helperID,
		KGID:             helperID,
		Capabilities:     &auth.TaskCapabilities{},
		NoNewPrivileges:  true,
		FilePayload:      control.NewFilePayload(map[int]*os.File{0: null, 1: null, 2: null, doorFD: end}, nil),
	})
	return err
}

// serveGate runs the gate behind the door. A sandbox whose gate has failed is of
// no use and is ended; one that is ending anyway shuts its door first.
func (b *box) serveGate(listener net.Listener) {
	err := b.spec.Gate(listener)
	if err == nil || errors.Is(err, net.ErrClosed) {
		return
	}
	b.endUnlessOver(fmt.Errorf("the gate failed: %w", err))
}

// end stops the sandbox. The first cause is the one that is reported.
func (b *box) end(cause error) {
	b.once.Do(func() {
		b.cause = cause
		b.ending.Store(true)
		b.launcher.kill()
		if b.processes != nil {
			b.lasting = b.processes.awaitEnd()
		}
		b.control.close()
		b.lock.Close()
		close(b.ended)
	})
	<-b.ended
}

// Close is part of the sandbox.Sandbox interface.
func (b *box) Close() error {
	b.end(sandbox.ErrGone)
	return errors.Join(b.lasting, removeDir(b.dir))
}
