package bubblewrap

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/agent-loop/ralph/internal/door"
	"github.com/agent-loop/ralph/internal/proc"
	"github.com/agent-loop/ralph/internal/sandbox"
	"github.com/agent-loop/ralph/internal/sandbox/machine"
	"github.com/agent-loop/ralph/internal/sandbox/roster"
)

// command is how a sandbox is started.
type command struct {
	args  []string // bwrap and its arguments
	views *views   // what bwrap finds; nil: what everybody does
}

// record is what other ralphs need to know to end a sandbox.
type record struct {
	PID int `json:"pid"` // of bwrap
}

// maxSaid bounds what is kept of bwrap's words.
const maxSaid = 16 << 10

// vessel is a running bwrap. It is part of keeper.Vessel.
type vessel struct {
	entry *roster.Entry
	bwrap *proc.Attached
	said  *proc.Tail
	first int // a handle of the sandbox's first process; -1: there was none
}

// launch starts bwrap and returns the way to the keeper.
func launch(entry *roster.Entry, c command) (*vessel, net.Conn, error) {
	host, guest, err := door.Pair()
	if err != nil {
		return nil, nil, fmt.Errorf("starting the sandbox: %w", err)
	}
	defer guest.Close()
	conn, err := net.FileConn(host)
	host.Close()
	if err != nil {
		return nil, nil, fmt.Errorf("starting the sandbox: %w", err)
	}
	v, err := startVessel(entry, c, guest)
	if err != nil {
		conn.Close()
		return nil, nil, err
	}
	return v, conn, nil
}

func startVessel(entry *roster.Entry, c command, guest *os.File) (*vessel, error) {
	info, told, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("starting the sandbox: %w", err)
	}
	defer info.Close()
	defer told.Close()
	v := &vessel{entry: entry, said: proc.NewTail(maxSaid), first: -1}
	cmd, before := c.prepare()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = guest, guest, v.said
	cmd.Env, cmd.Dir, cmd.WaitDelay = []string{}, "/", time.Second
	cmd.ExtraFiles = []*os.File{told}
	if v.bwrap, err = proc.AttachAfter(before, cmd); err != nil {
		return nil, fmt.Errorf("starting the sandbox: %w", err)
	}
	told.Close()
	v.first = firstProcess(info)
	return v, nil
}

// prepare returns bwrap, for root as nobody, and what has to be done before.
func (c command) prepare() (cmd *exec.Cmd, before func() error) {
	cmd = &exec.Cmd{Path: c.args[0], Args: c.args}
	if c.views == nil {
		return cmd, nil
	}
	cmd.SysProcAttr = asNobody()
	return cmd, c.views.enter
}

// firstProcess is a handle of the sandbox's first process, of which bwrap tells
// before it starts it. Without one bwrap has failed, and says why.
func firstProcess(info *os.File) int {
	var told struct {
		PID int `json:"child-pid"`
	}
	if json.NewDecoder(info).Decode(&told) != nil || told.PID <= 0 {
		return -1
	}
	handle, err := unix.PidfdOpen(told.PID, 0)
	if err != nil {
		return -1
	}
	return handle
}

// Exited is part of keeper.Vessel.
func (v *vessel) Exited() <-chan struct{} { return v.bwrap.Exited() }

// Kill is part of keeper.Vessel. The kernel ends the first process when bwrap
// dies, and with it all the others; when it is gone, so are they.
func (v *vessel) Kill() error {
	v.bwrap.Kill()
	v.entry.Release()
	if v.first < 0 {
		return nil
	}
	_ = unix.PidfdSendSignal(v.first, unix.SIGKILL, nil, 0)
	err := proc.AwaitExit(v.first)
	return errors.Join(err, unix.Close(v.first))
}

// Discard is part of keeper.Vessel.
func (v *vessel) Discard() error { return v.entry.Remove() }

// Reason is part of keeper.Vessel.
func (v *vessel) Reason() error {
	words := v.said.LastLine()
	if words == "" {
		return endedBy(v.bwrap.ExitCode())
	}
	for _, sign := range []string{"creating new namespace failed", "no permissions to creat", "setting up uid map", "user namespace"} {
		if strings.Contains(strings.ToLower(words), sign) {
			reason, fix := machine.ExplainNamespaceError(unix.EPERM)
			return &sandbox.UnavailableError{Engine: Name, Reason: reason, Fix: fix}
		}
	}
	return errors.New(strings.TrimPrefix(words, "bwrap: "))
}

// endedBy is what the exit code of a bwrap that said nothing tells.
func endedBy(code int) error {
	switch code {
	case -1:
		return errors.New("bwrap was killed")
	case 128 + int(unix.SIGKILL):
		return errors.New("its first process was killed, perhaps by the kernel for want of memory")
	}
	return nil
}

// killOther ends another ralph's sandbox, which names its folder in its arguments.
func killOther(r roster.Record) error {
	var data record
	if r.Decode(&data) != nil {
		return nil //nolint:nilerr // none was started yet
	}
	return proc.KillOther(data.PID, func(args []string) bool {
		return slices.ContainsFunc(args, func(arg string) bool { return strings.Contains(arg, "/"+r.ID+"/") })
	})
}
