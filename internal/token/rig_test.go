package token

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	json "github.com/go-json-experiment/json"

	"github.com/agent-loop/ralph/internal/secret"
)

const (
	firstAccess  = "sk-ant-oat01-access-0-aaaaaaaaaaaaaaaa"
	firstRefresh = "sk-ant-ort01-refresh-0-aaaaaaaaaaaaaaa"
)

// provider is a token server that rotates refresh tokens and, as real ones do,
// ends the login when it sees one twice.
type provider struct {
	*httptest.Server

	mu       sync.Mutex
	requests []refreshRequest
	headers  []http.Header
	revoked  bool
	next     func(w http.ResponseWriter, r *http.Request) bool // true: it has answered
}

func newProvider(t *testing.T) *provider {
	p := &provider{}
	p.Server = httptest.NewServer(p)
	t.Cleanup(p.Close)
	return p
}

func (p *provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var request refreshRequest
	if err := json.UnmarshalRead(r.Body, &request, json.RejectUnknownMembers(true)); err != nil {
		http.Error(w, "not understood", http.StatusBadRequest)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.requests = append(p.requests, request)
	p.headers = append(p.headers, r.Header)
	if p.next != nil && p.next(w, r) {
		return
	}
	n := len(p.requests)
	if request.RefreshToken != refreshNumber(n-1) || p.revoked {
		p.revoked = true
		http.Error(w, `{"error":"invalid_grant"}`, http.StatusBadRequest)
		return
	}
	_ = json.MarshalWrite(w, map[string]any{
		"access_token": accessNumber(n), "refresh_token": refreshNumber(n),
		"expires_in": 8 * 3600, "scope": "user:inference user:profile", "token_type": "Bearer",
	})
}

func (p *provider) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.requests)
}

func accessNumber(n int) string {
	return "sk-ant-oat01-access-" + strconv.Itoa(n) + "-aaaaaaaaaaaaaaaa"
}

func refreshNumber(n int) string {
	return "sk-ant-ort01-refresh-" + strconv.Itoa(n) + "-aaaaaaaaaaaaaaa"
}

// login is a record that p can renew, and that has as long to live.
func (p *provider) login(left time.Duration) Record {
	now := time.Now()
	return Record{
		Agent: "claude", Kind: ClaudeLogin, Secret: secret.New(firstAccess), Refresh: secret.New(firstRefresh),
		StoredAt: now.Add(-time.Hour), ExpiresAt: now.Add(left), Scopes: []string{"user:inference", "user:profile"},
		TokenURL: p.URL + "/v1/oauth/token", ClientID: "the-client",
	}
}

// fileStore is a store of files alone, in a folder of its own.
func fileStore(t *testing.T) *Store {
	t.Helper()
	return openFileStore(t, filepath.Join(t.TempDir(), "tokens"))
}

func openFileStore(t *testing.T, dir string) *Store {
	t.Helper()
	s, err := OpenStore(dir, func(name string) string {
		return map[string]string{StoreVariable: "file"}[name]
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func save(t *testing.T, s *Store, r Record) {
	t.Helper()
	if _, err := s.Save(t.Context(), r); err != nil {
		t.Fatal(err)
	}
}

func load(t *testing.T, s *Store) Record {
	t.Helper()
	r, _, err := s.Load(t.Context(), "claude")
	if err != nil {
		t.Fatal(err)
	}
	return r
}
