package layout

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/agent-loop/ralph/internal/sandbox"
)

var agent = sandbox.User{UID: 7, GID: 8}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// files makes files with their own path as text; a name ending in a slash is a
// folder.
func files(t *testing.T, dir string, names ...string) {
	t.Helper()
	for _, name := range names {
		path := filepath.Join(dir, name)
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		if strings.HasSuffix(name, "/") {
			must(t, os.MkdirAll(path, 0o755))
		} else {
			must(t, os.WriteFile(path, []byte(name), 0o644))
		}
	}
}

func build(t *testing.T, dir string, spec sandbox.Spec, links ...string) []Mount {
	t.Helper()
	mounts, err := Build(dir, spec, agent, "/host/ralph", links...)
	must(t, err)
	return mounts
}

func targets(mounts []Mount) []string {
	var all []string
	for _, m := range mounts {
		all = append(all, m.Target)
	}
	return all
}

func find(t *testing.T, mounts []Mount, target string) Mount {
	t.Helper()
	at := slices.IndexFunc(mounts, func(m Mount) bool { return m.Target == target })
	if at < 0 {
		t.Fatalf("nothing is mounted at %s, but at %q", target, targets(mounts))
	}
	return mounts[at]
}

// ownership is what the tests' own files should have for an owner.
func ownership(t *testing.T, path string) sandbox.User {
	t.Helper()
	if runtime.GOOS == "windows" {
		return sandbox.User{}
	}
	return sandbox.User{UID: os.Geteuid(), GID: groupOf(t, path)}
}

func groupOf(t *testing.T, path string) int {
	t.Helper()
	info, err := os.Stat(path)
	must(t, err)
	return ownerOf(info).GID // new files may get the folder's group
}

