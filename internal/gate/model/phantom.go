package model

import (
	"crypto/rand"
	"encoding/base64"
	"net/http"
	"strings"

	"github.com/agent-loop/ralph/internal/secret"
	"github.com/agent-loop/ralph/internal/token"
)

// NewPhantom makes a value that looks like a credential of the provider, for
// some clients look at the form. It is random, so it opens one run's gate alone.
func NewPhantom(p Provider, k token.Kind) secret.Secret {
	random := make([]byte, 64)
	_, _ = rand.Read(random) // does not fail
	body := base64.RawURLEncoding.EncodeToString(random)
	switch {
	case p == OpenAI:
		return secret.New("sk-proj-" + body)
	case p == Google:
		return secret.New("AIza" + body[:35])
	case k == token.SetupToken || k == token.ClaudeLogin:
		return secret.New("sk-ant-oat01-" + body + "-AA")
	}
	return secret.New("sk-ant-api03-" + body + "-AA")
}

// holdsPhantom tells whether the request shows the phantom, and nothing else:
// every header that can carry a credential must be it.
func holdsPhantom(h http.Header, phantom secret.Secret) bool {
	seen := false
	for _, name := range []string{"X-Api-Key", "X-Goog-Api-Key", "Authorization"} {
		for _, value := range h.Values(name) {
			if name == "Authorization" {
				scheme, token, _ := strings.Cut(value, " ")
				if !strings.EqualFold(scheme, "Bearer") {
					return false
				}
				value = strings.TrimSpace(token)
			}
			if !phantom.Equal(value) {
				return false
			}
			seen = true
		}
	}
	return seen
}
