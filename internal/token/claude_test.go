package token

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const claudeLogin = `{"claudeAiOauth":{"accessToken":"` + firstAccess + `","refreshToken":"` + firstRefresh + `",
	"expiresAt":1767225600000,"scopes":["user:inference","user:profile"],"subscriptionType":"max","rateLimitTier":"x"},"mcpOAuth":{}}`

func TestReadClaudeLogin(t *testing.T) {
	path := filepath.Join(t.TempDir(), ".credentials.json")
	if err := os.WriteFile(path, []byte(claudeLogin), 0o600); err != nil {
		t.Fatal(err)
	}
	now := time.Date(2025, 12, 31, 20, 0, 0, 0, time.UTC)
	r, err := ReadClaudeLogin(path, now)
	if err != nil {
		t.Fatal(err)
	}
	if r.Agent != "claude" || r.Kind != ClaudeLogin || !r.Secret.Equal(firstAccess) || !r.Refresh.Equal(firstRefresh) || !r.Renewable() {
		t.Errorf("got %+v", r)
	}
	if want := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC); !r.ExpiresAt.Equal(want) || !r.StoredAt.Equal(now) {
		t.Errorf("expires %v, stored %v", r.ExpiresAt, r.StoredAt)
	}
	if r.TokenURL != "https://platform.claude.com/v1/oauth/token" || strings.Join(r.Scopes, " ") != "user:inference user:profile" {
		t.Errorf("renewed at %s for %v", r.TokenURL, r.Scopes)
	}
}

func TestReadClaudeLoginThatIsNone(t *testing.T) {
	for name, text := range map[string]string{
		"empty":            "",
		"another file":     "{}",
		"no refresh token": strings.Replace(claudeLogin, firstRefresh, "", 1),
		"a line in it":     strings.Replace(claudeLogin, firstRefresh, `abcdefgh\nijkl`, 1),
		"a member twice":   strings.Replace(claudeLogin, `"expiresAt"`, `"accessToken":"abcdefgh","expiresAt"`, 1),
		"too large":        claudeLogin + strings.Repeat(" ", maxRecordSize),
	} {
		path := filepath.Join(t.TempDir(), "c.json")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if r, err := ReadClaudeLogin(path, time.Now()); err == nil || strings.Contains(err.Error(), "sk-ant") {
			t.Errorf("%s: got %+v, %v", name, r, err)
		}
	}
	if _, err := ReadClaudeLogin(filepath.Join(t.TempDir(), "none"), time.Now()); err == nil || hint(err) == "" {
		t.Errorf("no file: %v", err)
	}
}

func FuzzClaudeLogin(f *testing.F) {
	f.Add([]byte(claudeLogin))
	f.Add([]byte(`{"claudeAiOauth":{"accessToken":"abcdefgh","refreshToken":"abcdefgh","expiresAt":9223372036854775807,"scopes":null}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := parseClaudeLogin(data, time.Unix(1e9, 0))
		if err != nil {
			return
		}
		if _, err := r.encode(); err != nil {
			t.Errorf("what was read cannot be stored: %v", err)
		}
	})
}

// What a token server says is the provider's, or a proxy's on the way.
func FuzzRefreshAnswer(f *testing.F) {
	f.Add([]byte(`{"access_token":"abcdefgh","refresh_token":"ijklmnop","expires_in":3600,"scope":"a b"}`))
	f.Add([]byte(`{"access_token":"abcdefgh","expires_in":-1}`))
	f.Add([]byte(`{"access_token":"abcdefgh","expires_in":9223372036854775807}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		old, err := parseClaudeLogin([]byte(claudeLogin), time.Unix(1e9, 0))
		if err != nil {
			t.Fatal(err)
		}
		now := time.Unix(2e9, 0)
		r, err := old.renewedBy(data, now)
		if err != nil {
			return
		}
		if !r.Renewable() || r.expired(now) || r.TokenURL != old.TokenURL || r.ExpiresAt.After(now.Add(maxLifetime)) {
			t.Errorf("got %+v", r)
		}
		if _, err := r.encode(); err != nil {
			t.Errorf("what was answered cannot be stored: %v", err)
		}
	})
}
