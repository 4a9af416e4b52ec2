package gate

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"
)

// NewCredentials checks credentials against the policy that they will be used
// under, and makes the authority for their hosts. The error joins one for every
// problem.
//
// A credential does not allow its hosts: the policy must, or it is refused here.
// Nor does it do so under allow-all, where any host could be sent what a request
// with it brought back.
func NewCredentials(policy *Policy, list []Credential) (*Credentials, error) {
	c := &Credentials{policy: policy}
	if len(list) == 0 {
		return c, nil
	}
	var bad []error
	if policy != nil && policy.mode == ModeAllowAll {
		bad = append(bad, errors.New("credentials are not used under the network policy allow-all: use allowlist"))
	}
	for i, credential := range list {
		b, err := compileCredential(policy, credential)
		if err == nil {
			err = checkUnlike(b, c.bindings)
		}
		if err != nil {
			bad = append(bad, fmt.Errorf("credential %d (%q): %w", i+1, clip(credential.Name, 64), err))
			continue
		}
		c.bindings = append(c.bindings, b)
	}
	if err := errors.Join(bad...); err != nil {
		return nil, err
	}
	authority, err := newAuthority(c.bindings, time.Now())
	if err != nil {
		return nil, fmt.Errorf("making the certificate authority: %w", err)
	}
	c.authority = authority
	return c, nil
}

// compileCredential reports all that is wrong with one credential.
func compileCredential(policy *Policy, c Credential) (*binding, error) {
	b := &binding{
		name: c.Name, methods: slices.Clone(c.Methods), format: c.Format,
		basic: c.Basic, isBasic: c.Basic != "", elsewhere: c.Elsewhere,
	}
	var bad []error
	if c.Name == "" {
		bad = append(bad, errors.New("it has no name"))
	}
	if c.Elsewhere != "" && c.Elsewhere != ElsewhereRefuse && c.Elsewhere != ElsewhereAnonymous {
		bad = append(bad, fmt.Errorf("elsewhere is %q: want refuse or anonymous", clip(string(c.Elsewhere), 32)))
	}
	hostErr := b.compileHosts(policy, c.Hosts)
	pathErr := b.compilePaths(c.Paths)
	secretErr := b.compileSecret(c)
	bad = append(bad, hostErr, checkMethods(c.Methods), pathErr, secretErr)
	return b, errors.Join(bad...)
}

func (b *binding) compileHosts(policy *Policy, texts []string) error {
	var bad []error
	if len(texts) == 0 {
		bad = append(bad, errors.New("it has no host: a secret is bound to where it may go"))
	}
	for _, text := range texts {
		rule, err := ParseRule(text)
		if err == nil {
			err = errors.Join(rule.checkOpened(), rule.checkAllow())
		}
		if err == nil {
			err = policy.checkReachable(rule)
		}
		if err != nil {
			bad = append(bad, fmt.Errorf("host %q: %w", clip(text, 128), err))
			continue
		}
		b.rules = append(b.rules, rule)
	}
	return errors.Join(bad...)
}

// checkOpened refuses rules for what cannot be opened: a certificate is for
// names, and TLS is not any bytes.
func (r Rule) checkOpened() error {
	switch {
	case r.tcp:
		return errors.New("write it without tcp://: what is opened is HTTP over TLS")
	case r.prefix.IsValid():
		return errors.New("a credential is bound to a name, not to an address")
	case r.port == 80:
		return errors.New("a credential is not sent over port 80, which is plain HTTP")
	}
	return nil
}

// checkReachable refuses a binding that no request can reach, which is a mistake
// of the user's.
func (p *Policy) checkReachable(r Rule) error {
	if r.below {
		if p != nil && p.mode == ModeAllowlist && !slices.ContainsFunc(p.allow, r.overlaps) {
			return fmt.Errorf("no allowed host lies below it: add %s to the allowed hosts", r.spell())
		}
		return nil
	}
	d := p.decideName(target{host{name: r.name}, openPort(r)})
	if d.Allowed {
		return nil
	}
	return fmt.Errorf("%s: a credential does not allow its host; add %s to the allowed hosts", d.Reason, r.spell())
}

