package token

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agent-loop/ralph/internal/secret"
)

func TestSaveAndLoad(t *testing.T) {
	s := fileStore(t)
	want := Record{
		Agent: "claude", Kind: ClaudeLogin, Secret: secret.New(firstAccess), Refresh: secret.New(firstRefresh),
		StoredAt: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), ExpiresAt: time.Date(2026, 1, 2, 0, 0, 0, 5, time.UTC),
		RefreshedAt: time.Date(2026, 1, 1, 1, 0, 0, 0, time.UTC), RefreshSent: time.Date(2026, 1, 1, 2, 0, 0, 0, time.UTC),
		Scopes: []string{"a", "b"}, TokenURL: "https://example.com/token", ClientID: "client", Origin: digest(secret.New(firstRefresh)),
	}
	where, err := s.Save(t.Context(), want)
	if err != nil {
		t.Fatal(err)
	}
	if file := s.files.where("claude"); where != file+", readable by you alone, not encrypted" {
		t.Errorf("stored in %q", where)
	}
	got := load(t, s)
	if !got.Secret.Equal(firstAccess) || !got.Refresh.Equal(firstRefresh) {
		t.Error("the secrets came back changed")
	}
	got.Secret, got.Refresh = want.Secret, want.Refresh
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestNothingStored(t *testing.T) {
	s := fileStore(t)
	_, _, err := s.Load(t.Context(), "claude")
	var login *LoginError
	if !errors.As(err, &login) || login.Reason != Missing || login.Hint() != "ralph store-token --agent claude" {
		t.Errorf("got %v", err)
	}
	if from, err := s.Forget(t.Context(), "claude"); err != nil || len(from) > 0 {
		t.Errorf("removed %v, %v", from, err)
	}
	if _, _, err := s.Load(t.Context(), "../claude"); err == nil || errors.As(err, &login) {
		t.Errorf("a path for a name: %v", err)
	}
}

func TestForget(t *testing.T) {
	s := fileStore(t)
	save(t, s, newProvider(t).login(time.Hour))
	from, err := s.Forget(t.Context(), "claude")
	if err != nil || len(from) != 1 || from[0] != s.files.where("claude") {
		t.Errorf("removed from %v, %v", from, err)
	}
	assertNoSecretIn(t, s.files.dir)
}

