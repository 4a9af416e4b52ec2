package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agent-loop/ralph/internal/cli"
	"github.com/agent-loop/ralph/internal/secret"
	"github.com/agent-loop/ralph/internal/token"
)

const (
	goodToken = "sk-ant-oat01-good-not-real-0123456789"
	badToken  = "sk-ant-oat01-bad-not-real-0123456789"
)

// bank is a home directory with a store of credentials, and a provider.
type bank struct {
	home, state, project string
	env                  []string

	*httptest.Server
	mu      sync.Mutex
	takes   []string // the credentials that the provider takes
	asked   []string // what it was asked with
	renewed int
}

func newBank(t *testing.T) *bank {
	t.Helper()
	b := &bank{home: t.TempDir(), state: t.TempDir(), takes: []string{goodToken}}
	b.project = filepath.Join(b.home, "project")
	if err := os.Mkdir(b.project, 0o700); err != nil {
		t.Fatal(err)
	}
	b.Server = httptest.NewServer(b)
	t.Cleanup(b.Close)
	b.env = []string{
		"HOME=" + b.home, "RALPH_STATE_DIR=" + b.state, "RALPH_TOKEN_STORE=file", "PATH=" + os.Getenv("PATH"), "TERM=dumb",
		"HTTPS_PROXY=http://127.0.0.1:1", // whatever goes wrong, no provider is really asked
	}
	return b
}

func (b *bank) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if r.URL.Path == "/token" {
		b.renewed++
		b.takes = []string{goodToken}
		_ = json.NewEncoder(w).Encode(map[string]any{"access_token": goodToken, "refresh_token": "sk-ant-ort01-next-not-real-01234567", "expires_in": 3600})
		return
	}
	given := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	b.asked = append(b.asked, given)
	for _, takes := range b.takes {
		if given == takes {
			return
		}
	}
	w.WriteHeader(http.StatusUnauthorized)
	_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]string{"message": "who is " + given + "?"}})
}

// accepts changes what the provider takes.
func (b *bank) accepts(credentials ...string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.takes = credentials
}

// seen is how often the provider was asked, and how often it renewed.
func (b *bank) seen() (asked, renewed int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.asked), b.renewed
}

type said struct {
	out, err string
	code     int
}

// run runs ralph in the project. Whatever it says, it says without a secret.
func (b *bank) run(t *testing.T, stdin string, args ...string) said {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), ralphBinary, args...)
	var stdout, stderr bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = b.project, b.env, strings.NewReader(stdin), &stdout, &stderr
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	s := said{code: cmd.ProcessState.ExitCode(), out: stdout.String(), err: stderr.String()}
	if strings.Contains(s.err, "not-real") || (args[0] != "get-token" && strings.Contains(s.out, "not-real")) {
		t.Errorf("ralph %v shows a secret: %s%s", args, s.out, s.err)
	}
	return s
}

func (s said) want(t *testing.T, code int, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(s.out+s.err, part) {
			t.Errorf("want %q in: %s%s", part, s.out, s.err)
		}
	}
	if s.code != code {
		t.Errorf("exit code %d, want %d: %s%s", s.code, code, s.out, s.err)
	}
}

// holds checks what is stored, and that it is nowhere else.
func (b *bank) holds(t *testing.T, want string) {
	t.Helper()
	if got := b.run(t, "", "get-token"); strings.TrimSpace(got.out) != want {
		t.Errorf("stored is %q, want %q: %s", got.out, want, got.err)
	}
	for _, dir := range []string{b.home, b.state} {
		_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if data, _ := os.ReadFile(path); err == nil && bytes.Contains(data, []byte("not-real")) &&
				path != filepath.Join(b.state, "tokens", "claude.json") && d.Name() != ".credentials.json" && d.Name() != "claude" {
				t.Errorf("%s holds a secret", path)
			}
			return nil
		})
	}
}

