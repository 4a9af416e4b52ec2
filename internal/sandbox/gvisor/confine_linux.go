package gvisor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"
	"gvisor.dev/gvisor/pkg/log"

	"github.com/agent-loop/ralph/internal/sandbox/callfilter"
	"github.com/agent-loop/ralph/internal/sandbox/machine"
)

// cpusVar tells the launcher which processors the sandbox may use. The
// launcher's environment ends there: gVisor passes none on.
const cpusVar = "RALPH_CPUS"

// confineLauncher sets, on the process that becomes gVisor's launcher, what all
// of the sandbox's processes inherit.
func confineLauncher() error {
	log.SetTarget(silence{})
	return errors.Join(
		raiseFileLimit(),
		dieFirst(),
		pinCPUs(os.Getenv(cpusVar)),
		// Below gVisor's own filters, for what those allow and the host must not
		// suffer: setuid files in the workspace, and disk reserved in no time.
		callfilter.InstallForFiles(),
	)
}

// raiseFileLimit gives the sentry all descriptors it may have: it holds one for
// every file that is open inside.
func raiseFileLimit() error {
	var lim unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &lim); err != nil {
		return fmt.Errorf("reading the open-file limit: %w", err)
	}
	lim.Cur = lim.Max
	return unix.Setrlimit(unix.RLIMIT_NOFILE, &lim)
}

// dieFirst makes the sandbox the kernel's first choice when the machine runs
// out of memory: the host's own processes must survive it.
func dieFirst() error {
	err := os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0)
	if err != nil && !errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("offering itself to the OOM killer: %w", err)
	}
	return nil
}

// pinCPUs binds this process, and with it the whole sandbox, to listed processors.
func pinCPUs(list string) error {
	cpus, err := machine.ParseCPUs(list)
	if err != nil {
		return err
	}
	return machine.PinCPUs(cpus)
}

// silence drops gVisor's log lines, which would land on our standard error.
type silence struct{}

// Emit is part of gVisor's log.Emitter interface.
func (silence) Emit(int, log.Level, time.Time, string, ...any) {}
