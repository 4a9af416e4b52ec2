//go:build linux

package gvisor

import (
	"maps"
	"os"
	"reflect"
	"runtime"
	"slices"
	"testing"

	specs "github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"

	"github.com/agent-loop/ralph/internal/sandbox"
	"github.com/agent-loop/ralph/internal/sandbox/layout"
)

func TestRlimits(t *testing.T) {
	const files = 1 << 16
	always := []specs.POSIXRlimit{{Type: "RLIMIT_CORE"}, {Type: "RLIMIT_NOFILE", Hard: files, Soft: files}}
	processes := specs.POSIXRlimit{Type: "RLIMIT_NPROC", Hard: 50, Soft: 50}
	size := specs.POSIXRlimit{Type: "RLIMIT_FSIZE", Hard: 1 << 40, Soft: 1 << 40}
	for name, tt := range map[string]struct {
		limits sandbox.Limits
		more   []specs.POSIXRlimit
	}{
		"none":       {sandbox.Limits{}, nil},
		"others":     {sandbox.Limits{Memory: 1, CPUs: 1, Time: 1}, nil},
		"processes":  {sandbox.Limits{Processes: 50}, []specs.POSIXRlimit{processes}},
		"disk":       {sandbox.Limits{Disk: 1 << 40}, []specs.POSIXRlimit{size}},
		"everything": {sandbox.Limits{Processes: 50, Disk: 1 << 40}, []specs.POSIXRlimit{processes, size}},
	} {
		if got, want := rlimits(tt.limits), append(slices.Clone(always), tt.more...); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

// The host changes the user's mounts too, so gVisor must not cache them.
func TestShareWithHost(t *testing.T) {
	spec := sandbox.Spec{Mounts: []sandbox.Mount{{Source: "/src", Target: "/dst"}, {Source: "/data", Target: "/mnt", ReadOnly: true}}}
	got := shareWithHost(spec, []specs.Mount{
		bindMount("/usr", "/usr", true),
		tmpfsMount(layout.Mount{Target: "/tmp", Size: 1}),
		bindMount("/src", "/dst", false),
		bindMount("/src/.git", "/dst/.git", true),
		bindMount("/srcs", "/dsts", true),
		bindMount("/data", "/mnt", true),
	})
	want := map[string]string{}
	for prefix, source := range map[string]string{"m2": "/src", "m3": "/src/.git", "m5": "/data"} {
		want["dev.gvisor.spec.mount."+prefix+".source"] = source
		want["dev.gvisor.spec.mount."+prefix+".type"] = "bind"
		want["dev.gvisor.spec.mount."+prefix+".share"] = "shared"
	}
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// asOrdinaryUser runs f as somebody who is not root and returns who that is. Root
// becomes another user on one thread alone.
func asOrdinaryUser(t *testing.T, f func()) sandbox.User {
	t.Helper()
	if os.Geteuid() != 0 {
		f()
		return sandbox.User{UID: os.Geteuid(), GID: os.Getegid()}
	}
	const uid = 12345
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		keep := ^uintptr(0)
		_, _, e1 := unix.RawSyscall(unix.SYS_SETRESGID, keep, uintptr(uid), keep)
		_, _, e2 := unix.RawSyscall(unix.SYS_SETRESUID, keep, uintptr(uid), keep)
		if e1 != 0 || e2 != 0 {
			done <- unix.EPERM
			return
		}
		f()
		done <- nil
	}()
	if err := <-done; err != nil {
		t.Skipf("becoming another user: %v", err)
	}
	return sandbox.User{UID: uid, GID: uid}
}

func TestIdentityOfAnOrdinaryUser(t *testing.T) {
	for _, asked := range []sandbox.User{{}, {UID: 7, GID: 8}} {
		var got identity
		outside := asOrdinaryUser(t, func() { got = newIdentity(asked) })
		inside := asked
		if asked.UID == 0 {
			inside = outside
		}
		want := identity{
			guest: inside, first: inside,
			uids: []specs.LinuxIDMapping{{ContainerID: uint32(inside.UID), HostID: uint32(outside.UID), Size: 1}},
			gids: []specs.LinuxIDMapping{{ContainerID: uint32(inside.GID), HostID: uint32(outside.GID), Size: 1}},
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("asked for %v: got %+v, want %+v", asked, got, want)
		}
	}
}

// As root, no id inside may stand for root or anybody else on the host.
func TestIdentityOfRoot(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	for _, asked := range []sandbox.User{{}, {UID: 7, GID: 8}} {
		inside := asked
		if asked.UID == 0 {
			inside = sandbox.User{UID: defaultID, GID: defaultID}
		}
		want := identity{
			root: true, guest: inside, first: sandbox.User{UID: helperID, GID: helperID},
			uids: []specs.LinuxIDMapping{{ContainerID: 0, HostID: sentryHostID, Size: 1}, {ContainerID: uint32(inside.UID), HostID: agentHostID, Size: 1}},
			gids: []specs.LinuxIDMapping{{ContainerID: 0, HostID: sentryHostID, Size: 1}, {ContainerID: uint32(inside.GID), HostID: agentHostID, Size: 1}},
		}
		if got := newIdentity(asked); !reflect.DeepEqual(got, want) {
			t.Errorf("asked for %v: got %+v, want %+v", asked, got, want)
		}
	}
}

func TestMapped(t *testing.T) {
	mount := layout.Mount{Source: "/src", Target: "/dst", User: true, Owner: sandbox.User{UID: 7, GID: 8}}
	plain := bindMount("/src", "/dst", false)
	if got := ociMount(mount, identity{}); !reflect.DeepEqual(got, plain) {
		t.Errorf("an ordinary user's mount became %+v", got)
	}
	got := ociMount(mount, identity{root: true})
	sentry := specs.LinuxIDMapping{ContainerID: sentryHostID, HostID: sentryHostID, Size: 1}
	wantUIDs := []specs.LinuxIDMapping{{ContainerID: 7, HostID: agentHostID, Size: 1}, sentry}
	wantGIDs := []specs.LinuxIDMapping{{ContainerID: 8, HostID: agentHostID, Size: 1}, sentry}
	if !slices.Contains(got.Options, "idmap") || !slices.Equal(got.UIDMappings, wantUIDs) || !slices.Equal(got.GIDMappings, wantGIDs) {
		t.Errorf("root's mount became %+v", got)
	}
	for name, change := range map[string]func(*layout.Mount){
		"what is not the user's": func(m *layout.Mount) { m.User = false },
		"a stand-in":             func(m *layout.Mount) { m.Empty = true },
	} {
		other := mount
		change(&other)
		if got := ociMount(other, identity{root: true}); !reflect.DeepEqual(got, plain) {
			t.Errorf("%s became %+v", name, got)
		}
	}
}

func TestMountOptions(t *testing.T) {
	agent := sandbox.User{UID: 7, GID: 8}
	for _, tt := range []struct {
		mount layout.Mount
		want  []string
	}{
		{layout.Mount{Kind: layout.Bind}, []string{"rbind", "rw", "nosuid", "nodev"}},
		{layout.Mount{Kind: layout.Bind, ReadOnly: true}, []string{"rbind", "ro", "nosuid", "nodev"}},
		{layout.Mount{Kind: layout.Tmpfs, Size: 9, Mode: 0o1777}, []string{"nosuid", "nodev", "size=9", "mode=1777"}},
		{layout.Mount{Kind: layout.Tmpfs, Size: 9, Mode: 0o755, Owner: agent}, []string{"nosuid", "nodev", "size=9", "uid=7", "gid=8", "mode=0755"}},
	} {
		if got := ociMount(tt.mount, identity{}).Options; !slices.Equal(got, tt.want) {
			t.Errorf("%+v: got %q, want %q", tt.mount, got, tt.want)
		}
	}
}
