package keeper

import (
	"os"
	"os/signal"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// processes starts commands and collects every process that ends, as the first
// process of a sandbox must: also those whose parents died.
type processes struct {
	mu      sync.Mutex // held from a start until the process is known
	running map[int]chan<- int
	rank    *rank
}

// newProcesses must come before the keeper hides itself, see newRank.
func newProcesses() *processes {
	p := &processes{running: map[int]chan<- int{}, rank: newRank()}
	children := make(chan os.Signal, 1)
	signal.Notify(children, unix.SIGCHLD)
	go func() {
		for range children {
			p.collect()
		}
	}()
	return p
}

// start starts a process; the channel gives its exit code.
func (p *processes) start(program string, args []string, attr *syscall.ProcAttr) (<-chan int, error) {
	exited := make(chan int, 1)
	p.mu.Lock()
	p.rank.offer()
	pid, err := syscall.ForkExec(program, args, attr)
	p.rank.restore()
	if err == nil {
		p.running[pid] = exited
	}
	p.mu.Unlock()
	if err != nil {
		return nil, err
	}
	return exited, nil
}

// collect takes every process that has ended.
func (p *processes) collect() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
		if err == syscall.EINTR {
			continue
		}
		if pid <= 0 || err != nil {
			return
		}
		if exited := p.running[pid]; exited != nil {
			delete(p.running, pid)
			exited <- exitCode(status)
		}
	}
}

func exitCode(status syscall.WaitStatus) int {
	if status.Signaled() {
		return 128 + int(status.Signal())
	}
	return status.ExitStatus()
}