// overlaps tells whether an allow rule names something that the wildcard r does.
func (r Rule) overlaps(allowed Rule) bool {
	if allowed.name == "" || !allowed.allowsPort(openPort(r)) {
		return false
	}
	return r.matchesHost(host{name: allowed.name}) || allowed.below && (allowed.name == r.name || allowed.matchesHost(host{name: r.name}))
}

func checkMethods(methods []string) error {
	var bad []error
	for i, method := range methods {
		switch {
		case !httpguts.ValidHeaderFieldName(method) || method != strings.ToUpper(method):
			bad = append(bad, fmt.Errorf("%q is not a method: they are written as GET and POST are", clip(method, 32)))
		case isNeverPassed(method):
			bad = append(bad, fmt.Errorf("the method %s is not passed on: its answer would hold the credential, or be a tunnel", method))
		case slices.Contains(methods[:i], method):
			bad = append(bad, fmt.Errorf("the method %s is named twice", method))
		}
	}
	return errors.Join(bad...)
}

func (b *binding) compilePaths(texts []string) error {
	var bad []error
	for _, text := range texts {
		pattern, err := parsePathPattern(text)
		if err != nil {
			bad = append(bad, fmt.Errorf("path %q: %w", clip(text, 128), err))
			continue
		}
		b.paths = append(b.paths, pattern)
	}
	return errors.Join(bad...)
}

// compileSecret reads where the secret comes from and how it is sent.
func (b *binding) compileSecret(c Credential) error {
	switch {
	case c.Header != "" && c.Basic != "":
		return errors.New("header and basic exclude each other")
	case c.Source == nil && (c.Header != "" || c.Basic != ""):
		return errors.New("it says how to send a secret, but not where the secret is")
	case c.Source != nil && c.Header == "" && c.Basic == "":
		return errors.New("it says where the secret is, but not how to send it: set header or basic")
	case c.Format != "" && c.Header == "":
		return errors.New("format belongs to header")
	case c.Source == nil:
		return nil
	}
	b.source = newSource(c.Source)
	if b.isBasic {
		b.header = "Authorization"
		return checkBasicUser(c.Basic)
	}
	if b.format == "" {
		b.format = "{}"
	}
	b.header = http.CanonicalHeaderKey(c.Header)
	return errors.Join(checkCredentialHeader(c.Header), checkFormat(b.format))
}

func checkBasicUser(user string) error {
	if strings.ContainsFunc(user, func(r rune) bool { return r < ' ' || r == ':' || r == 0x7f }) {
		return errors.New("the user name of basic authentication holds a colon or a control character")
	}
	return nil
}

func checkFormat(format string) error {
	if strings.Count(format, "{}") != 1 || !httpguts.ValidHeaderFieldValue(format) {
		return fmt.Errorf("format %q: want text for a header with {} once, as in %q", clip(format, 64), "Bearer {}")
	}
	return nil
}

// checkCredentialHeader refuses headers that mean something to the connection
// or to the gate.
func checkCredentialHeader(name string) error {
	canonical := http.CanonicalHeaderKey(name)
	switch {
	case !httpguts.ValidHeaderFieldName(name):
		return fmt.Errorf("%q is not the name of a header", clip(name, 64))
	case slices.Contains(headersOfTheGate, canonical) || isOverride(canonical) || strings.HasPrefix(canonical, "Proxy-"),
		strings.HasPrefix(canonical, "Content-"):
		return fmt.Errorf("the header %s cannot carry a credential", canonical)
	}
	return nil
}

// checkUnlike refuses a credential that is a second one of its name, or that
// never gets a request.
func checkUnlike(b *binding, before []*binding) error {
	for _, other := range before {
		if other.name == b.name {
			return errors.New("there is another credential of this name")
		}
		if len(other.methods)+len(other.paths) > 0 {
			continue
		}
		if slices.ContainsFunc(b.rules, func(r Rule) bool { return slices.Contains(other.rules, r) }) {
			return fmt.Errorf("it is never used: %q takes every request to its host", clip(other.name, 64))
		}
	}
	return nil
}
