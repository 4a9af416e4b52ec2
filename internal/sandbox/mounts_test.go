//go:build unix

package sandbox_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/agent-loop/ralph/internal/sandbox"
)

// machine is a small host: a home directory with a project in it, and one run.
type machine struct {
	top  string
	host sandbox.Host
}

func newMachine(t *testing.T) machine {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	m := machine{top: top, host: sandbox.Host{
		Home:  filepath.Join(top, "people/me"),
		State: filepath.Join(top, "people/me/.local/state/ralph"),
		Run:   filepath.Join(top, "people/me/project/.ralph/runs/1"),
	}}
	for _, dir := range []string{
		"people/me/.local/state/ralph/workspaces", "people/me/.local/share", "people/me/.ssh/keys",
		"people/me/.config/gcloud", "people/me/.config/app", "people/me/.sshd",
		"people/me/project/.ralph/runs/1/logs", "people/me/project/.ralph/runs/10",
		"people/you", "data/with space", "data/colon:here", "data/ünïcode", "data/..dots",
	} {
		if err := os.MkdirAll(filepath.Join(top, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"people/me/.netrc", "data/file", "data/private"} {
		if err := os.WriteFile(filepath.Join(top, file), []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

func (m machine) path(rel string) string { return filepath.Join(m.top, rel) }

// check mounts one source at a harmless place and returns the refusal, if any.
func (m machine) check(t *testing.T, source string) *sandbox.RefusedError {
	t.Helper()
	return refusal(t, sandbox.CheckMounts([]sandbox.Mount{{Source: source, Target: "/mnt/data"}}, m.host))
}

func refusal(t *testing.T, err error) *sandbox.RefusedError {
	t.Helper()
	var refused *sandbox.RefusedError
	if err != nil && !errors.As(err, &refused) {
		t.Fatalf("got %T (%v), want a *RefusedError", err, err)
	}
	return refused
}

func wantRefusal(t *testing.T, got *sandbox.RefusedError, why string) {
	t.Helper()
	switch {
	case why == "" && got != nil:
		t.Errorf("refused: %s", got.Why)
	case why != "" && got == nil:
		t.Errorf("allowed, want a refusal with %q", why)
	case why != "" && !strings.Contains(got.Why, why):
		t.Errorf("refused with %q, want %q", got.Why, why)
	}
}

func TestCheckMountsByPlace(t *testing.T) {
	const home, state, secret, run = "home directory", "ralph's own state", "keys or tokens", "another run"
	m := newMachine(t)
	for _, tt := range []struct{ source, why string }{
		{"data", ""},
		{"data/file", ""},
		{"data/with space", ""},
		{"data/colon:here", ""},
		{"data/ünïcode", ""},
		{"data/..dots", ""},
		{"people/you", ""}, // no system puts homes there, so nobody can know
		{"people/me/project", ""},
		{"people/me/.sshd", ""}, // not .ssh
		{"people/me/.config/app", ""},
		{"people/me/.local/share", "keys or tokens"}, // holds the keyrings

		{".", home},
		{"people", home},
		{"people/me", home},

		{"people/me/.local", state},
		{"people/me/.local/state", state},
		{"people/me/.local/state/ralph", state},
		{"people/me/.local/state/ralph/workspaces", state},

		{"people/me/.ssh", secret},
		{"people/me/.ssh/keys", secret},
		{"people/me/.netrc", secret},
		{"people/me/.config", secret},
		{"people/me/.config/gcloud", secret},

		{"people/me/project/.ralph/runs/1", ""},
		{"people/me/project/.ralph/runs/1/logs", ""},
		{"people/me/project/.ralph", run},
		{"people/me/project/.ralph/runs", run},
		{"people/me/project/.ralph/runs/10", run}, // begins like our own
	} {
		t.Run(tt.source, func(t *testing.T) { wantRefusal(t, m.check(t, m.path(tt.source)), tt.why) })
	}
}

func TestCheckMountsOfTheSystem(t *testing.T) {
	m := newMachine(t)
	for _, tt := range []struct{ source, why string }{
		{"/", "whole file system"},
		{"//", "whole file system"},
		{"/.", "whole file system"},
		{"/proc", "/proc belongs to the system"},
		{"/proc/self", "/proc"}, // a link, or the system's: refused either way
		{"/sys", "/sys belongs to the system"},
		{"/dev", "/dev belongs to the system"},
		{"/dev/null", "/dev belongs to the system"},
		{"/etc", "/etc belongs to the system"},
		{"/etc/passwd", "/etc belongs to the system"},
		{"/run", "/run belongs to the system"},
		{"/var", "/var/run belongs to the system"},
		{"/home", "home directory"},
		{"/Users", "home directory"},
		{"/root", "home directory"},
	} {
		t.Run(tt.source, func(t *testing.T) {
			if _, err := os.Stat(tt.source); err != nil {
				t.Skip("not on this machine")
			}
			wantRefusal(t, m.check(t, tt.source), tt.why)
		})
	}
}

func TestCheckMountsBySpelling(t *testing.T) {
	m := newMachine(t)
	for name, tt := range map[string]struct{ source, why string }{
		"empty":               {"", "not absolute"},
		"relative":            {"data", "not absolute"},
		"dot":                 {".", "not absolute"},
		"tilde":               {"~/project", "not absolute"},
		"dot dot":             {m.path("data") + "/../data", "has a .. in it"},
		"dot dot at the end":  {m.path("data") + "/..", "has a .. in it"},
		"dot dot at the root": {"/../etc", "has a .. in it"},
		"newline":             {m.path("data") + "\n", "control character"},
		"escape":              {m.path("data") + "\x1b[2J", "control character"},
		"nul":                 {m.path("data") + "\x00", "control character"},
		"delete":              {m.path("data") + "\x7f", "control character"},
		"next line (C1)":      {m.path("data") + "\u0085", "control character"},
		"not text":            {m.path("data") + "\xff", "not UTF-8"},
		"missing":             {m.path("data/nowhere"), "does not exist"},
		"below a file":        {m.path("data/file/x"), "not a directory"},
		"single dots":         {m.path("data") + "/./file", ""},
		"double slashes":      {m.path("data") + "//file", ""},
		"slash at the end":    {m.path("data") + "/", ""},
	} {
		t.Run(name, func(t *testing.T) { wantRefusal(t, m.check(t, tt.source), tt.why) })
	}
}

func TestCheckMountsRefusesLinks(t *testing.T) {
	m := newMachine(t)
	for link, target := range map[string]string{
		"data/link":    m.path("people/you"),
		"data/rel":     "../people/you",
		"data/loop":    "loop",
		"data/broken":  "nowhere",
		"data/linkdir": m.path("people"),
	} {
		if err := os.Symlink(target, m.path(link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct{ source, why string }{
		{"data/link", m.path("data/link") + " is a symbolic link"},
		{"data/rel", m.path("data/rel") + " is a symbolic link"},
		{"data/linkdir/you", m.path("data/linkdir") + " is a symbolic link"},
		{"data/linkdir/me/.ssh", m.path("data/linkdir") + " is a symbolic link"},
		{"data/broken", "does not exist"},
		{"data/loop", "too many links"},
	} {
		t.Run(tt.source, func(t *testing.T) { wantRefusal(t, m.check(t, m.path(tt.source)), tt.why) })
	}
	if got := m.check(t, m.path("data/linkdir/you")); got.Fix != "give the real path, "+m.path("people/you") {
		t.Errorf("the hint is %q", got.Fix)
	}
}

// HOME and the state folder may be spelled through a link, while a mount may
// not: the two must still be known for the same place.
func TestCheckMountsSeesThroughLinksOfTheHost(t *testing.T) {
	m := newMachine(t)
	if err := os.Symlink(m.path("people"), m.path("linked")); err != nil {
		t.Fatal(err)
	}
	m.host = sandbox.Host{
		Home:  m.path("linked/me"),
		State: m.path("linked/me/state/not/there/yet"),
		Run:   m.path("linked/me/project/.ralph/runs/1"),
	}
	for _, tt := range []struct{ source, why string }{
		{"people/me", "home directory"},
		{"people", "home directory"},
		{"people/me/.ssh", "keys or tokens"},
		{"people/me/project", ""},
	} {
		t.Run(tt.source, func(t *testing.T) { wantRefusal(t, m.check(t, m.path(tt.source)), tt.why) })
	}
	t.Run("state that is made later", func(t *testing.T) {
		if err := os.Mkdir(m.path("people/me/state"), 0o755); err != nil {
			t.Fatal(err)
		}
		wantRefusal(t, m.check(t, m.path("people/me/state")), "ralph's own state")
	})
}

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
