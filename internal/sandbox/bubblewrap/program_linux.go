package bubblewrap

import (
	"os"
	"os/exec"
	"runtime"
	"syscall"
)

// program is a running bwrap that dies with this process, by whatever signal. It is
// like proc.Attached, but for what can be done on its thread before.
type program struct {
	process *os.Process
	exited  chan struct{}
	state   *os.ProcessState // set before exited is closed
}

// start calls before, which may be nil, and starts the command on the same thread.
// That one serves nothing else and ends with the command: so before may change what
// belongs to a thread alone, such as its mount namespace, and the command inherits
// it. When before fails, nothing is started.
func start(before func() error, cmd *exec.Cmd) (*program, error) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setsid = true               // no terminal's keys reach it
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL // renewed after the change of users
	p := &program{exited: make(chan struct{})}
	started := make(chan error)
	go p.run(before, cmd, started)
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

// run keeps its thread until the end, since the kernel sends the parent-death
// signal when the thread that forked ends. The thread is not unlocked, and so not
// used again.
func (p *program) run(before func() error, cmd *exec.Cmd, started chan<- error) {
	runtime.LockOSThread()
	var err error
	if before != nil {
		err = before()
	}
	if err == nil {
		err = cmd.Start()
	}
	p.process = cmd.Process
	started <- err
	if err != nil {
		return
	}
	_ = cmd.Wait()
	p.state = cmd.ProcessState
	close(p.exited)
}

// PID is bwrap's process number.
func (p *program) PID() int { return p.process.Pid }

// Exited is closed when bwrap has ended.
func (p *program) Exited() <-chan struct{} { return p.exited }

// ExitCode is the code of a bwrap that has exited, or -1 if it was killed or runs.
func (p *program) ExitCode() int {
	select {
	case <-p.exited:
		return p.state.ExitCode()
	default:
		return -1
	}
}

// Kill ends bwrap and waits until it is gone.
func (p *program) Kill() {
	_ = p.process.Kill()
	<-p.exited
}