// assertNoSecretIn looks into every file of a folder.
func assertNoSecretIn(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte("sk-ant-")) {
			t.Errorf("%s holds a secret", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A file that cannot be written leaves nothing of the new credential behind.
func TestFileThatCannotBeWritten(t *testing.T) {
	s := fileStore(t)
	// A folder in the way of the renaming stops root, too.
	if err := os.MkdirAll(filepath.Join(s.files.where("claude"), "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(s.files.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Save(t.Context(), newProvider(t).login(time.Hour)); err == nil {
		t.Fatal("it was saved")
	}
	assertNoSecretIn(t, s.files.dir)
	if _, _, err := s.Load(t.Context(), "claude"); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("a folder was read: %v", err)
	}
}

// A keyring that was asked for by name is not replaced by a file, and what it
// holds stays when it takes nothing new.
func TestForcedKeyringThatFails(t *testing.T) {
	keys := &shelf{items: map[string][]byte{}}
	s := fileStore(t)
	s.places = []place{keys}
	save(t, s, Record{Agent: "claude", Kind: Bearer, Secret: secret.New("the-old-one")})
	keys.gone = errors.New("the keyring is away")
	_, err := s.Save(t.Context(), Record{Agent: "claude", Kind: Bearer, Secret: secret.New("the-new-one")})
	if err == nil || !strings.Contains(hint(err), "RALPH_TOKEN_STORE=file") {
		t.Errorf("got %v, hint %q", err, hint(err))
	}
	keys.gone = nil
	if r := load(t, s); !r.Secret.Equal("the-old-one") {
		t.Error("the old one is gone")
	}
}

// What a writer left that was killed goes with the next one.
func TestUnfinishedFilesAreRemoved(t *testing.T) {
	s := fileStore(t)
	save(t, s, newProvider(t).login(time.Hour))
	left := filepath.Join(s.files.dir, unfinishedPrefix("claude")+"X")
	other := filepath.Join(s.files.dir, unfinishedPrefix("codex")+"X")
	for _, path := range []string{left, other} {
		if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	save(t, s, newProvider(t).login(time.Hour))
	if _, err := os.Stat(left); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it is still there: %v", err)
	}
	if _, err := os.Stat(other); err != nil {
		t.Errorf("that of another is gone: %v", err)
	}
}

func TestStoreVariable(t *testing.T) {
	if _, err := OpenStore(t.TempDir(), func(string) string { return "safe" }); err == nil || !strings.Contains(err.Error(), `RALPH_TOKEN_STORE is "safe"`) {
		t.Errorf("got %v", err)
	}
}

// What is not a record of ours is an error and never a credential.
func TestUnreadableRecords(t *testing.T) {
	good := `{"version":1,"agent":"claude","kind":"bearer","secret":"abcdefgh","stored_at":"2026-01-01T00:00:00Z"}`
	for name, text := range map[string]string{
		"empty":                "",
		"cut off":              good[:len(good)-5],
		"twice":                good + good,
		"a newer version":      strings.Replace(good, `"version":1`, `"version":2`, 1),
		"another's":            strings.Replace(good, `"agent":"claude"`, `"agent":"codex"`, 1),
		"unknown kind":         strings.Replace(good, `bearer`, `bare`, 1),
		"unknown member":       strings.Replace(good, `"kind"`, `"x":1,"kind"`, 1),
		"a member twice":       strings.Replace(good, `"kind"`, `"secret":"12345678","kind"`, 1),
		"a line in the secret": strings.Replace(good, `abcdefgh`, `abcd\r\nefgh`, 1),
		"refresh to anywhere":  strings.Replace(good, `"kind"`, `"refresh":"abcdefgh","token_url":"http://example.com/","kind"`, 1),
		"too large":            good + strings.Repeat(" ", maxRecordSize),
	} {
		t.Run(name, func(t *testing.T) {
			s := fileStore(t)
			save(t, s, Record{Agent: "claude", Kind: Bearer, Secret: secret.New("12345678")})
			if err := os.WriteFile(s.files.where("claude"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			_, _, err := s.Load(t.Context(), "claude")
			if err == nil || strings.Contains(err.Error(), "abcdefgh") || !strings.Contains(hint(err), "forget-token") {
				t.Errorf("got %v, hint %q", err, hint(err))
			}
		})
	}
}

// shelf is a place in memory that can be out of reach.
type shelf struct {
	mu    sync.Mutex
	gone  error
	items map[string][]byte
}

func (s *shelf) do(f func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gone != nil {
		return unreachableError{s.gone}
	}
	return f()
}

func (s *shelf) get(_ context.Context, name string) (data []byte, err error) {
	err = s.do(func() error {
		if data = s.items[name]; data == nil {
			return errNone
		}
		return nil
	})
	return data, err
}

func (s *shelf) put(_ context.Context, name string, data []byte) error {
	return s.do(func() error { s.items[name] = data; return nil })
}

func (s *shelf) remove(_ context.Context, name string) error {
	return s.do(func() error {
		if s.items[name] == nil {
			return errNone
		}
		delete(s.items, name)
		return nil
	})
}

func (*shelf) where(string) string { return "the shelf" }

// A keyring comes and goes with the session: what was stored while it was away
// is still found when it is back, and the newest counts.
func TestPlacesThatComeAndGo(t *testing.T) {
	keys := &shelf{items: map[string][]byte{}}
	s := fileStore(t)
	s.places = []place{keys, s.files}
	record := func(text string, day int) Record {
		return Record{Agent: "claude", Kind: Bearer, Secret: secret.New(text), StoredAt: time.Date(2026, 1, day, 0, 0, 0, 0, time.UTC)}
	}

	save(t, s, record("in-the-keyring", 1))
	if _, where, err := s.Load(t.Context(), "claude"); err != nil || where != "the shelf" {
		t.Errorf("%s, %v", where, err)
	}
	keys.gone = errors.New("the keyring is away")
	if _, _, err := s.Load(t.Context(), "claude"); err == nil || !strings.Contains(err.Error(), "none is stored in a file, and the keyring is away") {
		t.Errorf("got %v", err)
	}
	where, err := s.Save(t.Context(), record("in-a-file", 2))
	if want := s.files.where("claude") + ", readable by you alone, not encrypted: the keyring is away"; err != nil || where != want {
		t.Errorf("stored in %q, %v", where, err)
	}
	keys.gone = nil
	if r := load(t, s); !r.Secret.Equal("in-a-file") {
		t.Error("the older one counts")
	}
	save(t, s, record("in-the-keyring-again", 3))
	if _, err := s.files.get(t.Context(), "claude"); !errors.Is(err, errNone) {
		t.Errorf("the file is still there: %v", err)
	}
	if from, err := s.Forget(t.Context(), "claude"); err != nil || len(from) != 1 || len(keys.items) > 0 {
		t.Errorf("removed from %v, %v", from, err)
	}
}

func FuzzRecord(f *testing.F) {
	f.Add([]byte(`{"version":1,"agent":"claude","kind":"bearer","secret":"abcdefgh","stored_at":"2026-01-01T00:00:00Z"}`))
	f.Add([]byte(`{"version":1,"agent":"c","kind":"claude-login","secret":"abcdefgh","refresh":"abcdefgh","token_url":"https://h/","stored_at":"0001-01-01T00:00:00Z"}`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := decode(data)
		if err != nil {
			return
		}
		again, err := r.encode()
		if err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		if back, err := decode(again); err != nil || !back.Secret.Equal(r.Secret.Reveal()) || back.Renewable() != r.Renewable() {
			t.Errorf("read back as %+v, %v", back, err)
		}
	})
}
