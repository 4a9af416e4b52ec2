package token

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	json "github.com/go-json-experiment/json"

	"github.com/agent-loop/ralph/internal/secret"
)

// claudeFile is what Claude Code keeps of a login.
type claudeFile struct {
	Login struct {
		AccessToken  string   `json:"accessToken"`
		RefreshToken string   `json:"refreshToken"`
		ExpiresAt    int64    `json:"expiresAt"` // milliseconds
		Scopes       []string `json:"scopes"`
	} `json:"claudeAiOauth"`
}

// ReadClaudeLogin reads the login that Claude Code keeps in a file, which must
// be private to the user. The file stays as it is; but once the login is renewed
// from the record, the copy in the file is worthless.
func ReadClaudeLogin(path string, now time.Time) (Record, error) {
	data, err := readPrivate(path, maxRecordSize, checkPrivate)
	if errors.Is(err, fs.ErrNotExist) {
		return Record{}, withHint(fmt.Errorf("there is no Claude login in %s", path),
			`log in with "claude" first; where Claude Code keeps its login in a keychain, "ralph store-token" gets a token of its own`)
	}
	if err != nil {
		return Record{}, fmt.Errorf("reading the Claude login in %s: %w", path, err)
	}
	r, err := parseClaudeLogin(data, now)
	if err != nil {
		return Record{}, fmt.Errorf("reading the Claude login in %s: %w", path, err)
	}
	return r, nil
}

// parseClaudeLogin quotes nothing of data in its errors.
func parseClaudeLogin(data []byte, now time.Time) (Record, error) {
	var f claudeFile
	if len(data) > maxRecordSize || json.Unmarshal(data, &f) != nil {
		return Record{}, errors.New("it is not what Claude Code writes")
	}
	if f.Login.AccessToken == "" || f.Login.RefreshToken == "" {
		return Record{}, withHint(errors.New("it holds no login with a refresh token"), `log in with "claude" first`)
	}
	r := Record{
		Agent: "claude", Kind: ClaudeLogin, StoredAt: now, Scopes: f.Login.Scopes,
		Secret: secret.New(f.Login.AccessToken), Refresh: secret.New(f.Login.RefreshToken),
		TokenURL: claudeTokenURL, ClientID: claudeClientID,
	}
	if len(r.Scopes) == 0 {
		r.Scopes = strings.Fields(claudeScopes)
	}
	if ms := f.Login.ExpiresAt; ms > 0 && ms < now.Add(maxLifetime).UnixMilli() {
		r.ExpiresAt = time.UnixMilli(ms)
	}
	return r, r.validate()
}
