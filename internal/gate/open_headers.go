package gate

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// headersOfTheGate mean something to the connection or to what the gate does,
// and cannot carry a credential.
var headersOfTheGate = []string{
	"Host", "Connection", "Keep-Alive", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "Expect", "Forwarded",
	"Cookie", "Accept-Encoding", "Range", "If-Range", deniedHeader,
}

// ownCredentials are headers by which clients show who they are. On an opened
// host they are taken away: with a token of its own an agent could make a host
// that the user allowed its mailbox.
var ownCredentials = []string{"Authorization", "Cookie", "Cookie2", "Apikey", "X-Apikey", "X-Auth", "X-Auth-Key", "X-Access-Key", "X-Jfrog-Art-Api"}

// ownCredentialEnds are how the names of further ones end.
var ownCredentialEnds = []string{"-Token", "-Api-Key", "-Secret", "-Password", "-Authorization", "-Credential", "-Credentials", "-Session"}

// overrides are headers that make some servers take a request for another one.
var overrides = []string{
	"X-Http-Method-Override", "X-Http-Method", "X-Method-Override", "X-Original-Method",
	"X-Original-Url", "X-Rewrite-Url", "X-Original-Uri", "X-Original-Host", "X-Host", "X-Real-Ip",
}

// ownQuery are the parameters by which clients show who they are, or override
// the method. They are refused and not taken away: the client wrote a URL.
var ownQuery = []string{"access_token", "private_token", "job_token", "oauth_token", "auth_token", "api_key", "apikey", "_method"}

// isOwnCredential tells a header with which a client shows who it is.
func isOwnCredential(name string) bool {
	name = likeHeader(name)
	return slices.Contains(ownCredentials, name) ||
		slices.ContainsFunc(ownCredentialEnds, func(end string) bool { return strings.HasSuffix("-"+name, end) })
}

// isOverride tells a header that may change what a request means.
func isOverride(name string) bool {
	name = likeHeader(name)
	return slices.Contains(overrides, name) || strings.HasPrefix(name, "X-Forwarded-") || name == "Forwarded"
}

// likeHeader is the name as servers see it that make variables of headers: to
// those - and _ are the same.
func likeHeader(name string) string {
	return http.CanonicalHeaderKey(strings.ReplaceAll(name, "_", "-"))
}

// stripOwn takes away what could stand for a credential, the headers that carry
// the user's own among them, or change the request.
func stripOwn(h http.Header, carriers []string) {
	for name := range h {
		if isOwnCredential(name) || isOverride(name) || slices.Contains(carriers, likeHeader(name)) {
			delete(h, name)
		}
	}
}

// credentialInQuery returns the name of a parameter of the query that must not
// be there; empty if there is none. Servers split queries at & and at ;.
func credentialInQuery(rawQuery string) string {
	for part := range strings.FieldsFuncSeq(rawQuery, func(r rune) bool { return r == '&' || r == ';' }) {
		name, _, _ := strings.Cut(part, "=")
		if decoded, err := url.QueryUnescape(name); err == nil {
			name = decoded
		}
		name, _, _ = strings.Cut(strings.ToLower(name), "[")
		if slices.Contains(ownQuery, strings.TrimSpace(name)) {
			return name
		}
	}
	return ""
}

// isNeverPassed tells the methods that make a server send the request back, or
// the connection a tunnel.
func isNeverPassed(method string) bool {
	return strings.EqualFold(method, "TRACE") || strings.EqualFold(method, "TRACK") ||
		strings.EqualFold(method, "DEBUG") || strings.EqualFold(method, http.MethodConnect)
}
