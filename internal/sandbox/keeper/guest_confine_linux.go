package keeper

import (
	"fmt"
	"os"
	"os/signal"

	"golang.org/x/sys/unix"

	"github.com/agent-loop/ralph/internal/sandbox/callfilter"
	"github.com/agent-loop/ralph/internal/sandbox/machine"
	"github.com/agent-loop/ralph/internal/threads"
)

// spareThreads is how many threads the keeper has made for when the sandbox is
// full of processes.
const spareThreads = 24

// protect makes the keeper proof against the programs it is going to start, who
// are the same user: they can neither look into it nor make it end.
func protect() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("hiding the keeper: %w", err)
	}
	// The kernel keeps from process 1 only signals that it has no handler for, and
	// Go has handlers that end the program. Being notified takes their place; to
	// ignore signals would make every command ignore them.
	dropped := make(chan os.Signal, 1)
	signal.Notify(dropped)
	go func() {
		for range dropped { //nolint:revive // there is nothing to do
		}
	}()
	threads.Reserve(spareThreads)
	return nil
}

// confine sets what everything that is started inherits. The filter comes last:
// it would be in the way of the others.
func confine(s Settings) error {
	const openFiles = 1 << 16
	limits := []struct {
		what  string
		which int
		value uint64
		set   bool
	}{
		{"the size of core files", unix.RLIMIT_CORE, 0, true},
		{"the size of files", unix.RLIMIT_FSIZE, uint64(s.FileSize), s.FileSize > 0},
		{"the number of processes", unix.RLIMIT_NPROC, uint64(s.Processes + spareThreads), s.Processes > 0},
		{"the number of open files", unix.RLIMIT_NOFILE, min(openFiles, hardLimit(unix.RLIMIT_NOFILE)), true},
	}
	for _, l := range limits {
		if !l.set {
			continue
		}
		if err := unix.Setrlimit(l.which, &unix.Rlimit{Cur: l.value, Max: l.value}); err != nil {
			return fmt.Errorf("limiting %s: %w", l.what, err)
		}
	}
	if err := machine.PinCPUs(s.CPUs); err != nil {
		return err
	}
	return callfilter.Install(callfilter.Options{UnixSockets: s.UnixSockets, Kernel: !s.OwnKernel})
}

func hardLimit(which int) uint64 {
	var limit unix.Rlimit
	if unix.Getrlimit(which, &limit) != nil {
		return 0
	}
	return limit.Max
}
