package proc

import (
	"os"
	"os/exec"
	"runtime"
	"sync"
)

// Attached is a running program that dies with this process, by whatever signal.
type Attached struct {
	process *os.Process
	exited  chan struct{}

	mu    sync.Mutex
	state *os.ProcessState
}

// Attach starts a program whose life is tied to ours, where the system can do
// that. The rest is as cmd says.
func Attach(cmd *exec.Cmd) (*Attached, error) {
	a := &Attached{exited: make(chan struct{})}
	tie(cmd)
	started := make(chan error)
	go a.run(cmd, started)
	if err := <-started; err != nil {
		return nil, err
	}
	return a, nil
}

// run starts the program and waits for it on one locked thread: the kernel sends
// the parent-death signal when the thread that forked ends, not when the process
// does.
func (a *Attached) run(cmd *exec.Cmd, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := cmd.Start(); err != nil {
		started <- err
		return
	}
	a.process = cmd.Process
	started <- nil
	_ = cmd.Wait()
	a.mu.Lock()
	a.state = cmd.ProcessState
	a.mu.Unlock()
	close(a.exited)
}

// PID is the program's process number.
func (a *Attached) PID() int { return a.process.Pid }

// Exited is closed when the program has ended.
func (a *Attached) Exited() <-chan struct{} { return a.exited }

// ExitCode is the code of a program that has exited; -1 for one that was killed
// or has not.
func (a *Attached) ExitCode() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.state.ExitCode()
}

// Kill ends the program and waits until it is gone.
func (a *Attached) Kill() {
	_ = a.process.Kill()
	<-a.exited
}
