//go:build linux

package gvisor

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"testing"

	specs "github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"

	"github.com/agent-loop/ralph/internal/sandbox"
)

func TestInsideOther(t *testing.T) {
	for _, tt := range []struct {
		target string
		others []string
		want   bool
	}{
		{"/w/data", []string{"/w"}, true},
		{"/w/a/b", []string{"/x", "/w/a"}, true},
		{"/w", []string{"/w/data"}, false}, // it holds the other one
		{"/workspace", []string{"/w"}, false},
		{"/w", nil, false},
	} {
		m := sandbox.Mount{Target: tt.target}
		spec := sandbox.Spec{Mounts: []sandbox.Mount{m}}
		for _, other := range tt.others {
			spec.Mounts = append(spec.Mounts, sandbox.Mount{Target: other})
		}
		if got := insideOther(m, spec); got != tt.want {
			t.Errorf("%s in %q: %v", tt.target, tt.others, got)
		}
	}
}

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
		tmpfsMount("/tmp", 1),
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

// Every folder above a protected path is a mount of its own, once, before what
// lies in it.
func TestUserMountsPinTheWay(t *testing.T) {
	source := t.TempDir()
	m := sandbox.Mount{Source: source, Target: "/w", Protect: []string{".git", "a/b/.git", "a/c"}}
	k, err := newSkeleton(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	mounts, err := k.userMounts(m, sandbox.Spec{Mounts: []sandbox.Mount{m}}, identity{})
	if err != nil {
		t.Fatal(err)
	}
	var got [][2]string
	for _, m := range mounts {
		if m.Source != filepath.Join(source, m.Destination[len("/w"):]) {
			t.Errorf("%s comes from %s", m.Destination, m.Source)
		}
		got = append(got, [2]string{m.Destination, m.Options[1]})
	}
	want := [][2]string{{"/w", "rw"}, {"/w/.git", "ro"}, {"/w/a", "rw"}, {"/w/a/b", "rw"}, {"/w/a/b/.git", "ro"}, {"/w/a/c", "ro"}}
	if !slices.Equal(got, want) {
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
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	plain := bindMount("/src", "/dst", false)
	if got := (identity{}).mapped(plain, info); !reflect.DeepEqual(got, plain) {
		t.Errorf("an ordinary user's mount became %+v", got)
	}
	got := identity{root: true}.mapped(plain, info)
	owner, group := uint32(os.Geteuid()), uint32(os.Getegid())
	sentry := specs.LinuxIDMapping{ContainerID: sentryHostID, HostID: sentryHostID, Size: 1}
	wantUIDs := []specs.LinuxIDMapping{{ContainerID: owner, HostID: agentHostID, Size: 1}, sentry}
	wantGIDs := []specs.LinuxIDMapping{{ContainerID: group, HostID: agentHostID, Size: 1}, sentry}
	if !slices.Contains(got.Options, "idmap") || !slices.Equal(got.UIDMappings, wantUIDs) || !slices.Equal(got.GIDMappings, wantGIDs) {
		t.Errorf("root's mount became %+v", got)
	}
}

// A link in the root file system does not lead a write to the host's own files.
func TestSkeletonStaysInside(t *testing.T) {
	precious := filepath.Join(t.TempDir(), "precious")
	if err := os.WriteFile(precious, []byte("kept"), 0o644); err != nil {
		t.Fatal(err)
	}
	k, err := newSkeleton(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(k.symlink(precious, "/file"), k.symlink(filepath.Dir(precious), "/folder")); err != nil {
		t.Fatal(err)
	}
	for _, target := range []string{"/file", "/folder/precious", "/folder/new"} {
		_ = k.mountPoint(target, false)
	}
	_ = k.mountPoint("/folder/new", true)
	if data, err := os.ReadFile(precious); err != nil || string(data) != "kept" {
		t.Errorf("the host's file holds %q, %v", data, err)
	}
	if left, _ := os.ReadDir(filepath.Dir(precious)); len(left) != 1 {
		t.Errorf("the host's folder holds %v", left)
	}
}
