//go:build unix

package sandbox_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
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
