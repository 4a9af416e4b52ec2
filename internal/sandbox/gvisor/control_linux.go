package gvisor

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
	"gvisor.dev/gvisor/pkg/control/client"
	"gvisor.dev/gvisor/pkg/sentry/control"
	"gvisor.dev/gvisor/runsc/boot"
)

// sentryControl speaks to the sentry over its control socket, on the host's side. Exit
// codes come from the sentry, so no process inside can make one up.
type sentryControl struct {
	id  string
	dir *os.File // gVisor's state folder; reached through it, no path is too long for a socket
}

func connect(dir, id string) (*sentryControl, error) {
	f, err := os.OpenFile(runscDir(dir), unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, fmt.Errorf("opening the control socket: %w", err)
	}
	return &sentryControl{id: id, dir: f}, nil
}

func (c *sentryControl) call(method string, arg, result any) error {
	socket := fmt.Sprintf("runsc-%s.sock", c.id)
	conn, err := client.ConnectTo(filepath.Join(fmt.Sprintf("/proc/self/fd/%d", c.dir.Fd()), socket))
	if err != nil {
		return fmt.Errorf("connecting to the sandbox: %w", err)
	}
	defer conn.Close()
	return conn.Call(method, arg, result)
}

// running reports whether the guest's first process has been started.
func (c *sentryControl) running() bool {
	var state boot.ContainerRuntimeState
	err := c.call(boot.ContMgrContainerRuntimeState, &c.id, &state)
	return err == nil && state == boot.RuntimeStateRunning
}

// execute starts a process and returns its number inside.
func (c *sentryControl) execute(args *control.ExecArgs) (int32, error) {
	args.ContainerID = c.id
	var pid int32
	err := c.call(boot.ContMgrExecuteAsync, args, &pid)
	return pid, err
}

// wait waits for a process and returns its exit code as a shell would.
func (c *sentryControl) wait(pid int32) (int, error) {
	var status unix.WaitStatus
	if err := c.call(boot.ContMgrWaitPID, &boot.WaitPIDArgs{PID: pid, CID: c.id}, &status); err != nil {
		return 0, err
	}
	if status.Signaled() {
		return 128 + int(status.Signal()), nil
	}
	return status.ExitStatus(), nil
}

// signalForeground signals the processes that a terminal's keys go to, which is the
// terminal that a process was started with.
func (c *sentryControl) signalForeground(pid int32, signal unix.Signal) error {
	return c.call(boot.ContMgrSignal, &boot.SignalArgs{
		CID: c.id, PID: pid, Signo: int32(signal), Mode: boot.DeliverToForegroundProcessGroup,
	}, nil)
}

func (c *sentryControl) close() { c.dir.Close() }
