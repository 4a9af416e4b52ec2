package probe

import (
	"errors"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

func socketProbes() []Probe {
	return []Probe{
		{"docker-socket", "connects to the sockets of container engines, which are root on the host", Network, ways(dockerSocket)},
		{"agent-socket", "connects to key agents, message buses, displays and name services of the host", Network, ways(agentSocket)},
		{"workspace-socket", "connects to a socket of the host that lies in the workspace", Network, ways(workspaceSocket)},
		{"abstract-socket", "connects to an abstract socket of the host, which no file system hides", Network, ways(abstractSocket)},
	}
}

func dockerSocket(f Facts) []way {
	return eachPath("connect to", connectUnix, append(expand(
		"/var/run/docker.sock", "/run/docker.sock", "/run/user/*/docker.sock", "/run/podman/podman.sock",
		"/run/user/*/podman/podman.sock", "/run/containerd/containerd.sock", "/run/crio/crio.sock",
		"/run/buildkit/buildkitd.sock", "/var/run/docker/containerd/containerd.sock", "/home/*/.docker/run/docker.sock"),
		f.DockerSocket)...)
}

func agentSocket(Facts) []way {
	return eachPath("connect to", connectUnix, append(expand(
		"/tmp/ssh-*/agent.*", "/run/user/*/keyring/*", "/run/user/*/gnupg/S.*", "/run/user/*/bus", "/run/user/*/wayland-*",
		"/run/dbus/system_bus_socket", "/run/systemd/private", "/run/systemd/notify", "/run/systemd/journal/stdout",
		"/run/systemd/resolve/io.systemd.Resolve", "/run/nscd/socket", "/var/run/nscd/socket", "/tmp/.X11-unix/X*",
		"/dev/log", "/run/snapd.socket", "/run/libvirt/libvirt-sock", "/run/acpid.socket", "/run/uuidd/request"),
		os.Getenv("SSH_AUTH_SOCK"))...)
}

// expand keeps a pattern that matches nothing as the path it would be.
func expand(patterns ...string) []string {
	var list []string
	for _, p := range patterns {
		matches, _ := filepath.Glob(p) // the patterns are well formed
		if len(matches) == 0 {
			matches = []string{p}
		}
		list = append(list, matches...)
	}
	return list
}

func workspaceSocket(f Facts) []way { return eachPath("connect to", connectUnix, f.HostUnixSocket) }

func abstractSocket(f Facts) []way {
	if f.AbstractSocket == "" {
		return nil
	}
	return eachPath("connect to", connectUnix, "@"+f.AbstractSocket)
}

// connectUnix works when somebody listens there. A name that starts with @ is
// an abstract one.
func connectUnix(path string) error {
	var refusal error
	for _, kind := range []int{unix.SOCK_STREAM, unix.SOCK_SEQPACKET, unix.SOCK_DGRAM} {
		err := connect(unix.AF_UNIX, kind, 0, &unix.SockaddrUnix{Name: path})
		if err == nil {
			return nil
		}
		if refusal == nil {
			refusal = err
		}
	}
	return refusal
}

// errTimeout means that a connection was neither made nor refused.
var errTimeout = errors.New("no answer")

// connectTimeout bounds an attempt to connect.
const connectTimeout = 1500 * time.Millisecond

func connect(family, kind, protocol int, to unix.Sockaddr) error {
	fd, err := dial(family, kind, protocol, to)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

// dial connects with the plain system calls, so that the error is the kernel's
// own word.
func dial(family, kind, protocol int, to unix.Sockaddr) (fd int, err error) {
	fd, err = unix.Socket(family, kind|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, protocol)
	if err != nil {
		return -1, starved(err)
	}
	if err = unix.Connect(fd, to); errors.Is(err, unix.EINPROGRESS) {
		err = waitConnected(fd)
	}
	if err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

func waitConnected(fd int) error {
	if !ready(fd, unix.POLLOUT) {
		return errTimeout
	}
	code, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ERROR)
	if err != nil {
		return notTried(err)
	}
	return errno(unix.Errno(code))
}

// ready waits until the descriptor can be read from or written to.
func ready(fd int, events int16) bool {
	deadline := time.Now().Add(connectTimeout)
	for {
		left := time.Until(deadline)
		if left <= 0 {
			return false
		}
		set := []unix.PollFd{{Fd: int32(fd), Events: events}}
		n, err := unix.Poll(set, int(left.Milliseconds())+1)
		if err != unix.EINTR {
			return n > 0
		}
	}
}
