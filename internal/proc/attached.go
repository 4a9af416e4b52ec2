package proc

import (
	"os"
	"os/exec"
	"runtime"
)

// Attached is a running program that dies with this process, by whatever signal.
type Attached struct {
	process *os.Process
	exited  chan struct{}
	state   *os.ProcessState // set before exited is closed
}

// Attach starts a program whose life is tied to ours, where the system can do
// that. The rest is as cmd says.
func Attach(cmd *exec.Cmd) (*Attached, error) { return AttachAfter(nil, cmd) }

// AttachAfter is Attach with something to be done before, on the same thread. That
// one serves nothing else and ends with the program: so before may change what
// belongs to a thread alone, such as its mount namespace, and the program inherits
// it. When before fails, nothing is started.
func AttachAfter(before func() error, cmd *exec.Cmd) (*Attached, error) {
	a := &Attached{exited: make(chan struct{})}
	tie(cmd)
	started := make(chan error)
	go a.run(before, cmd, started)
	if err := <-started; err != nil {
		return nil, err
	}
	return a, nil
}

// run keeps its thread until the end: the kernel sends the parent-death signal when
// the thread that forked ends, not when the process does. The thread is not
// unlocked, and so not used again.
func (a *Attached) run(before func() error, cmd *exec.Cmd, started chan<- error) {
	runtime.LockOSThread()
	var err error
	if before != nil {
		err = before()
	}
	if err == nil {
		err = cmd.Start()
	}
	a.process = cmd.Process
	started <- err
	if err != nil {
		return
	}
	_ = cmd.Wait()
	a.state = cmd.ProcessState
	close(a.exited)
}

// PID is the program's process number.
func (a *Attached) PID() int { return a.process.Pid }

// Exited is closed when the program has ended.
func (a *Attached) Exited() <-chan struct{} { return a.exited }

// ExitCode is the code of a program that has exited; -1 for one that was killed
// or has not.
func (a *Attached) ExitCode() int {
	select {
	case <-a.exited:
		return a.state.ExitCode()
	default:
		return -1
	}
}

// Kill ends the program and waits until it is gone.
func (a *Attached) Kill() {
	_ = a.process.Kill()
	<-a.exited
}
