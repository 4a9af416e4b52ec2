package idmap_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/agent-loop/ralph/internal/sandbox/idmap"
)

// The owner of the workspace, whom its files are shown as, and two who have nothing
// to do with either.
var (
	owner    = idmap.IDs{UID: 0, GID: 0}
	agent    = idmap.IDs{UID: 1_900_001_000, GID: 1_900_001_000}
	stranger = idmap.IDs{UID: 4321, GID: 4321}
)

const nobody = 65534

// folders makes a workspace and a place to mount it on, which everybody can reach.
func folders(t *testing.T) (source, target string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("root is needed")
	}
	dir, err := os.MkdirTemp("", "idmap")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := idmap.UnmountBelow(dir); err != nil {
			t.Fatal(err)
		}
		os.RemoveAll(dir)
	})
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"source", "target"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	var missing *idmap.UnsupportedError
	if err := idmap.Supported(dir); errors.As(err, &missing) {
		t.Skip(err)
	}
	return filepath.Join(dir, "source"), filepath.Join(dir, "target")
}

func clone(t *testing.T, source, target string, view idmap.View) {
	t.Helper()
	if err := idmap.Clone(source, target, view); err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, path string, ids idmap.IDs, mode os.FileMode) {
	t.Helper()
	if err := errors.Join(os.WriteFile(path, []byte("text"), 0o600), os.Chown(path, ids.UID, ids.GID), os.Chmod(path, mode)); err != nil {
		t.Fatal(err)
	}
}

// as runs a script as somebody without any rights.
func as(t *testing.T, ids idmap.IDs, dir, script string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", script)
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(ids.UID), Gid: uint32(ids.GID)}}
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

func ids(t *testing.T, path string) idmap.IDs {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	stat := info.Sys().(*syscall.Stat_t)
	return idmap.IDs{UID: int(stat.Uid), GID: int(stat.Gid)}
}

func TestOwnersAreExchanged(t *testing.T) {
	for name, owner := range map[string]idmap.IDs{"root's": owner, "a user's": {UID: 1234, GID: 2345}} {
		t.Run(name, func(t *testing.T) {
			source, target := folders(t)
			if err := os.Chown(source, owner.UID, owner.GID); err != nil {
				t.Fatal(err)
			}
			write(t, source+"/old", owner, 0o600)
			write(t, source+"/strange", stranger, 0o644)
			clone(t, source, target, idmap.View{As: agent})

			if out, err := as(t, agent, target, "cat old && echo more >> old && echo new > new && mkdir dir && mv old dir/old && chmod 600 new"); err != nil || out != "text" {
				t.Fatalf("the agent could not work: %q, %v", out, err)
			}
			for path, want := range map[string]idmap.IDs{
				target: agent, target + "/dir/old": agent, target + "/new": agent, target + "/strange": {UID: nobody, GID: nobody},
				source: owner, source + "/dir/old": owner, source + "/new": owner, source + "/dir": owner, source + "/strange": stranger,
			} {
				if got := ids(t, path); got != want {
					t.Errorf("%s belongs to %v, want %v", path, got, want)
				}
			}
		})
	}
}

// TestOthersGainNothing: neither a stranger, nor the agent where it has no clone,
// nor root through the clone can do what they could not do before.
func TestOthersGainNothing(t *testing.T) {
	source, target := folders(t)
	write(t, source+"/private", owner, 0o600)
	write(t, source+"/strange", stranger, 0o600)
	clone(t, source, target, idmap.View{As: agent})
	tests := map[string]struct {
		who         idmap.IDs
		dir, script string
	}{
		"a stranger reads":                 {stranger, target, "cat private"},
		"a stranger reads his own":         {stranger, target, "cat strange"},
		"a stranger writes":                {stranger, target, "echo > new"},
		"the agent reads another's":        {agent, target, "cat strange"},
		"the agent gives a file away":      {agent, target, "chown 4321 private"},
		"the agent at the source":          {agent, source, "cat private"},
		"root, who is mapped, is not root": {owner, target, "echo > new"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if out, err := as(t, test.who, test.dir, test.script); err == nil {
				t.Errorf("it worked: %s", out)
			}
		})
	}
}

