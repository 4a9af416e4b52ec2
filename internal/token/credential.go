package token

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/agent-loop/ralph/internal/secret"
)

// Credential is what goes into a request.
type Credential struct {
	Kind   Kind
	Secret secret.Secret
}

// Source gives the credential for requests. Its methods may be called by several
// goroutines at once, and as often as there are requests.
//
// An error that is a *LoginError needs a person. Any other error may pass: the
// next call may succeed.
type Source interface {
	// Token returns the credential to use now. It renews one that is about to
	// expire, and then takes as long as the provider does.
	Token(ctx context.Context) (Credential, error)

	// Rejected tells that the provider answered 401 to a request with c. It
	// returns a credential other than c, to try that request once more, or an
	// error when there is none. To a call for a credential that has been
	// replaced since, it returns the new one and does not renew again.
	Rejected(ctx context.Context, c Credential) (Credential, error)
}

// The headers of model providers.
const (
	betaHeader = "Anthropic-Beta"
	oauthBeta  = "oauth-2025-04-20"
)

// Authorize puts the credential into the headers of a request and takes every
// other one out.
func (c Credential) Authorize(h http.Header) {
	for _, name := range []string{"Authorization", "X-Api-Key", "X-Goog-Api-Key"} {
		h.Del(name)
	}
	switch c.Kind {
	case AnthropicKey:
		h.Set("X-Api-Key", c.Secret.Reveal())
	case GeminiKey:
		h.Set("X-Goog-Api-Key", c.Secret.Reveal())
	case SetupToken, ClaudeLogin:
		h.Set("Authorization", "Bearer "+c.Secret.Reveal())
		addBeta(h)
	default:
		h.Set("Authorization", "Bearer "+c.Secret.Reveal())
	}
}

// addBeta says that the bearer token is one of OAuth, beside what else the
// request asks for.
func addBeta(h http.Header) {
	var betas []string
	for _, value := range h.Values(betaHeader) {
		for beta := range strings.SplitSeq(value, ",") {
			betas = append(betas, strings.TrimSpace(beta))
		}
	}
	if !slices.Contains(betas, oauthBeta) {
		h.Set(betaHeader, strings.Join(append(betas, oauthBeta), ","))
	}
}