func (b *bank) saves(t *testing.T, r token.Record) {
	t.Helper()
	store, err := token.OpenStore(filepath.Join(b.state, "tokens"), func(string) string { return "file" })
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Save(t.Context(), r); err != nil {
		t.Fatal(err)
	}
}

// A credential is stored when the provider takes it; otherwise the old one stays.
func TestStoreTokenAsksFirst(t *testing.T) {
	b := newBank(t)
	b.run(t, goodToken+"\n", "store-token", "--upstream", b.URL).want(t, 0, "stored the Claude set-up token ")
	b.run(t, badToken, "store-token", "--upstream", b.URL).want(t, 1,
		"ralph: the credential is not valid and was not stored: the provider answered 401: \"who is [redacted:", "ralph: hint: ")
	b.holds(t, goodToken)
	b.run(t, badToken, "store-token", "--upstream", b.URL, "--no-check").want(t, 0, "stored")
	b.holds(t, badToken)
}

func TestCheckTokenAsks(t *testing.T) {
	b := newBank(t)
	b.run(t, goodToken, "store-token", "--upstream", b.URL)
	b.run(t, "", "check-token", "--upstream", b.URL).want(t, 0, "claude: the Claude set-up token ", " is valid, 36")
	b.run(t, "", "ensure", "--upstream", b.URL).want(t, 0, " is valid, 36")
	b.accepts()
	b.run(t, "", "check-token", "--upstream", b.URL).want(t, 1,
		"ralph: no usable credential for claude: the provider answered 401", "ralph: hint: ralph store-token --agent claude\n")
	b.run(t, "", "ensure-token", "--upstream", b.URL).want(t, 1, "ralph: hint: ralph store-token --agent claude\n")
	s := b.run(t, "", "check-token", "--upstream", b.URL, "--json")
	s.want(t, 1, `{"agent":"claude","state":"invalid","reason":"the provider answered 401`)
	if !json.Valid([]byte(s.out)) {
		t.Errorf("no JSON: %s", s.out)
	}
	b.run(t, "", "check-token", "--offline").want(t, 0, "has not expired")
}

func TestCheckTokenWarnsOfTheEnd(t *testing.T) {
	b := newBank(t)
	r, err := token.Parse("claude", "", goodToken, time.Now().AddDate(-1, 0, 5))
	if err != nil {
		t.Fatal(err)
	}
	b.saves(t, r)
	b.run(t, "", "check-token", "--offline").want(t, 0, " days left", "ralph: hint: it ends on ")
	r.ExpiresAt = time.Now().Add(-time.Hour)
	b.saves(t, r)
	before, _ := b.seen()
	b.run(t, "", "check-token", "--upstream", b.URL).want(t, 1, "ralph: no usable credential for claude: it has expired on ", "ralph: hint: ralph store-token --agent claude\n")
	if now, _ := b.seen(); now != before {
		t.Error("an expired token was sent")
	}
}

// A project says where its own agent's calls go, but never where the user's
// credential is sent to be checked. The user's file and environment do.
func TestTokenUpstreamIsTheUsers(t *testing.T) {
	b, stranger := newBank(t), newBank(t)
	write := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(b.project, "ralph.toml"), "[agent]\nname = \"codex\"\nupstream = \""+stranger.URL+"\"\n")
	b.run(t, goodToken, "store-token").want(t, 1, "could not be checked")
	write(filepath.Join(b.home, ".config", "ralph", "config.toml"), "[agent]\nupstream = \""+b.URL+"\"\n")
	b.run(t, goodToken, "store-token").want(t, 0, "for claude in")
	b.run(t, "", "check-token").want(t, 0, "claude: ", "is valid")
	// That address is for the configured agent, and not for another one's key.
	b.run(t, "sk-proj-not-real-0123456789012345", "store-token", "--agent", "codex").want(t, 1, "could not be checked")
	b.env = append(b.env, "RALPH_AGENT_UPSTREAM="+b.URL+"/other")
	b.run(t, "", "check-token").want(t, 0, "is valid")
	if asked, _ := stranger.seen(); asked > 0 {
		t.Error("the project's server was sent a credential")
	}
	if asked, _ := b.seen(); asked != 3 {
		t.Errorf("asked %d times", asked)
	}
}