// Every mount has a mount point of its kind, except where another mount brings it.
func TestMountPointsAreThere(t *testing.T) {
	work, dir := t.TempDir(), t.TempDir()
	files(t, work, "file", "data/")
	spec := sandbox.Spec{
		Own: []string{"/build"},
		Mounts: []sandbox.Mount{
			{Source: work, Target: "/w"},
			{Source: filepath.Join(work, "file"), Target: "/mnt/some/file", ReadOnly: true},
			{Source: filepath.Join(work, "data"), Target: "/w/inner"},
		},
	}
	for _, m := range build(t, dir, spec, "other-name") {
		info, err := os.Stat(filepath.Join(dir, m.Target))
		if m.Target == "/w/inner" {
			if err == nil {
				t.Error("a mount point was made in the root that another mount hides")
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", m.Target, err)
			continue
		}
		isDir := true
		if m.Kind == Bind && !strings.HasPrefix(m.Source, "/host/") {
			source, err := os.Stat(m.Source)
			must(t, err)
			isDir = source.IsDir()
		} else if m.Kind == Bind {
			isDir = false
		}
		if info.IsDir() != isDir {
			t.Errorf("the mount point of %s has mode %v", m.Target, info.Mode())
		}
	}
	for _, name := range []string{"proc", "sys", "dev"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || !info.IsDir() {
			t.Errorf("/%s is not there: %v", name, err)
		}
	}
	if to, err := os.Readlink(filepath.Join(dir, ".ralph", "other-name")); err != nil || to != "ralph" {
		t.Errorf("the program's other name leads to %q, %v", to, err)
	}
}

// Only what the user mounts writable, and places in memory, can be written to.
func TestWhatIsWritable(t *testing.T) {
	work, data := t.TempDir(), t.TempDir()
	files(t, work, ".git/config")
	mounts := build(t, t.TempDir(), sandbox.Spec{Mounts: []sandbox.Mount{
		{Source: work, Target: "/w", Protect: []string{".git"}},
		{Source: data, Target: "/mnt/data", ReadOnly: true},
	}})
	for _, m := range mounts {
		if writable := m.Target == "/w"; m.Kind == Bind && m.ReadOnly == writable {
			t.Errorf("%+v", m)
		}
		if user := sandbox.Within(m.Source, work) || sandbox.Within(m.Source, data); m.Kind == Bind && m.User != user {
			t.Errorf("%+v", m)
		}
	}
	if helper := find(t, mounts, Helper); helper.Source != "/host/ralph" || helper.Kind != Bind {
		t.Errorf("%+v", helper)
	}
	if owner := find(t, mounts, "/w/.git").Owner; owner != ownership(t, work) {
		t.Errorf("the workspace belongs to %v", owner)
	}
}

// Mounts lie over those before them, so what lies inside another one comes later.
func TestOrder(t *testing.T) {
	work := t.TempDir()
	all := targets(build(t, t.TempDir(), sandbox.Spec{
		Own:    []string{"/own/"},
		Mounts: []sandbox.Mount{{Source: work, Target: "/home/agent/w"}, {Source: work, Target: "/mnt/data", ReadOnly: true}},
	}))
	want := []string{Helper, "/tmp", "/run", sandbox.Home, "/own", "/home/agent/w", "/mnt/data"}
	if got := all[max(0, len(all)-len(want)):]; !slices.Equal(got, want) {
		t.Errorf("got %q at the end, want %q", got, want)
	}
}

func TestPlacesInMemory(t *testing.T) {
	for name, tt := range map[string]struct{ memory, size int64 }{
		"a limit": {5 << 20, 5 << 20},
		"none":    {0, unlimitedTmp},
	} {
		mounts := build(t, t.TempDir(), sandbox.Spec{Limits: sandbox.Limits{Memory: tt.memory}, Own: []string{"/own"}})
		for _, want := range []Mount{
			{Kind: Tmpfs, Target: "/tmp", Size: tt.size, Mode: 0o1777},
			{Kind: Tmpfs, Target: "/run", Size: tt.size, Mode: 0o755, Owner: agent},
			{Kind: Tmpfs, Target: sandbox.Home, Size: tt.size, Mode: 0o755, Owner: agent},
			{Kind: Tmpfs, Target: "/own", Size: tt.size, Mode: 0o755, Owner: agent},
		} {
			if got := find(t, mounts, want.Target); got != want {
				t.Errorf("with %s: got %+v, want %+v", name, got, want)
			}
		}
	}
}

func TestRootOfTheHost(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("other systems' programs are of no use inside")
	}
	dir := t.TempDir()
	mounts := build(t, dir, sandbox.Spec{})
	if usr := find(t, mounts, "/usr"); usr != readOnly("/usr", "/usr") {
		t.Errorf("%+v", usr)
	}
	for _, path := range systemDirs {
		to, err := os.Readlink(path)
		if err != nil {
			continue
		}
		if got, err := os.Readlink(filepath.Join(dir, path)); err != nil || got != to || slices.Contains(targets(mounts), path) {
			t.Errorf("%s leads to %q, %v; want %q", path, got, err, to)
		}
	}
	for _, secret := range []string{"/etc", "/etc/shadow", "/etc/ssl", "/root", "/home", "/var", "/"} {
		if slices.Contains(targets(mounts), secret) {
			t.Errorf("%s of the host is mounted", secret)
		}
	}
	passwd, err := os.ReadFile(filepath.Join(dir, "etc/passwd"))
	if err != nil || !strings.Contains(string(passwd), "agent:x:7:8:agent:"+sandbox.Home+":") {
		t.Errorf("/etc/passwd is %q, %v", passwd, err)
	}
}

func TestRootOfAFolder(t *testing.T) {
	rootfs, dir := t.TempDir(), t.TempDir()
	files(t, rootfs, "bin/tool", "etc/passwd", "init", "proc/", "sys/", "dev/null", "tmp/x", "run/x", "home/x", ".ralph/ralph")
	linked := os.Symlink("bin", filepath.Join(rootfs, "sbin")) == nil
	mounts := build(t, dir, sandbox.Spec{Rootfs: rootfs})
	want := []string{"/bin", "/etc", "/init", Helper, "/tmp", "/run", sandbox.Home}
	if got := targets(mounts); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := find(t, mounts, "/etc"); got != readOnly(filepath.Join(rootfs, "etc"), "/etc") {
		t.Errorf("%+v", got)
	}
	if to, err := os.Readlink(filepath.Join(dir, "sbin")); linked && (err != nil || to != "bin") {
		t.Errorf("the link leads to %q, %v", to, err)
	}
	if _, err := Build(t.TempDir(), sandbox.Spec{Rootfs: filepath.Join(rootfs, "missing")}, agent, "/host/ralph"); err == nil {
		t.Error("a folder that is not there was taken")
	}
}

