package gate

import (
	"context"
	"slices"

	"github.com/agent-loop/ralph/internal/secret"
)

// Credential is a secret that the gate puts into requests to the hosts it is
// bound to, so that it never enters a sandbox. Without Header, Basic and Source
// it is no secret but a limit: TLS is opened, and only these methods and paths
// pass.
type Credential struct {
	Name    string   // for records
	Hosts   []string // example.com, *.example.com, example.com:8443; port 443 if none is said
	Methods []string // GET, POST, ...; empty: every one
	Paths   []string // patterns, see the package documentation; empty: every one

	// Header carries the secret, as Format says with {} in its place: "Bearer
	// {}". An empty Format is the secret alone.
	Header string
	Format string
	// Basic is the user name of basic authentication, instead of Header.
	Basic string

	// Source gives the secret. It is called for each request, one call at a
	// time, and should keep what it found. A call that fails or takes longer
	// than Limits.SourceTimeout fails the request.
	Source func(context.Context) (secret.Secret, error)

	// Elsewhere is what becomes of requests to these hosts that no credential
	// of theirs matches. If two credentials of a host disagree, they are refused.
	Elsewhere Elsewhere
}

// Elsewhere is what becomes of a request that no credential matches.
type Elsewhere string

// The values of Elsewhere. The zero value refuses.
const (
	ElsewhereRefuse    Elsewhere = "refuse"
	ElsewhereAnonymous Elsewhere = "anonymous" // passed on without any credential
)

// Credentials are credentials that were checked against a policy, with the
// certificate authority in whose name TLS is opened for their hosts. They serve
// one run.
type Credentials struct {
	policy    *Policy
	bindings  []*binding
	authority *authority // nil if there is no binding
}

// Certificate is the authority's certificate in PEM, which programs in the
// sandbox must trust; nil if no host is opened. Its key is nowhere but in memory.
func (c *Credentials) Certificate() []byte {
	if c == nil || c.authority == nil {
		return nil
	}
	return slices.Clone(c.authority.pem)
}

// binding is a Credential, compiled.
type binding struct {
	name      string
	rules     []Rule
	methods   []string
	paths     []pathPattern
	header    string // canonical; empty: no secret
	format    string
	basic     string
	isBasic   bool
	source    *source
	elsewhere Elsewhere
}

// defaultOpenPort is where a credential's host is opened if it names no port.
const defaultOpenPort = 443

// at tells whether the binding is about t.
func (b *binding) at(t target) bool {
	return slices.ContainsFunc(b.rules, func(r Rule) bool { return r.matchesHost(t.host) && openPort(r) == t.port })
}

func openPort(r Rule) int {
	if r.port == 0 {
		return defaultOpenPort
	}
	return r.port
}

// opens tells whether TLS to t ends at the gate.
func (c *Credentials) opens(t target) bool { return len(c.of(t)) > 0 }

// of returns the bindings of t, in order.
func (c *Credentials) of(t target) []*binding {
	if c == nil {
		return nil
	}
	var found []*binding
	for _, b := range c.bindings {
		if b.at(t) {
			found = append(found, b)
		}
	}
	return found
}

// headers are those that carry the credentials of t, as likeHeader spells them.
func (c *Credentials) headers(t target) []string {
	var found []string
	for _, b := range c.of(t) {
		found = append(found, likeHeader(b.header))
	}
	return found
}

// names tells whether a credential is bound to h on any port.
func (c *Credentials) names(h host) bool {
	return c != nil && slices.ContainsFunc(c.bindings, func(b *binding) bool {
		return slices.ContainsFunc(b.rules, func(r Rule) bool { return r.matchesHost(h) })
	})
}

// choice is what is done with one request to an opened host: it is refused, or
// passed on with the secret of a binding, or without any.
type choice struct {
	refused *refusal
	binding *binding // nil: without a credential
}

// choose finds the binding that takes a request. The first one that matches
// wins. A path that servers read in more than one way is refused as soon as a
// binding of the host has paths, unless a pattern spells it out.
func (c *Credentials) choose(t target, method, escapedPath string) choice {
	bindings := c.of(t)
	path, oddity := canonicalPath(escapedPath)
	if !slices.ContainsFunc(bindings, func(b *binding) bool { return len(b.paths) > 0 }) {
		oddity = "" // nothing hangs on the path
	}
	if oddity == "" || oddity == oddSlash {
		for _, b := range bindings {
			if b.takes(method, path, oddity != "") {
				return choice{binding: b}
			}
		}
	}
	return elsewhere(bindings, method, oddity)
}

// elsewhere is the choice for a request that no binding takes.
func elsewhere(bindings []*binding, method, oddity string) choice {
	switch {
	case oddity != "":
		return choice{refused: &refusal{code: CodeAmbiguousPath, reason: "the path " + oddity + ", which servers read in different ways"}}
	case !slices.ContainsFunc(bindings, func(b *binding) bool { return b.elsewhere != ElsewhereAnonymous }):
		return choice{}
	}
	return choice{refused: &refusal{
		code:   CodeNotBound,
		reason: "no credential of this host takes " + clip(method, 32) + " on this path",
		fix:    "name the method and the path in a [[credential]] of this host",
	}}
}

// takes tells whether the binding matches. An odd path is matched by a pattern
// that is odd in the same place, or not at all.
func (b *binding) takes(method, path string, odd bool) bool {
	if len(b.methods) > 0 && !slices.Contains(b.methods, method) {
		return false
	}
	if len(b.paths) == 0 {
		return !odd
	}
	return slices.ContainsFunc(b.paths, func(p pathPattern) bool { return p.matches(path) })
}
