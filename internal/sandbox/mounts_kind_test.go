//go:build unix

package sandbox_test

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/agent-loop/ralph/internal/sandbox"
)

func TestCheckMountsByKind(t *testing.T) {
	m := newMachine(t)
	t.Run("socket", func(t *testing.T) {
		t.Chdir(m.path("data")) // the whole path may be too long for a socket
		l, err := net.Listen("unix", "socket")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		wantRefusal(t, m.check(t, m.path("data/socket")), "it is a socket")
	})
	t.Run("fifo", func(t *testing.T) {
		if err := syscall.Mkfifo(m.path("data/fifo"), 0o644); err != nil {
			t.Fatal(err)
		}
		wantRefusal(t, m.check(t, m.path("data/fifo")), "neither a folder nor a plain file")
	})
	t.Run("unreadable file", func(t *testing.T) {
		if os.Geteuid() == 0 {
			t.Skip("root reads everything")
		}
		if err := os.Chmod(m.path("data/private"), 0); err != nil {
			t.Fatal(err)
		}
		wantRefusal(t, m.check(t, m.path("data/private")), "cannot be read")
	})
	t.Run("below an unreadable folder", func(t *testing.T) {
		if os.Geteuid() == 0 {
			t.Skip("root reads everything")
		}
		dir := m.path("data/with space")
		if err := os.Chmod(dir, 0); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.Chmod(dir, 0o700) })
		wantRefusal(t, m.check(t, filepath.Join(dir, "x")), "cannot be read")
	})
}

func TestCheckMountsByTarget(t *testing.T) {
	m := newMachine(t)
	for target, why := range map[string]string{
		"/mnt/data":      "",
		"/workspace":     "",
		"/home/agent/x":  "",
		"/processes":     "", // only begins like /proc
		"/mnt/.ralph":    "",
		"":               "not an absolute path",
		"mnt":            "not an absolute path",
		"C:\\data":       "not an absolute path",
		"/mnt/../proc":   "not a plain path",
		"/mnt/a\nb":      "not a plain path",
		"/mnt/a\xff":     "not a plain path",
		"/":              "replace the sandbox's root",
		"//":             "replace the sandbox's root",
		"/.":             "replace the sandbox's root",
		"/proc":          "/proc inside belongs to the sandbox",
		"/proc/1":        "/proc inside belongs to the sandbox",
		"/sys/fs":        "/sys inside belongs to the sandbox",
		"/dev/":          "/dev inside belongs to the sandbox",
		"/./dev":         "/dev inside belongs to the sandbox",
		"//dev//shm":     "/dev inside belongs to the sandbox",
		"/.ralph":        "/.ralph inside belongs to the sandbox",
		"/.ralph/ralph":  "/.ralph inside belongs to the sandbox",
		"/.ralph/../mnt": "not a plain path",
	} {
		t.Run(target, func(t *testing.T) {
			err := sandbox.CheckMounts([]sandbox.Mount{{Source: m.path("data"), Target: target}}, m.host)
			wantRefusal(t, refusal(t, err), why)
		})
	}
}

func TestCheckMountsReportsAll(t *testing.T) {
	m := newMachine(t)
	err := sandbox.CheckMounts([]sandbox.Mount{
		{Source: m.path("people/me"), Target: "/mnt/home"},
		{Source: m.path("data"), Target: "/mnt/data"},
		{Source: "relative", Target: "/mnt/relative"},
		{Source: m.path("data"), Target: "/proc"},
	}, m.host)
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok || len(joined.Unwrap()) != 3 {
		t.Fatalf("got %v, want three refusals", err)
	}
	for i, want := range []string{"home directory", "not absolute", "/proc inside"} {
		wantRefusal(t, refusal(t, joined.Unwrap()[i]), want)
	}
	if !strings.Contains(err.Error(), `mount of "relative" refused: `) {
		t.Errorf("the error does not say which mount: %v", err)
	}
}

func TestCheckMountsOfNothing(t *testing.T) {
	if err := sandbox.CheckMounts(nil, sandbox.Host{}); err != nil {
		t.Error(err)
	}
}

func TestCheckPathTellsTheWayOut(t *testing.T) {
	dir := newMachine(t).path("data")
	for path, fix := range map[string]string{
		"data":              "write the whole path",
		dir + "/../data":    "write it as " + dir,
		dir + "/nowhere":    "create it first, or check the spelling",
		dir + "/new\nline/": "rename the folder",
	} {
		if why, got := sandbox.CheckPath(path); why == "" || got != fix {
			t.Errorf("%q: hint %q (because %q), want %q", path, got, why, fix)
		}
	}
}

// Two ways to write to the same files would make a protected path on the one
// open on the other.
func TestCheckMountsRefusesOverlap(t *testing.T) {
	m := newMachine(t)
	const files, place = "shares files", "is taken"
	for name, tt := range map[string]struct {
		first, second sandbox.Mount
		why           string
	}{
		"the same twice":        {mount("data", "/a", false), mount("data", "/b", false), files},
		"one below the other":   {mount("data", "/a", false), mount("data/with space", "/b", false), files},
		"one above the other":   {mount("data/with space", "/a", false), mount("data", "/b", false), files},
		"second is read-only":   {mount("data", "/a", false), mount("data", "/b", true), ""},
		"first is read-only":    {mount("data", "/a", true), mount("data/file", "/b", false), ""},
		"side by side":          {mount("people/you", "/a", false), mount("data", "/b", false), ""},
		"one place":             {mount("people/you", "/a", true), mount("data", "/a", true), place},
		"one place, respelled":  {mount("people/you", "/a", true), mount("data", "/./a/", true), place},
		"a place below another": {mount("data", "/a", false), mount("people/you", "/a/with space", false), ""},
		"a place to be created": {mount("data", "/a", false), mount("people/you", "/a/nowhere", false), "does not exist in"},
	} {
		t.Run(name, func(t *testing.T) {
			tt.first.Source, tt.second.Source = m.path(tt.first.Source), m.path(tt.second.Source)
			wantRefusal(t, refusal(t, sandbox.CheckMounts([]sandbox.Mount{tt.first, tt.second}, m.host)), tt.why)
		})
	}
}

func mount(source, target string, readOnly bool) sandbox.Mount {
	return sandbox.Mount{Source: source, Target: target, ReadOnly: readOnly}
}
