package gvisor

import (
	"context"
	"errors"
	"fmt"
	"os"

	"gvisor.dev/gvisor/pkg/sentry/control"
	"gvisor.dev/gvisor/pkg/sentry/kernel/auth"

	"github.com/agent-loop/ralph/internal/door"
	"github.com/agent-loop/ralph/internal/sandbox"
	"github.com/agent-loop/ralph/internal/sandbox/lifetime"
	"github.com/agent-loop/ralph/internal/sandbox/machine"
	"github.com/agent-loop/ralph/internal/sandbox/roster"
)

// box is one running sandbox.
type box struct {
	entry  *roster.Entry
	spec   sandbox.Spec
	ids    identity
	binary string

	launcher  *launcher
	processes *processes // nil until it runs
	control   *sentryControl

	*lifetime.Lifetime
	lasting error // processes that would not end
}

var _ sandbox.Sandbox = (*box)(nil)

// ID is part of the sandbox.Sandbox interface.
func (b *box) ID() string { return b.entry.ID }

// start brings the sandbox up and returns when commands can run.
func (b *box) start(ctx context.Context) error {
	var err error
	if b.control, err = connect(b.entry.Dir, b.entry.ID); err != nil {
		return err
	}
	if b.launcher, err = launch(b.binary, b.entry.Dir, b.entry.ID, machine.ChooseCPUs(b.spec.Limits.CPUs)); err != nil {
		b.control.close()
		return err
	}
	err = b.entry.Write(b.entry.Status(b.spec), processRecord{Launcher: b.launcher.PID()})
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
		b.End(sandbox.ErrGone)
	}
	return err
}

// supervise starts what accompanies the sandbox to its end.
func (b *box) supervise() error {
	var err error
	if b.processes, err = findProcesses(b.entry.Dir, b.entry.ID); err != nil {
		return err
	}
	if err := b.watch(b.processes); err != nil {
		return err
	}
	go func() {
		<-b.launcher.Exited()
		b.End(sandbox.ErrGone)
	}()
	b.EndAfter(b.spec.Limits.Time)
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
		<-b.Ended()
		listener.Close()
	}()
	if err := b.startGuard(guest); err != nil {
		return fmt.Errorf("starting the door: %w", err)
	}
	select {
	case <-listener.Ready():
		go b.Serve(b.spec.Gate, listener)
		return nil
	case <-b.Ended():
		return fmt.Errorf("starting the door: %w", b.Cause())
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

// stop ends the sandbox's processes.
func (b *box) stop() {
	b.launcher.Kill()
	if b.processes != nil {
		b.lasting = b.processes.awaitEnd()
	}
	b.control.close()
	b.entry.Release()
}

// Close is part of the sandbox.Sandbox interface.
func (b *box) Close() error {
	b.End(sandbox.ErrGone)
	return errors.Join(b.lasting, b.entry.Remove())
}
