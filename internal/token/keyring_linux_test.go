package token

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agent-loop/ralph/internal/secret"
)

const inSession = "RALPH_TEST_IN_SESSION"

// inKeyringSession runs the calling test once more, in a session with a message
// bus and, if unlock is a command that starts it, a keyring. It tells whether
// this is that other run.
func inKeyringSession(t *testing.T, unlock string) bool {
	t.Helper()
	if os.Getenv(inSession) != "" {
		return true
	}
	for _, program := range []string{"dbus-run-session", "gnome-keyring-daemon"} {
		if _, err := exec.LookPath(program); err != nil {
			if os.Getenv("RALPH_TEST_NO_SKIP") != "" {
				t.Fatal("a keyring must not be skipped here: ", err)
			}
			t.Skip("no keyring to test with: ", err)
		}
	}
	home := t.TempDir()
	script := unlock + ` && exec "$0" -test.run="^$1\$" -test.v`
	cmd := exec.CommandContext(t.Context(), "dbus-run-session", "--", "sh", "-c", script, os.Args[0], t.Name())
	cmd.Env = append(os.Environ(), inSession+"=1", "HOME="+home, "XDG_RUNTIME_DIR="+home, "XDG_DATA_HOME="+home, "XDG_CONFIG_HOME="+home, "DISPLAY=", "WAYLAND_DISPLAY=")
	cmd.WaitDelay = time.Second // daemons may keep our pipe open
	out, err := cmd.CombinedOutput()
	if err != nil && !errors.Is(err, exec.ErrWaitDelay) || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Errorf("in the session: %v\n%s", err, out)
	}
	return false
}

const unlocked = `printf password | gnome-keyring-daemon --unlock --components=secrets >/dev/null`

// The real thing: a Secret Service as on a desktop.
func TestKeyring(t *testing.T) {
	if !inKeyringSession(t, unlocked) {
		return
	}
	s, err := OpenStore(filepath.Join(t.TempDir(), "tokens"), os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	p := newProvider(t)
	if _, _, err := s.Load(t.Context(), "claude"); err == nil {
		t.Error("there is something in a new keyring")
	}
	where, err := s.Save(t.Context(), p.login(-time.Minute))
	if err != nil || where != "the keyring of this system" {
		t.Fatalf("stored in %q, %v", where, err)
	}
	assertNoSecretIn(t, s.files.dir)
	if r := load(t, s); !r.Secret.Equal(firstAccess) || !r.Refresh.Equal(firstRefresh) {
		t.Errorf("got %+v", r)
	}
	race(t, p, "token "+s.files.dir, false, StoreVariable+"=keyring")
	if r := load(t, s); !r.Refresh.Equal(refreshNumber(1)) {
		t.Error("the new pair is not stored")
	}
	assertNoSecretIn(t, s.files.dir)

	large := Record{Agent: "claude", Kind: Bearer, Secret: secret.New(strings.Repeat("x", MaxSize)), StoredAt: time.Now()}
	save(t, s, large)
	if r := load(t, s); !r.Secret.Equal(large.Secret.Reveal()) {
		t.Error("a long one came back changed")
	}
	if from, err := s.Forget(t.Context(), "claude"); err != nil || len(from) != 1 {
		t.Errorf("removed from %v, %v", from, err)
	}
	if _, _, err := s.Load(t.Context(), "claude"); err == nil {
		t.Error("it is still there")
	}
}

// A bus without a keyring on it, as on a server: the file serves.
func TestBusWithoutKeyring(t *testing.T) {
	if !inKeyringSession(t, "true") {
		return
	}
	s, err := OpenStore(filepath.Join(t.TempDir(), "tokens"), os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	s.places[0].(*ring).patience = time.Second // a locked one may ask nobody, for ever
	where, err := s.Save(t.Context(), newProvider(t).login(time.Hour))
	if err != nil || !strings.HasPrefix(where, s.files.where("claude")+", readable by you alone, not encrypted: the keyring ") {
		t.Errorf("stored in %q, %v", where, err)
	}
	if r := load(t, s); !r.Secret.Equal(firstAccess) {
		t.Errorf("got %+v", r)
	}
}

// A keyring that never answers is waited for once, and not for long.
func TestKeyringThatHangs(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "bus")
	listener, err := net.Listen("unix", socket) // accepts, and says nothing
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path="+socket)
	s, err := OpenStore(filepath.Join(t.TempDir(), "tokens"), os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	s.places[0].(*ring).patience = 50 * time.Millisecond
	where, err := s.Save(t.Context(), newProvider(t).login(time.Hour))
	if err != nil || !strings.HasSuffix(where, "not encrypted: the keyring did not answer within 50ms") {
		t.Errorf("stored in %q, %v", where, err)
	}
	s.places[0].(*ring).patience = time.Hour // it is not asked again
	if r := load(t, s); !r.Secret.Equal(firstAccess) {
		t.Errorf("got %+v", r)
	}
}

// Without a bus none is started, and the words are plain.
func TestNoBus(t *testing.T) {
	if _, err := os.Stat("/run/user"); err == nil {
		if found, _ := filepath.Glob("/run/user/*/bus"); len(found) > 0 {
			t.Skip("this session has a bus")
		}
	}
	dir := t.TempDir()
	t.Setenv("PATH", dir) // a dbus-launch here would be found
	launched := filepath.Join(dir, "launched")
	if err := os.WriteFile(filepath.Join(dir, "dbus-launch"), []byte("#!/bin/sh\n: > "+launched+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	s, err := OpenStore(filepath.Join(dir, "tokens"), func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	where, err := s.Save(t.Context(), newProvider(t).login(time.Hour))
	if err != nil || !strings.HasSuffix(where, ", readable by you alone, not encrypted: no keyring is running here") {
		t.Errorf("stored in %q, %v", where, err)
	}
	if _, err := os.Stat(launched); err == nil {
		t.Error("a message bus was started")
	}
	if from, err := s.Forget(t.Context(), "claude"); err != nil || len(from) != 1 {
		t.Errorf("removed from %v, %v", from, err)
	}
}
