package bubblewrap

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/agent-loop/ralph/internal/proc"
	"github.com/agent-loop/ralph/internal/sandbox"
	"github.com/agent-loop/ralph/internal/sandbox/keeper"
	"github.com/agent-loop/ralph/internal/sandbox/layout"
	"github.com/agent-loop/ralph/internal/sandbox/machine"
)

// Oldest bwrap that has all the options we use.
const oldestMajor, oldestMinor = 0, 8

// Probe is part of the sandbox.Engine interface.
func (e *Engine) Probe(ctx context.Context) (sandbox.Info, error) {
	self, err := machine.Self(e.binary)
	if err == nil {
		err = machine.CheckStatic(Name, self)
	}
	if err != nil {
		return sandbox.Info{}, err
	}
	version, err := tryOut(ctx)
	if err != nil {
		return sandbox.Info{}, err
	}
	return sandbox.Info{
		Engine:         Name,
		Version:        version,
		Boundary:       "namespaces and a system call filter (bubblewrap)",
		Rootless:       os.Geteuid() != 0,
		Networks:       []sandbox.Network{sandbox.NetworkNone, sandbox.NetworkGate},
		Helper:         layout.Helper,
		Isolated:       true,
		ProtectedPaths: true,
		Rootfs:         true,
		Terminal:       true,
		LimitMemory:    true,
		LimitCPUs:      true,
		LimitProcesses: true,
		LimitDisk:      true,
		OwnFiles:       true,
		Lacks:          []string{keeper.LacksKernel, keeper.LacksLimits, keeper.LacksSockets},
	}, nil
}

// tryOut makes a sandbox of nothing but bwrap, which tells its version in it: what
// an administrator may have switched off is found out by trying.
func tryOut(ctx context.Context) (version string, err error) {
	program, err := findProgram()
	if err != nil {
		return "", err
	}
	said := proc.NewTail(maxSaid)
	cmd := exec.CommandContext(ctx, program, "--unshare-user", "--unshare-pid", "--unshare-net", "--ro-bind", "/", "/", "--", program, "--version")
	cmd.Env, cmd.Dir, cmd.Stderr = []string{}, "/", said
	if os.Geteuid() == 0 {
		cmd.SysProcAttr = asNobody()
	}
	out, err := cmd.Output()
	if err != nil {
		return "", unavailable(ctx, said.LastLine(), err)
	}
	return checkVersion(string(out))
}

func unavailable(ctx context.Context, words string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if strings.Contains(words, "amespace") || strings.Contains(words, "uid map") {
		reason, fix := machine.ExplainNamespaceError(unix.EPERM)
		return &sandbox.UnavailableError{Engine: Name, Reason: reason, Fix: fix}
	}
	return &sandbox.UnavailableError{Engine: Name, Reason: fmt.Sprintf("bwrap does not run: %s (%v)", words, err), Fix: "see if bwrap --ro-bind / / true works, or use another engine"}
}

func checkVersion(printed string) (string, error) {
	version := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(printed), "bubblewrap"))
	var major, minor int
	if _, err := fmt.Sscanf(version, "%d.%d", &major, &minor); err != nil {
		return "", &sandbox.UnavailableError{Engine: Name, Reason: fmt.Sprintf("bwrap gives %.40q as its version", version), Fix: "install bubblewrap 0.8 or later"}
	}
	if major < oldestMajor || major == oldestMajor && minor < oldestMinor {
		return "", &sandbox.UnavailableError{Engine: Name, Reason: "bwrap " + version + " is too old", Fix: "install bubblewrap 0.8 or later"}
	}
	return version, nil
}

// findProgram finds bwrap where the system keeps its programs, and only there: a
// file of that name in a project must not be what builds the boundary.
func findProgram() (string, error) {
	for _, dir := range []string{"/usr/bin", "/bin", "/usr/local/bin", "/run/current-system/sw/bin"} {
		path := filepath.Join(dir, "bwrap")
		if info, err := os.Stat(path); err == nil && info.Mode()&0o111 != 0 {
			return path, nil
		} else if err != nil && !errors.Is(err, os.ErrNotExist) {
			return "", fmt.Errorf("looking for bwrap: %w", err)
		}
	}
	return "", &sandbox.UnavailableError{Engine: Name, Reason: "bwrap is not installed", Fix: "apt install bubblewrap, or dnf install bubblewrap"}
}
