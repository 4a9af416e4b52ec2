package model

import (
	"net/http"
	"slices"
	"strings"

	"github.com/agent-loop/ralph/internal/secret"
	"github.com/agent-loop/ralph/internal/token"
)

// Only these headers of a request go on. A header that is not known may choose
// whose account is billed, or tell the upstream who to be.
var (
	requestHeaders = []string{
		"Accept", "Content-Type", "User-Agent", "X-App", "Originator", "Version",
		"Anthropic-Version", "Anthropic-Beta", "Anthropic-Dangerous-Direct-Browser-Access",
		"Openai-Beta", "X-Client-Request-Id", "Session-Id", "Thread-Id", "Session_id", "Conversation_id",
		"X-Goog-Api-Client", // names the client; other X-Goog- headers choose a project or a shape
	}
	requestPrefixes = []string{"X-Stainless-", "X-Claude-Code-", "X-Codex-"}
)

// These of a response stay out: they are about the user's account or for the
// hop in between.
var withheld = []string{
	"Set-Cookie", "Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Te", "Trailer",
	"Transfer-Encoding", "Upgrade", "Alt-Svc", "Content-Length", "Location", "Refresh",
	"Anthropic-Organization-Id", "Openai-Organization", "Openai-Project",
	"Nel", "Report-To", "Reporting-Endpoints", codeHeader, "X-Should-Retry",
}

// outgoing is the header of a request to an upstream.
func outgoing(in http.Header, c token.Credential) http.Header {
	out := http.Header{}
	for name, values := range in {
		if slices.Contains(requestHeaders, name) || hasPrefix(name, requestPrefixes) {
			out[name] = slices.Clone(values)
		}
	}
	// The usage must be read on the way, so nothing may be packed.
	out.Set("Accept-Encoding", "identity")
	if !c.Secret.IsZero() {
		c.Authorize(out)
	}
	return out
}

// passOn copies what the client may see of a response's header. What holds the
// credential stays out, and passOn tells whether there was such a thing.
func passOn(to, from http.Header, guard *secret.Guard) (echoed bool) {
	for name, values := range from {
		switch {
		case slices.Contains(withheld, name):
		case guard.SeenInField(name, values):
			echoed = true
		default:
			to[name] = slices.Clone(values)
		}
	}
	return echoed
}

// isEncoded tells a body that cannot be read on its way.
func isEncoded(h http.Header) bool {
	return slices.ContainsFunc(h.Values("Content-Encoding"), func(encoding string) bool {
		return encoding != "" && !strings.EqualFold(encoding, "identity")
	})
}

func hasPrefix(name string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(name, p) })
}
