package token

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agent-loop/ralph/internal/secret"
)

// source is that of a store whose record p renews, with as long left.
func source(t *testing.T, p *provider, left time.Duration) (*storedSource, *Store) {
	t.Helper()
	s := fileStore(t)
	save(t, s, p.login(left))
	return newStoredSource(s, "claude", time.Now), s
}

func wantLogin(t *testing.T, err error, reason Reason) {
	t.Helper()
	var login *LoginError
	if !errors.As(err, &login) || login.Reason != reason || login.Fix == "" {
		t.Errorf("error %v, want a LoginError with reason %s and a fix", err, reason)
	}
}

func TestTokenThatIsGood(t *testing.T) {
	p := newProvider(t)
	s, _ := source(t, p, time.Hour)
	for range 3 {
		c, err := s.Token(t.Context())
		if err != nil || !c.Secret.Equal(firstAccess) || c.Kind != ClaudeLogin {
			t.Fatalf("%+v, %v", c, err)
		}
	}
	if p.count() != 0 {
		t.Error("it was renewed")
	}
}

// Within five minutes of its end, and after it, a login is renewed: with one
// request, of the form that Claude Code sends.
func TestRenewal(t *testing.T) {
	for _, left := range []time.Duration{-time.Hour, 4 * time.Minute} {
		p := newProvider(t)
		s, store := source(t, p, left)
		for range 3 {
			c, err := s.Token(t.Context())
			if err != nil || !c.Secret.Equal(accessNumber(1)) {
				t.Fatalf("%v left: %+v, %v", left, c, err)
			}
		}
		if p.count() != 1 {
			t.Fatalf("%v left: %d requests", left, p.count())
		}
		if got, want := p.requests[0], (refreshRequest{"refresh_token", firstRefresh, "the-client", "user:inference user:profile"}); got != want {
			t.Errorf("asked with %+v", got)
		}
		if got := p.headers[0].Get("Content-Type"); got != "application/json" {
			t.Errorf("content type %q", got)
		}
		r := load(t, store)
		if !r.Secret.Equal(accessNumber(1)) || !r.Refresh.Equal(refreshNumber(1)) || !r.RefreshSent.IsZero() {
			t.Errorf("stored %+v", r)
		}
		if got := time.Until(r.ExpiresAt); got < 7*time.Hour || got > 8*time.Hour {
			t.Errorf("it lives for %v", got)
		}
	}
}