func TestProgramsLendNoRights(t *testing.T) {
	source, target := folders(t)
	program, err := os.ReadFile("/usr/bin/id")
	if err != nil {
		t.Skip("/usr/bin/id is needed")
	}
	if err := errors.Join(os.WriteFile(source+"/id", program, 0o755), os.Chmod(source+"/id", 0o755|os.ModeSetuid)); err != nil {
		t.Fatal(err)
	}
	if out, err := as(t, stranger, source, "./id -u"); err != nil || out != "0" {
		t.Skipf("setuid programs are not honoured here anyway: %q, %v", out, err)
	}
	clone(t, source, target, idmap.View{As: agent})
	if out, err := as(t, stranger, target, "./id -u"); err != nil || out != fmt.Sprint(stranger.UID) {
		t.Errorf("the program ran as %q (error %v), want its caller", out, err)
	}
}

func TestReadOnly(t *testing.T) {
	source, target := folders(t)
	write(t, source+"/old", owner, 0o644)
	clone(t, source, target, idmap.View{As: agent, ReadOnly: true})
	if out, err := as(t, agent, target, "cat old && echo more >> old"); err == nil || !strings.Contains(out, "text") {
		t.Errorf("printed %q, error %v; want that it can be read and not be written", out, err)
	}
}

func TestOneFile(t *testing.T) {
	source, target := folders(t)
	write(t, source+"/a", owner, 0o600)
	write(t, target+"/b", stranger, 0o600)
	clone(t, source+"/a", target+"/b", idmap.View{As: agent})
	if out, err := as(t, agent, target, "cat b"); err != nil || out != "text" {
		t.Errorf("printed %q, error %v", out, err)
	}
}

// TestMountsBelowStayOut: they would be seen with their true owners. Nor do later
// ones come in.
func TestMountsBelowStayOut(t *testing.T) {
	source, target := folders(t)
	// As most systems have it: mounts spread to all copies of a mount.
	if err := errors.Join(unix.Mount(source, source, "", unix.MS_BIND, ""), unix.Mount("", source, "", unix.MS_SHARED, "")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { idmap.UnmountBelow(source) })
	mount := func(name string) {
		dir := filepath.Join(source, name)
		if err := errors.Join(os.MkdirAll(dir, 0o755), unix.Mount("tmpfs", dir, "tmpfs", 0, "")); err != nil {
			t.Fatal(err)
		}
		write(t, dir+"/secret", owner, 0o644)
	}
	mount("before")
	clone(t, source, target, idmap.View{As: agent})
	mount("after")
	for _, name := range []string{"before", "after"} {
		if _, err := os.Stat(filepath.Join(target, name, "secret")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("what is mounted on %s is seen in the clone (error %v)", name, err)
		}
	}
}

// TestBindsOfAClone: parts of a clone that are mounted once more, read-only say, show
// the same owners.
func TestBindsOfAClone(t *testing.T) {
	source, target := folders(t)
	if err := os.Mkdir(source+"/part", 0o700); err != nil {
		t.Fatal(err)
	}
	clone(t, source, target, idmap.View{As: agent})
	if err := unix.Mount(target+"/part", target+"/part", "", unix.MS_BIND, ""); err != nil {
		t.Fatal(err)
	}
	if out, err := as(t, agent, target, "echo > part/new"); err != nil {
		t.Fatalf("%s: %v", out, err)
	}
	if got := ids(t, source+"/part/new"); got != owner {
		t.Errorf("the file belongs to %v on disk, want %v", got, owner)
	}
}

// TestManyAtOnce: the processes that make the tables must not meet.
func TestManyAtOnce(t *testing.T) {
	source, target := folders(t)
	var all sync.WaitGroup
	for i := range 16 {
		dir := fmt.Sprintf("%s/%d", target, i)
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			if err := idmap.Clone(source, dir, idmap.View{As: idmap.IDs{UID: agent.UID + i, GID: agent.GID + i}}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for i := range 16 {
		if got := ids(t, fmt.Sprintf("%s/%d", target, i)).UID; got != agent.UID+i {
			t.Errorf("clone %d belongs to %d", i, got)
		}
	}
	if _, err := unix.Wait4(-1, nil, unix.WNOHANG, nil); !errors.Is(err, unix.ECHILD) {
		t.Errorf("waiting for children: %v, want that none is left", err)
	}
}

func BenchmarkClone(b *testing.B) {
	if os.Geteuid() != 0 {
		b.Skip("root is needed")
	}
	dir := b.TempDir()
	for b.Loop() {
		if err := idmap.Supported(dir); err != nil {
			b.Fatal(err)
		}
	}
}
