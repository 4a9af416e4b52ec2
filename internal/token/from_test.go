package token

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-loop/ralph/internal/secret"
)

func TestFromSpecs(t *testing.T) {
	for _, test := range []struct {
		name string
		spec Spec
		want string
	}{
		{"nowhere", Spec{}, `not from ""`},
		{"elsewhere", Spec{From: "vault", Name: "x"}, `not from "vault"`},
		{"a variable without a name", Spec{From: FromEnv}, "needs a name"},
		{"a file without a path", Spec{From: FromFile}, "needs a path"},
		{"a command without one", Spec{From: FromCommand}, "needs a command"},
		{"a file with a name", Spec{From: FromFile, Path: "/x", Name: "x"}, "no use for a name"},
		{"a variable with a command", Spec{From: FromEnv, Name: "X", Command: []string{"x"}}, "no use for a command"},
		{"a relative path", Spec{From: FromFile, Path: "token"}, "neither absolute"},
		{"a relative program", Spec{From: FromCommand, Command: []string{"./get-token"}}, "neither absolute nor a name"},
		{"a path for a name", Spec{From: FromStore, Name: "../x"}, "name of a credential"},
		{"an unknown kind", Spec{From: FromEnv, Name: "X", Kind: "gold"}, `no kind "gold"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			if _, err := From(test.spec, Host{}); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q in it", err, test.want)
			}
		})
	}
}

// askSource makes a source and asks it.
func askSource(t *testing.T, spec Spec, host Host) (Source, Credential, error) {
	t.Helper()
	s, err := From(spec, host)
	if err != nil {
		t.Fatal(err)
	}
	c, err := s.Token(t.Context())
	return s, c, err
}

func TestFromEnv(t *testing.T) {
	value := " the-secret-value \n"
	host := Host{Getenv: func(name string) string { return map[string]string{"MY_KEY": value}[name] }}
	s, c, err := askSource(t, Spec{From: FromEnv, Name: "MY_KEY", Kind: OpenAIKey}, host)
	if err != nil || c.Kind != OpenAIKey || !c.Secret.Equal("the-secret-value") {
		t.Errorf("%+v, %v", c, err)
	}
	_, err = s.Rejected(t.Context(), c)
	wantLogin(t, err, Rejected)
	_, _, err = askSource(t, Spec{From: FromEnv, Name: "OTHER"}, host)
	if err == nil || !strings.Contains(err.Error(), "the variable OTHER: it is not set") || !strings.Contains(hint(err), "export OTHER=") {
		t.Errorf("%v, hint %q", err, hint(err))
	}
	value = "two\nlines"
	if _, _, err = askSource(t, Spec{From: FromEnv, Name: "MY_KEY"}, host); err == nil || strings.Contains(err.Error(), "two") {
		t.Errorf("two lines: %v", err)
	}
}

func TestFromStore(t *testing.T) {
	store := fileStore(t)
	_, _, err := askSource(t, Spec{From: FromStore, Name: "github"}, Host{Store: store})
	wantLogin(t, err, Missing)
	save(t, store, Record{Agent: "github", Kind: GeminiKey, Secret: secret.New("the-secret-value")})
	if _, c, err := askSource(t, Spec{From: FromStore, Name: "github"}, Host{Store: store}); err != nil || c.Kind != GeminiKey || !c.Secret.Equal("the-secret-value") {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestFromFile(t *testing.T) {
	home := t.TempDir()
	path := filepath.Join(home, "key")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("the-secret-value\n")
	s, c, err := askSource(t, Spec{From: FromFile, Path: "~/key"}, Host{Home: home})
	if err != nil || c.Kind != Bearer || !c.Secret.Equal("the-secret-value") {
		t.Fatalf("%+v, %v", c, err)
	}
	// A file that somebody rotates is read again after a rejection.
	_, err = s.Rejected(t.Context(), c)
	wantLogin(t, err, Rejected)
	write("another-secret-value\n")
	if c, err := s.Rejected(t.Context(), c); err != nil || !c.Secret.Equal("another-secret-value") {
		t.Errorf("%+v, %v", c, err)
	}

	for name, spoil := range map[string]func(){
		"empty":     func() { write("") },
		"too long":  func() { write(strings.Repeat("x", MaxSize+1)) },
		"a folder":  func() { path = home },
		"not there": func() { path = filepath.Join(home, "none") },
	} {
		path = filepath.Join(home, "key")
		write("the-secret-value")
		spoil()
		if _, c, err := askSource(t, Spec{From: FromFile, Path: path}, Host{}); err == nil {
			t.Errorf("%s: got %+v", name, c)
		}
	}
}

// rejectedError is what a source without another credential says.
func rejectedError(err error) bool {
	var login *LoginError
	return errors.As(err, &login) && login.Reason == Rejected
}
