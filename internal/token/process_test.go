package token

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/agent-loop/ralph/internal/secret"
)

// helperVariable makes the test binary one of several ralphs: "token DIR" asks
// for the credential, "rejected DIR" reports the first one as rejected.
const helperVariable = "RALPH_TEST_TOKEN_HELPER"

func TestMain(m *testing.M) {
	if what := os.Getenv(helperVariable); what != "" {
		os.Exit(help(what))
	}
	os.Exit(m.Run())
}

// help says that it is ready, waits for a line, does it, and prints the
// fingerprint of what it got.
func help(what string) int {
	verb, dir, _ := strings.Cut(what, " ")
	store, err := OpenStore(dir, os.Getenv)
	if err != nil {
		fmt.Println("error:", err)
		return 1
	}
	fmt.Println("ready")
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		return 1
	}
	s := store.Source("claude")
	ask := s.Token
	if verb == "rejected" {
		ask = func(ctx context.Context) (Credential, error) {
			return s.Rejected(ctx, Credential{Kind: ClaudeLogin, Secret: secret.New(firstAccess)})
		}
	}
	c, err := ask(context.Background())
	if err != nil {
		fmt.Println("error:", err)
		return 1
	}
	fmt.Println(c.Secret.Fingerprint())
	return 0
}

// ralph is a running helper.
type ralph struct {
	*exec.Cmd
	lines *bufio.Scanner
	start func()
}

func startHelper(t *testing.T, what string, env ...string) *ralph {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(append(os.Environ(), helperVariable+"="+what, StoreVariable+"=file"), env...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	h := &ralph{cmd, bufio.NewScanner(out), func() { _, _ = in.Write([]byte("\n")) }}
	if line := h.line(); line != "ready" {
		t.Fatalf("the helper says %q", line)
	}
	return h
}

func (h *ralph) line() string {
	h.lines.Scan()
	return h.lines.Text()
}

// race lets eight processes ask for the same credential at once. They all get
// the new one or, if the old one still works, that.
func race(t *testing.T, p *provider, what string, oldWorks bool, env ...string) {
	t.Helper()
	var all []*ralph
	for range 8 {
		all = append(all, startHelper(t, what, env...))
	}
	for _, h := range all {
		h.start()
	}
	old, renewed := secret.New(firstAccess).Fingerprint(), secret.New(accessNumber(1)).Fingerprint()
	for _, h := range all {
		if got := h.line(); got != renewed && (got != old || !oldWorks) {
			t.Errorf("a process got %q, not %s", got, renewed)
		}
		if err := h.Wait(); err != nil {
			t.Error(err)
		}
	}
	if p.count() != 1 || p.revoked {
		t.Errorf("%d renewals, revoked: %v", p.count(), p.revoked)
	}
}

func TestProcessesRenewOnce(t *testing.T) {
	for _, test := range []struct {
		verb     string
		left     time.Duration
		oldWorks bool
	}{{"token", -time.Minute, false}, {"token", 4 * time.Minute, true}, {"rejected", time.Hour, false}} {
		t.Run(fmt.Sprint(test.verb, " with ", test.left, " left"), func(t *testing.T) {
			p := newProvider(t)
			store := fileStore(t)
			save(t, store, p.login(test.left))
			race(t, p, test.verb+" "+store.files.dir, test.oldWorks)
			if r := load(t, store); !r.Refresh.Equal(refreshNumber(1)) {
				t.Error("the new pair is not stored")
			}
		})
	}
}

// A process that dies between sending a refresh token and storing the answer
// leaves a trace; the next one says what to do and sends nothing.
func TestKilledWhileRenewing(t *testing.T) {
	p := newProvider(t)
	store := fileStore(t)
	save(t, store, p.login(-time.Minute))
	arrived, killed := make(chan struct{}), make(chan struct{})
	p.next = func(http.ResponseWriter, *http.Request) bool { close(arrived); <-killed; return true }
	victim := startHelper(t, "token "+store.files.dir)
	victim.start()
	<-arrived
	if err := victim.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = victim.Wait()
	close(killed)

	_, err := store.Source("claude").Token(t.Context())
	wantLogin(t, err, Interrupted)
	if err == nil || !strings.Contains(hint(err), "log in again with") {
		t.Errorf("hint %q", hint(err))
	}
	if p.count() != 1 {
		t.Errorf("%d requests", p.count())
	}
	// A new login mends it.
	next := p.login(time.Hour)
	next.Refresh = secret.New("sk-ant-ort01-of-a-new-login-aaaaaaaa")
	save(t, store, next)
	if _, err := store.Source("claude").Token(t.Context()); err != nil {
		t.Error(err)
	}
}

// A new credential does not get between the steps of a renewal.
func TestSaveWaitsForARenewal(t *testing.T) {
	p := newProvider(t)
	store := fileStore(t)
	save(t, store, p.login(-time.Minute))
	saved := make(chan error, 1)
	arrived := make(chan struct{})
	p.next = func(http.ResponseWriter, *http.Request) bool {
		go func() {
			close(arrived)
			_, err := store.Save(context.Background(), Record{Agent: "claude", Kind: Bearer, Secret: secret.New("the-users-own"), StoredAt: time.Now()})
			saved <- err
		}()
		<-arrived
		return false
	}
	if _, err := store.Source("claude").Token(t.Context()); err != nil {
		t.Error(err)
	}
	if err := <-saved; err != nil {
		t.Error(err)
	}
	if r := load(t, store); !r.Secret.Equal("the-users-own") {
		t.Error("what the user stored was lost")
	}
}