// login is a login that the bank renews.
func (b *bank) login(access string, left time.Duration) token.Record {
	return token.Record{
		Agent: "claude", Kind: token.ClaudeLogin, Secret: secret.New(access), Refresh: secret.New("sk-ant-ort01-first-not-real-0123456"),
		StoredAt: time.Now().Add(-time.Hour), ExpiresAt: time.Now().Add(left), TokenURL: b.URL + "/token", ClientID: "client",
	}
}

// A login that is about to end, or that is rejected, is renewed on the way.
func TestCheckTokenRenewsALogin(t *testing.T) {
	for _, left := range []time.Duration{-time.Minute, time.Hour} {
		b := newBank(t)
		b.accepts()
		b.saves(t, b.login(badToken, left))
		b.run(t, "", "check-token", "--upstream", b.URL).want(t, 0, "claude: the Claude login ", " is valid; ralph renews it")
		b.holds(t, goodToken)
		if _, renewed := b.seen(); renewed != 1 {
			t.Errorf("%v left: renewed %d times", left, renewed)
		}
	}
}

func TestImport(t *testing.T) {
	b := newBank(t)
	file := filepath.Join(b.home, ".claude", ".credentials.json")
	write := func(access string, left time.Duration) {
		t.Helper()
		data, err := json.Marshal(map[string]any{"claudeAiOauth": map[string]any{
			"accessToken": access, "refreshToken": "sk-ant-ort01-first-not-real-0123456", "expiresAt": time.Now().Add(left).UnixMilli(),
		}})
		if err != nil {
			t.Fatal(err)
		}
		_ = os.Mkdir(filepath.Dir(file), 0o700)
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(goodToken, -time.Hour)
	b.run(t, "", "store-token", "--import", "--upstream", b.URL).want(t, 1, "has expired", `ralph: hint: start "claude" once`)
	write(badToken, time.Hour)
	b.run(t, "", "store-token", "--import", "--upstream", b.URL).want(t, 1, "is not valid and was not stored")
	b.run(t, "", "check-token", "--offline").want(t, 1, "none is stored")
	write(goodToken, time.Hour)
	b.run(t, "", "store-token", "--import", "--upstream", b.URL).want(t, 0,
		"stored the Claude login ", "ralph: note: the login is ralph's from now on", file)
	b.holds(t, goodToken)
	if _, err := os.Stat(file); err != nil {
		t.Errorf("the file is gone: %v", err)
	}
	b.run(t, "", "check-token", "--upstream", b.URL).want(t, 0, "is valid; ralph renews it")
}

// endless is a pipe whose writer never ends it. It tells when somebody reads.
type endless struct{ read chan struct{} }

func (e endless) Read([]byte) (int, error) {
	close(e.read)
	select {}
}

// One interrupt is enough, also while a pipe is waited for.
func TestStoreTokenIsInterrupted(t *testing.T) {
	state, pipe := t.TempDir(), endless{make(chan struct{})}
	env := map[string]string{"RALPH_STATE_DIR": state, "RALPH_TOKEN_STORE": "file", "HOME": t.TempDir()}
	ctx, interrupt := context.WithCancel(t.Context())
	go func() {
		<-pipe.read
		interrupt()
	}()
	var said bytes.Buffer
	w := cli.World{In: pipe, Out: &said, Err: &said, Getenv: func(name string) string { return env[name] }}
	if code := cli.Main(ctx, w, []string{"store-token", "--no-check"}); code != 130 {
		t.Errorf("exit code %d: %s", code, &said)
	}
}
