//go:build unix

package token

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestFromFileThatIsNotPrivate(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "key")
	if err := os.WriteFile(path, []byte("the-secret-value"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, mode := range []os.FileMode{0o640, 0o604, 0o666} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		_, _, err := askSource(t, Spec{From: FromFile, Path: path}, Host{})
		if err == nil || !strings.Contains(hint(err), "chmod 600 "+path) {
			t.Errorf("mode %v: %v, hint %q", mode, err, hint(err))
		}
	}
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := askSource(t, Spec{From: FromFile, Path: pipe}, Host{}); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("a pipe: %v", err)
	}
}

func shell(script string) Spec {
	return Spec{From: FromCommand, Command: []string{"/bin/sh", "-c", script}}
}

// A command's first line is the credential; it is used again for a while, and
// asked for anew after a rejection.
func TestFromCommand(t *testing.T) {
	home := t.TempDir()
	s, c, err := askSource(t, shell(`echo x >> runs; echo secret-number-$(wc -l < runs); echo more; echo talk >&2`), Host{Home: home})
	if err != nil {
		t.Fatal(err)
	}
	again, err := s.Token(t.Context())
	if err != nil || !c.Secret.Equal(again.Secret.Reveal()) || !strings.HasPrefix(c.Secret.Reveal(), "secret-number-") {
		t.Errorf("%q, %v", again.Secret.Reveal(), err)
	}
	next, err := s.Rejected(t.Context(), c)
	if err != nil || next.Secret.Equal(c.Secret.Reveal()) {
		t.Errorf("%q, %v", next.Secret.Reveal(), err)
	}
	if late, err := s.Rejected(t.Context(), c); err != nil || !late.Secret.Equal(next.Secret.Reveal()) {
		t.Errorf("a late rejection of the first one: %q, %v", late.Secret.Reveal(), err)
	}
	if runs, _ := os.ReadFile(filepath.Join(home, "runs")); string(runs) != "x\nx\n" {
		t.Errorf("it ran %d times", len(runs)/2)
	}
	s, c, err = askSource(t, shell("echo always-the-same"), Host{Home: home})
	if err != nil {
		t.Fatal(err)
	}
	if _, err = s.Rejected(t.Context(), c); !rejectedError(err) {
		t.Errorf("got %v", err)
	}
}

func TestFromCommandThatFails(t *testing.T) {
	for _, test := range []struct{ name, script, want string }{
		{"fails", "echo the-secret-value; echo not logged in, the-secret-value >&2; exit 3", `exit status 3: it said "not logged in, [redacted:`},
		{"prints nothing", "echo nothing there >&2", `it printed nothing: it said "nothing there"`},
		{"prints an empty line", "echo; echo the-secret-value", "it printed nothing"},
		{"prints a space", "echo the secret value", "has a space"},
		{"prints without end", "exec yes aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa | tr -d '\\n'", "longer than"},
		{"complains without end", "head -c 1000000 /dev/zero | tr '\\0' x >&2; exit 1", "it said"},
		{"hangs", "sleep 1000", "longer than"},
		{"leaves a child behind", "sleep 3 & exit 1", "exit status 1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s, err := From(shell(test.script), Host{Home: t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}
			s.(*commandSource).patience = time.Second
			_, err = s.Token(t.Context())
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "the-secret-value") || len(err.Error()) > 3*maxComplaint {
				t.Errorf("got %v, want %q in it", err, test.want)
			}
		})
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	s, err := From(shell("echo the-secret-value"), Host{Home: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Token(over); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end: %v", err)
	}
	_, _, err = askSource(t, Spec{From: FromCommand, Command: []string{"no-such-program-here"}}, Host{Home: t.TempDir()})
	if err == nil || !strings.Contains(err.Error(), "not found") {
		t.Errorf("got %v", err)
	}
}