// A folder of the root that lacks a place to mount on is taken over by its parts,
// as deep as need be, and all others as they are.
func TestRootWithRoomForMounts(t *testing.T) {
	rootfs, dir := t.TempDir(), t.TempDir()
	files(t, rootfs, "bin/tool", "opt/old/file", "opt/deep/file", "srv/here/x")
	spec := sandbox.Spec{Rootfs: rootfs, Own: []string{"/opt/deep/own"}, Mounts: []sandbox.Mount{
		{Source: t.TempDir(), Target: "/opt/new/place"}, {Source: t.TempDir(), Target: "/srv/here"},
	}}
	mounts := build(t, dir, spec)
	want := []string{"/bin", "/opt/deep/file", "/opt/old", "/srv", Helper, "/tmp", "/run", sandbox.Home, "/opt/deep/own", "/opt/new/place", "/srv/here"}
	if got := targets(mounts); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// An image has a root of its own; a few files of it are replaced.
func TestOverAnImage(t *testing.T) {
	work, dir := t.TempDir(), t.TempDir()
	spec := sandbox.Spec{Image: "some/image", Mounts: []sandbox.Mount{{Source: work, Target: "/w"}}}
	mounts := build(t, dir, spec)
	want := []string{"/etc/group", "/etc/hostname", "/etc/hosts", "/etc/passwd", "/etc/resolv.conf", Helper, "/tmp", "/run", sandbox.Home, "/w"}
	if got := targets(mounts); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for path, text := range map[string]string{"/etc/passwd": "agent:x:7:8:", "/etc/group": "agent:x:8:", "/etc/hosts": "localhost", "/etc/hostname": Hostname, "/etc/resolv.conf": "# no resolver"} {
		m := find(t, mounts, path)
		if got, err := os.ReadFile(m.Source); err != nil || !strings.Contains(string(got), text) || !m.ReadOnly || m.User {
			t.Errorf("%+v holds %q, %v", m, got, err)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("made were %v, %v", left, err)
	}
	if _, err := Build(t.TempDir(), spec, agent, "/host/ralph", "link"); err == nil {
		t.Error("a link was to be made in an image")
	}
}

// A link in the root file system does not lead a write to the host's own files.
func TestSkeletonStaysInside(t *testing.T) {
	precious := filepath.Join(t.TempDir(), "precious")
	must(t, os.WriteFile(precious, []byte("kept"), 0o644))
	rootfs := t.TempDir()
	if os.Symlink(precious, filepath.Join(rootfs, "file")) != nil {
		t.Skip("no links here")
	}
	must(t, os.Symlink(filepath.Dir(precious), filepath.Join(rootfs, "folder")))
	source := filepath.Join(t.TempDir(), "source")
	must(t, os.WriteFile(source, []byte("new"), 0o644))
	for _, target := range []string{"/file", "/folder/precious", "/folder/new"} {
		// Whether that fails is not the point.
		_, _ = Build(t.TempDir(), sandbox.Spec{Rootfs: rootfs, Mounts: []sandbox.Mount{{Source: source, Target: target}}}, agent, "/host/ralph")
	}
	_, _ = Build(t.TempDir(), sandbox.Spec{Rootfs: rootfs, Own: []string{"/folder/own"}}, agent, "/host/ralph")
	if data, err := os.ReadFile(precious); err != nil || string(data) != "kept" {
		t.Errorf("the host's file holds %q, %v", data, err)
	}
	if left, _ := os.ReadDir(filepath.Dir(precious)); len(left) != 1 {
		t.Errorf("the host's folder holds %v", left)
	}
}
