//go:build amd64 || arm64

package callfilter

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// Install filters the calls of all threads of this process and of everything it
// starts from now on. It also sets no_new_privs: setuid programs lend no rights.
//
// What the process itself still has to do with mounts, namespaces or processors
// must be done before. After an error nothing untrusted may be started.
func Install(o Options) error { return install(forSandbox(o)) }

// InstallForFiles installs only the rules that guard the host's files, for a
// sandbox whose own kernel sees to the rest.
func InstallForFiles() error { return install(forFiles()) }

func install(f filter) error {
	code, err := encode(f.program())
	if err != nil {
		return fmt.Errorf("building the seccomp filter: %w", err)
	}
	// no_new_privs belongs to this thread until seccomp hands it to the others.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("giving up new privileges: %w", err)
	}
	program := unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
	thread, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&program)))
	switch {
	case errno != 0:
		return fmt.Errorf("installing the seccomp filter: %w", errno)
	case thread != 0:
		return fmt.Errorf("installing the seccomp filter: thread %d has another one", thread)
	}
	return nil
}

// encode turns a program into what the kernel reads.
func encode(program []bpf.Instruction) ([]unix.SockFilter, error) {
	raw, err := bpf.Assemble(program)
	if err != nil {
		return nil, err
	}
	if len(raw) == 0 || len(raw) > unix.BPF_MAXINSNS {
		return nil, fmt.Errorf("it has %d instructions, and the kernel takes 1 to %d", len(raw), unix.BPF_MAXINSNS)
	}
	code := make([]unix.SockFilter, len(raw))
	for i, r := range raw {
		code[i] = unix.SockFilter{Code: r.Op, Jt: r.Jt, Jf: r.Jf, K: r.K}
	}
	return code, nil
}
