package demo_test

import (
	"errors"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/agent-loop/ralph/internal/demo"
	"github.com/agent-loop/ralph/internal/rundir"
)

func newPlace(t *testing.T) demo.Place {
	t.Helper()
	t.Setenv("TMPDIR", t.TempDir())
	place, err := demo.New(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return place
}

// TestTheTestFails: there is something to mend, and mended it passes, with
// whichever shell there is.
func TestTheTestFails(t *testing.T) {
	for _, shell := range []string{"sh", "dash", "bash"} {
		t.Run(shell, func(t *testing.T) {
			path, err := exec.LookPath(shell)
			if err != nil {
				t.Skip(err)
			}
			place := newPlace(t)
			test := func() string {
				cmd := exec.CommandContext(t.Context(), path, "test.sh")
				cmd.Dir = place.Project()
				out, _ := cmd.CombinedOutput()
				return string(out)
			}
			if out := test(); strings.Count(out, "FAIL ") != 1 || strings.Count(out, "ok   ") != 5 {
				t.Errorf("before: %s", out)
			}
			library := filepath.Join(place.Project(), "calendar.sh")
			replace(t, library, "[ $(($1 % 4)) -eq 0 ]", "[ $(($1 % 400)) -eq 0 ] || { [ $(($1 % 4)) -eq 0 ] && [ $(($1 % 100)) -ne 0 ]; }")
			if out := test(); strings.Count(out, "ok   ") != 6 || strings.Contains(out, "FAIL") {
				t.Errorf("after: %s", out)
			}
		})
	}
}

func replace(t *testing.T, path, old, new string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(text), old) {
		t.Fatalf("%s, %v", text, err)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(text), old, new, 1)), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestRepository: where there is git, the project is a repository in which nothing
// of the user's git settings holds, and all is committed.
func TestRepository(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip(err)
	}
	home := t.TempDir()
	hostile := "[core]\n\thooksPath = " + home + "\n[commit]\n\tgpgSign = true\n[init]\n\ttemplateDir = " + home + "\n"
	if err := os.WriteFile(filepath.Join(home, ".gitconfig"), []byte(hostile), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", home)
	t.Setenv("GIT_DIR", filepath.Join(home, "elsewhere"))
	place := newPlace(t)
	cmd := exec.CommandContext(t.Context(), "git", "status", "--porcelain", "--branch")
	cmd.Dir, cmd.Env = place.Project(), []string{"HOME=" + place.Home(), "PATH=" + os.Getenv("PATH")}
	out, err := cmd.CombinedOutput()
	if err != nil || strings.Count(string(out), "\n") != 1 || strings.Contains(string(out), "No commits yet") {
		t.Errorf("%v: %s", err, out)
	}
	if hooks, err := filepath.Glob(filepath.Join(place.Project(), ".git", "hooks", "*")); err != nil || len(hooks) > 0 {
		t.Errorf("there are hooks: %v, %v", hooks, err)
	}
}

// TestChanges: what the agent left is read without being led astray.
func TestChanges(t *testing.T) {
	place := newPlace(t)
	if changes, err := place.Changes(); err != nil || changes != "" {
		t.Errorf("nothing changed: %q, %v", changes, err)
	}
	library := filepath.Join(place.Project(), "calendar.sh")
	replace(t, library, "echo 30", "echo 31")
	changes, err := place.Changes()
	if err != nil || !strings.HasPrefix(changes, "--- a/calendar.sh\n+++ b/calendar.sh\n") || !strings.Contains(changes, "\n-\t4 | 6 | 9 | 11) echo 30 ;;\n+\t4 | 6 | 9 | 11) echo 31 ;;\n") {
		t.Errorf("%s, %v", changes, err)
	}
	tests := map[string]func() error{
		"a link out": func() error { return os.Symlink(filepath.Join(place.Home(), ".ssh", "id_ed25519"), library) },
		"a folder":   func() error { return os.Mkdir(library, 0o755) },
		"large":      func() error { return os.WriteFile(library, make([]byte, 1<<20), 0o600) },
	}
	for name, make := range tests {
		t.Run(name, func(t *testing.T) {
			if err := errors.Join(os.RemoveAll(library), make()); err != nil {
				t.Fatal(err)
			}
			if changes, err := place.Changes(); err == nil || changes != "" {
				t.Errorf("%q, %v", changes, err)
			}
		})
	}
	if err := os.RemoveAll(library); err != nil {
		t.Fatal(err)
	}
	if changes, err := place.Changes(); err != nil || !strings.Contains(changes, "\n-# A small calendar") {
		t.Errorf("a file that is gone: %q, %v", changes, err)
	}
}

