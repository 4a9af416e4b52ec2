package gvisor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
	"gvisor.dev/gvisor/pkg/log"
	"gvisor.dev/gvisor/pkg/seccomp"
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
		filterCalls(),
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

// pinCPUs binds every thread of this process to the listed processors. Threads
// and processes started later inherit the binding.
func pinCPUs(list string) error {
	if list == "" {
		return nil
	}
	var set unix.CPUSet
	for field := range strings.SplitSeq(list, ",") {
		cpu, err := strconv.Atoi(field)
		if err != nil {
			return fmt.Errorf("reading the list of processors: %w", err)
		}
		set.Set(cpu)
	}
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return fmt.Errorf("listing threads: %w", err)
	}
	for _, t := range threads {
		tid, err := strconv.Atoi(t.Name())
		if err != nil {
			return fmt.Errorf("listing threads: %w", err)
		}
		if err := unix.SchedSetaffinity(tid, &set); err != nil && !errors.Is(err, unix.ESRCH) {
			return fmt.Errorf("binding to processors %s: %w", list, err)
		}
	}
	return nil
}

// modeArgument is where the calls that make or change a file take its mode.
// gVisor's own filters allow its processes no other such call.
func modeArgument() map[uintptr]int {
	return map[uintptr]int{
		unix.SYS_FCHMOD:    1,
		unix.SYS_FCHMODAT:  2,
		unix.SYS_FCHMODAT2: 2,
		unix.SYS_MKDIRAT:   2,
		unix.SYS_MKNODAT:   2,
		unix.SYS_OPENAT:    3,
	}
}

// filterCalls installs a seccomp filter below gVisor's own, for what those allow
// and the host must not suffer:
//
//   - a setuid or setgid file in the workspace would act with its owner's rights
//     when somebody runs it on the host;
//   - reserving disk takes no time at all, so that no watch could stop it before
//     the disk is full.
func filterCalls() error {
	program := seccomp.Program{
		RuleSets: []seccomp.RuleSet{
			{Rules: setuidModes(), Action: seccomp.ReturnError.Code(uint16(unix.EPERM))},
			{Rules: diskReservation(), Action: seccomp.ReturnError.Code(uint16(unix.EOPNOTSUPP))},
		},
		Options: seccomp.ProgramOptions{DefaultAction: seccomp.Allow, BadArchAction: seccomp.Allow},
	}
	filter, _, err := program.Build()
	if err != nil {
		return fmt.Errorf("building the seccomp filter: %w", err)
	}
	if err := seccomp.SetFilter(filter); err != nil {
		return fmt.Errorf("installing the seccomp filter: %w", err)
	}
	return nil
}

func setuidModes() seccomp.SyscallRules {
	rules := seccomp.NewSyscallRules()
	for call, arg := range modeArgument() {
		rules.Set(call, seccomp.Or{modeWith(call, arg, unix.S_ISUID), modeWith(call, arg, unix.S_ISGID)})
	}
	return rules
}

// diskReservation matches fallocate, except for giving space back, which is how
// gVisor frees the guest's memory. Programs fall back to writing.
func diskReservation() seccomp.SyscallRules {
	return seccomp.NewSyscallRules().Set(unix.SYS_FALLOCATE, seccomp.PerArg{
		seccomp.AnyValue{},
		seccomp.MaskedEqual(unix.FALLOC_FL_PUNCH_HOLE, 0),
	})
}

// modeWith matches a call whose mode, argument number arg, has the bit set.
// openat has a mode only when it may create the file.
func modeWith(call uintptr, arg int, bit uintptr) seccomp.PerArg {
	rule := seccomp.PerArg{seccomp.AnyValue{}, seccomp.AnyValue{}, seccomp.AnyValue{}, seccomp.AnyValue{}}
	if call == unix.SYS_OPENAT {
		rule[2] = seccomp.MaskedEqual(unix.O_CREAT, unix.O_CREAT)
	}
	rule[arg] = seccomp.MaskedEqual(bit, bit)
	return rule
}

// silence drops gVisor's log lines, which would land on our standard error.
type silence struct{}

// Emit is part of gVisor's log.Emitter interface.
func (silence) Emit(int, log.Level, time.Time, string, ...any) {}
