package bubblewrap

import (
	"fmt"
	"strconv"

	"github.com/agent-loop/ralph/internal/sandbox"
	"github.com/agent-loop/ralph/internal/sandbox/keeper"
	"github.com/agent-loop/ralph/internal/sandbox/layout"
)

// infoFD is where bwrap tells the number of the sandbox's first process.
const infoFD = 3

// unlimitedShm is what shared memory may hold when memory is not limited.
const unlimitedShm = 1 << 30

// arguments is bwrap's command line. The order matters: each mount lies on those
// before it.
func arguments(root string, ids identity, proc []string, mounts []layout.Mount, shm int64) []string {
	args := []string{
		"--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try",
		"--uid", strconv.Itoa(ids.inside.UID), "--gid", strconv.Itoa(ids.inside.GID),
		"--hostname", layout.Hostname,
		"--cap-drop", "ALL",
		"--new-session",     // no terminal of ours
		"--die-with-parent", // nor a life without us
		"--as-pid-1",        // the keeper collects what dies
		"--clearenv",
		"--info-fd", strconv.Itoa(infoFD),
		"--ro-bind", root, "/",
		"--proc", "/proc",
		"--dev", "/dev",
		"--perms", "1777", "--size", strconv.FormatInt(shm, 10), "--tmpfs", "/dev/shm",
		"--remount-ro", "/dev",
	}
	args = append(args, proc...)
	for _, m := range mounts {
		args = append(args, mountArguments(m)...)
	}
	return append(args, "--chdir", "/", "--", keeper.Path, keeper.Argument)
}

func mountArguments(m layout.Mount) []string {
	switch {
	case m.Kind == layout.Tmpfs:
		return []string{"--perms", fmt.Sprintf("%04o", m.Mode), "--size", strconv.FormatInt(m.Size, 10), "--tmpfs", m.Target}
	case m.ReadOnly:
		return []string{"--ro-bind", m.Source, m.Target}
	default:
		return []string{"--bind", m.Source, m.Target}
	}
}

func tmpSize(spec sandbox.Spec) int64 {
	if spec.Limits.Memory > 0 {
		return spec.Limits.Memory
	}
	return unlimitedShm
}