// TestCleanAndRemove: the project outlives cleaning up, and nothing removal.
func TestCleanAndRemove(t *testing.T) {
	place := newPlace(t)
	if err := place.Clean(); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(place.Dir); err != nil || len(left) != 1 || left[0].Name() != "project" {
		t.Errorf("left: %v, %v", left, err)
	}
	if err := place.Remove(); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(filepath.Dir(place.Dir)); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// record makes events of pairs of type and data.
func record(pairs ...string) iter.Seq2[rundir.Event, error] {
	return func(yield func(rundir.Event, error) bool) {
		for i := 0; i+1 < len(pairs); i += 2 {
			if !yield(rundir.Event{Type: pairs[i], Data: jsontext.Value(pairs[i+1])}, nil) {
				return
			}
		}
	}
}

func TestAttempts(t *testing.T) {
	got, err := demo.Attempts(record(
		rundir.EventAgent, `{"kind":"tool-call","input":"echo 'read a key: refused'"}`,
		rundir.EventAgent, `{"kind":"tool-result","text":"read a key: refused\nother words\nwrite a hook: got out\n"}`,
		rundir.EventAgent, `{"kind":"text","text":"leave: got out"}`,
		rundir.EventGate, `{"method":"GET","host":"example.com","port":80,"allowed":false,"reason":"no rule allows it","duration_ns":12}`,
		rundir.EventGate, `{"host":"api.example","port":443,"allowed":true}`,
		rundir.EventGate, `{"host":"api.example","port":443,"allowed":false,"code":"budget_spent"}`,
		rundir.EventGate, `not JSON`,
		rundir.EventValidation, `{"output":"x: refused"}`,
	))
	want := []demo.Attempt{
		{What: "read a key", Refused: true, By: demo.Agent},
		{What: "write a hook", By: demo.Agent},
		{What: "example.com:80, no rule allows it", Refused: true, By: demo.Gate},
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := demo.Attempts(record(rundir.EventAgent, `{"kind":"tool-result","text":"`+strings.Repeat(`x: refused\n`, 1000)+`"}`)); err != nil || len(got) != 50 {
		t.Errorf("%d, %v: there is no end to it", len(got), err)
	}
}

// TestTape: the tape can be read, and says what kind of credential to believe in.
func TestTape(t *testing.T) {
	player, err := demo.Player()
	if err != nil || player.Done() || player.Credential() == "" {
		t.Fatalf("%v: the tape is empty or not one", err)
	}
}

// FuzzAttempts: whatever an agent prints or asks the gate for, there is an end to
// it, and one attempt is one line.
func FuzzAttempts(f *testing.F) {
	f.Add(rundir.EventAgent, `{"kind":"tool-result","text":"read a key: refused\r\nwrite: got out"}`)
	f.Add(rundir.EventAgent, `{"kind":"tool-result","text":": refused\n: got out\n\u001b[2J: refused"}`)
	f.Add(rundir.EventGate, `{"host":"a\nb","port":-1,"reason":"x"}`)
	f.Add(rundir.EventGate, `{"host":{},"host":1}`)
	f.Add(rundir.EventAgent, `{"kind":"tool-result","text":{"base64":"/w=="}}`)
	f.Fuzz(func(t *testing.T, kind, data string) {
		got, err := demo.Attempts(record(kind, data, kind, data))
		if err != nil || len(got) > 50 {
			t.Errorf("%d attempts, %v", len(got), err)
		}
		for _, a := range got {
			if a.By == demo.Agent && strings.ContainsRune(a.What, '\n') {
				t.Errorf("%q", a.What)
			}
		}
	})
}