// A 401 renews, once for however many requests got it.
func TestRejectedRenewsOnce(t *testing.T) {
	p := newProvider(t)
	s, _ := source(t, p, time.Hour)
	old, err := s.Token(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var requests sync.WaitGroup
	for range 20 {
		requests.Go(func() {
			if c, err := s.Rejected(t.Context(), old); err != nil || !c.Secret.Equal(accessNumber(1)) {
				t.Errorf("%+v, %v", c, err)
			}
		})
	}
	requests.Wait()
	if p.count() != 1 {
		t.Errorf("%d requests", p.count())
	}
	// A provider that rejects the new one as well would reject the next, too.
	next, err := s.Token(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Rejected(t.Context(), next)
	wantLogin(t, err, Rejected)
	if p.count() != 1 {
		t.Errorf("%d requests", p.count())
	}
}

// What cannot be renewed is read from the store again: the user may have put a
// new one there while a run goes on.
func TestRejectedFindsANewOne(t *testing.T) {
	store := fileStore(t)
	record := func(text string) Record {
		r, err := Parse("claude", "", text, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	save(t, store, record("sk-ant-oat01-old-"+body))
	s := store.Source("claude")
	old, err := s.Token(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Rejected(t.Context(), old)
	wantLogin(t, err, Rejected)
	save(t, store, record("sk-ant-oat01-new-"+body))
	if c, err := s.Rejected(t.Context(), old); err != nil || !c.Secret.Equal("sk-ant-oat01-new-"+body) {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestExpiredWithoutRefresh(t *testing.T) {
	store := fileStore(t)
	r, err := Parse("claude", "", "sk-ant-oat01-"+body, time.Now().AddDate(-1, 0, -1))
	if err != nil {
		t.Fatal(err)
	}
	save(t, store, r)
	_, err = store.Source("claude").Token(t.Context())
	wantLogin(t, err, Expired)
}

// How a provider fails decides whether the refresh token is ever sent again.
func TestRenewalThatFails(t *testing.T) {
	status := func(code int) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(code); return true }
	}
	answer := func(text string) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, _ *http.Request) bool { _, _ = w.Write([]byte(text)); return true }
	}
	for _, test := range []struct {
		name  string
		next  func(http.ResponseWriter, *http.Request) bool
		want  Reason // "": it passes
		again bool   // it is sent once more
	}{
		{"refused", status(400), Rejected, false},
		{"unauthorised", status(401), Rejected, false},
		{"too many requests", status(429), "", true},
		{"unavailable", status(503), "", true},
		{"overloaded", status(529), "", true},
		{"a failure", status(500), Interrupted, false},
		{"a gateway's failure", status(502), Interrupted, false},
		{"nothing", answer(""), Interrupted, false},
		{"no JSON", answer("<html>"), Interrupted, false},
		{"no token", answer(`{"expires_in":1}`), Interrupted, false},
		{"a token that is none", answer(`{"access_token":"a b","refresh_token":"abcdefgh"}`), Interrupted, false},
		{"two tokens", answer(`{"access_token":"abcdefgh","access_token":"ijklmnop"}`), Interrupted, false},
		{"endless", answer(`{"access_token":"abcdefgh","x":"` + strings.Repeat("x", maxAnswer) + `"}`), Interrupted, false},
		{"elsewhere", func(w http.ResponseWriter, r *http.Request) bool {
			http.Redirect(w, r, "/again", http.StatusTemporaryRedirect)
			return true
		}, Interrupted, false},
		{"hung up", func(http.ResponseWriter, *http.Request) bool { panic(http.ErrAbortHandler) }, Interrupted, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := newProvider(t)
			s, store := source(t, p, -time.Minute)
			p.next = test.next
			_, err := s.Token(t.Context())
			var login *LoginError
			switch {
			case err == nil:
				t.Fatal("it was renewed")
			case test.want != "":
				wantLogin(t, err, test.want)
			case errors.As(err, &login):
				t.Errorf("%v needs a person", err)
			}
			p.mu.Lock()
			p.next, p.requests = nil, nil
			p.mu.Unlock()
			_, err = newStoredSource(store, "claude", time.Now).Token(t.Context())
			if sent := p.count() == 1; sent != test.again || test.again != (err == nil) {
				t.Errorf("sent again: %v, and %v", sent, err)
			}
		})
	}
}

// A provider that cannot be reached has not seen the token.
func TestProviderOutOfReach(t *testing.T) {
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone.Close()
	p := newProvider(t)
	r := p.login(-time.Minute)
	r.TokenURL = "http://" + gone.Addr().String()
	store := fileStore(t)
	save(t, store, r)
	_, err = store.Source("claude").Token(t.Context())
	var login *LoginError
	if err == nil || errors.As(err, &login) || !load(t, store).Renewable() {
		t.Errorf("got %v", err)
	}
	if strings.Contains(err.Error(), firstRefresh) {
		t.Errorf("the error holds the token: %v", err)
	}
}

// While the old token still works, a failure to renew it ahead of time is no
// failure, and is not repeated with each request.
func TestRenewalAheadMayFail(t *testing.T) {
	for _, code := range []int{503, 400} {
		p := newProvider(t)
		s, _ := source(t, p, 4*time.Minute)
		p.next = func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(code); return true }
		for range 3 {
			if c, err := s.Token(t.Context()); err != nil || !c.Secret.Equal(firstAccess) {
				t.Errorf("%d: %+v, %v", code, c, err)
			}
		}
		if p.count() != 1 {
			t.Errorf("%d: %d requests", code, p.count())
		}
	}
}

// An interrupt does not lose the answer to a refresh token that was sent.
func TestInterruptedWhileRenewing(t *testing.T) {
	p := newProvider(t)
	s, store := source(t, p, -time.Minute)
	ctx, cancel := context.WithCancel(t.Context())
	p.next = func(http.ResponseWriter, *http.Request) bool { cancel(); return false }
	if _, err := s.Token(ctx); err != nil {
		t.Error(err)
	}
	if r := load(t, store); !r.Refresh.Equal(refreshNumber(1)) {
		t.Error("the new pair was lost")
	}
}

// While the provider is asked, the store says so.
func TestMarkIsWrittenFirst(t *testing.T) {
	p := newProvider(t)
	s, store := source(t, p, -time.Minute)
	marked := false
	p.next = func(http.ResponseWriter, *http.Request) bool {
		r, _, err := store.Load(context.Background(), "claude")
		marked = err == nil && !r.RefreshSent.IsZero() && r.Refresh.Equal(firstRefresh)
		return false
	}
	if _, err := s.Token(t.Context()); err != nil || !marked {
		t.Errorf("marked: %v, %v", marked, err)
	}
}

// A login that is taken over a second time, from the same old file, would send a
// refresh token again that was sent before. It is not stored over the better one.
func TestSpentLoginIsNotStoredAgain(t *testing.T) {
	for name, left := range map[string]func(http.ResponseWriter, *http.Request) bool{
		"renewed":     func(http.ResponseWriter, *http.Request) bool { return false },
		"interrupted": func(http.ResponseWriter, *http.Request) bool { panic(http.ErrAbortHandler) },
	} {
		t.Run(name, func(t *testing.T) {
			p := newProvider(t)
			s, store := source(t, p, time.Hour)
			save(t, store, p.login(time.Hour)) // nothing was spent yet
			p.next = left
			_, _ = s.Rejected(t.Context(), Credential{Kind: ClaudeLogin, Secret: secret.New(firstAccess)})
			before := load(t, store)
			again := p.login(-time.Minute)
			again.StoredAt = time.Now()
			if _, err := store.Save(t.Context(), again); err == nil || hint(err) == "" {
				t.Errorf("it was stored again: %v", err)
			}
			if now := load(t, store); !now.Refresh.Equal(before.Refresh.Reveal()) || !now.RefreshSent.Equal(before.RefreshSent) {
				t.Error("what was stored has changed")
			}
			if _, err := store.Source("claude").Token(t.Context()); p.revoked || p.count() != 1 {
				t.Errorf("%d requests, revoked: %v, %v", p.count(), p.revoked, err)
			}
			// A login that is really new is taken.
			again.Refresh = secret.New("sk-ant-ort01-of-a-new-login-aaaaaaaa")
			save(t, store, again)
		})
	}
}

// A new pair that cannot be stored is not used: the next process would send the
// old refresh token again.
func TestNewPairThatCannotBeStored(t *testing.T) {
	p := newProvider(t)
	keys := &shelf{items: map[string][]byte{}}
	store := fileStore(t)
	store.places = []place{keys}
	save(t, store, p.login(-time.Minute))
	p.next = func(http.ResponseWriter, *http.Request) bool {
		keys.mu.Lock()
		defer keys.mu.Unlock()
		keys.gone = errors.New("the keyring went away")
		return false
	}
	_, err := store.Source("claude").Token(t.Context())
	wantLogin(t, err, Interrupted)
	keys.gone = nil
	_, err = store.Source("claude").Token(t.Context())
	wantLogin(t, err, Interrupted)
	if p.count() != 1 {
		t.Errorf("%d requests", p.count())
	}
}

func TestAuthorize(t *testing.T) {
	for kind, want := range map[Kind]http.Header{
		SetupToken:   {"Authorization": {"Bearer s3cret-s3cret"}, "Anthropic-Beta": {"other-1,other-2," + oauthBeta}},
		ClaudeLogin:  {"Authorization": {"Bearer s3cret-s3cret"}, "Anthropic-Beta": {"other-1,other-2," + oauthBeta}},
		AnthropicKey: {"X-Api-Key": {"s3cret-s3cret"}, "Anthropic-Beta": {"other-1, other-2"}},
		OpenAIKey:    {"Authorization": {"Bearer s3cret-s3cret"}, "Anthropic-Beta": {"other-1, other-2"}},
		GeminiKey:    {"X-Goog-Api-Key": {"s3cret-s3cret"}, "Anthropic-Beta": {"other-1, other-2"}},
		Bearer:       {"Authorization": {"Bearer s3cret-s3cret"}, "Anthropic-Beta": {"other-1, other-2"}},
	} {
		h := http.Header{
			"Authorization": {"Bearer phantom", "Bearer phantom2"}, "X-Api-Key": {"phantom"}, "X-Goog-Api-Key": {"phantom"},
			"Anthropic-Beta": {"other-1, other-2"},
		}
		c := Credential{Kind: kind, Secret: secret.New("s3cret-s3cret")}
		for range 2 { // the second time changes nothing
			c.Authorize(h)
			if len(h) != len(want) {
				t.Errorf("%s: %v", kind, h)
			}
			for name := range want {
				if strings.Join(h[name], "|") != strings.Join(want[name], "|") {
					t.Errorf("%s: %s is %q, want %q", kind, name, h[name], want[name])
				}
			}
		}
	}
}
