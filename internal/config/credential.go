package config

import (
	"cmp"
	"slices"
	"strings"
)

// Credential is one [[credential]]: a secret that the gate puts into requests to
// the hosts it is bound to, so that it never enters a sandbox. Only the user's
// own file can hold one.
type Credential struct {
	Name      string   // for records; the first host if nothing is said
	Hosts     []string // example.com, *.example.com, example.com:8443
	Methods   []string // empty: every one
	Paths     []string // /repos/acme/**; empty: every one
	Header    string   // the header that carries the secret
	Format    string   // what the header holds, with {} in the place of the secret
	Basic     string   // the user name of basic authentication, instead of Header
	From      string   // env:NAME, file:PATH, command:ARGV or store:NAME; empty: no secret, only limits
	Env       string   // a variable that holds a placeholder inside, for tools that want one
	Elsewhere string   // requests to these hosts that no binding matches
	Origin    string   // where it is written
}

// What becomes of requests to a credential's host that it does not match.
const (
	ElsewhereRefuse    = "refuse"
	ElsewhereAnonymous = "anonymous"
)

func credentialTable() table {
	last := func(l *Layer) *Credential { return &l.credentials[len(l.credentials)-1] }
	return table{
		name: "credential",
		begin: func(l *Layer, origin string) {
			l.credentials = append(l.credentials, Credential{Origin: origin, Elsewhere: ElsewhereRefuse})
		},
		columns: []column{
			in("name", "what records call it", text(aName), func(l *Layer) *string { return &last(l).Name }),
			in("host", "the host or hosts it is bound to", oneOrMore(aHostRule), func(l *Layer) *[]string { return &last(l).Hosts }),
			in("methods", "the methods it is used for", list(aMethod), func(l *Layer) *[]string { return &last(l).Methods }),
			in("paths", "patterns of the paths it is used for", list(aPathPattern), func(l *Layer) *[]string { return &last(l).Paths }),
			in("header", "the header that carries it", text(aName), func(l *Layer) *string { return &last(l).Header }),
			in("format", "what the header holds, {} being the secret", text(aFormat), func(l *Layer) *string { return &last(l).Format }),
			in("basic", "the user name of basic authentication", text(aUserName), func(l *Layer) *string { return &last(l).Basic }),
			in("from", "where the secret is", text(aSource), func(l *Layer) *string { return &last(l).From }),
			in("env", "a variable for a placeholder inside", text(aVariable), func(l *Layer) *string { return &last(l).Env }),
			in("elsewhere", "what becomes of other requests to the host", oneOf(ElsewhereRefuse, ElsewhereAnonymous), func(l *Layer) *string { return &last(l).Elsewhere }),
		},
		check: func(l *Layer) []complaint { return last(l).complete() },
	}
}

// complete fills in what follows from the rest and says what is missing.
func (c *Credential) complete() []complaint {
	switch {
	case len(c.Hosts) == 0:
		return wrong("host is missing: a secret is bound to where it may go")
	case c.Header != "" && c.Basic != "":
		return wrong("header and basic exclude each other")
	case c.From != "" && c.Header == "" && c.Basic == "":
		return wrong(`header or basic is missing, as in header = "Authorization"`)
	case c.From == "" && (c.Header != "" || c.Basic != ""):
		return wrong(`from is missing, as in from = "env:GITHUB_TOKEN"`)
	case c.Format != "" && c.Header == "":
		return wrong("format belongs to header")
	}
	c.Name = cmp.Or(c.Name, c.Hosts[0])
	if c.Header != "" && c.Format == "" {
		c.Format = "{}"
		if strings.EqualFold(c.Header, "Authorization") {
			c.Format = "Bearer {}"
		}
	}
	return nil
}

// oneOrMore takes a string or a list of them.
func oneOrMore(check func(string) string) kind[[]string] {
	many := list(check)
	return kind[[]string]{show: many.show, read: func(v any) ([]string, []complaint) {
		if s, ok := v.(string); ok {
			return many.read([]any{s})
		}
		return many.read(v)
	}}
}

func aMethod(s string) string {
	known := []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
	if !slices.Contains(known, s) {
		return "is not a method; there are " + strings.Join(known, ", ")
	}
	return ""
}

func aPathPattern(s string) string {
	if why := aName(s); why != "" {
		return why
	}
	if !strings.HasPrefix(s, "/") {
		return "is not a path; it begins with /"
	}
	return ""
}

func aFormat(s string) string {
	switch {
	case strings.Count(s, "{}") != 1:
		return "must hold {} once, in the place of the secret"
	case strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' }):
		return "holds a character that no header can"
	}
	return ""
}

func aUserName(s string) string {
	if why := aName(s); why != "" {
		return why
	}
	if strings.Contains(s, ":") {
		return "holds a colon, which ends a user name"
	}
	return ""
}

func aSource(s string) string {
	kind, rest, _ := strings.Cut(s, ":")
	if !slices.Contains([]string{"env", "file", "command", "store"}, kind) || strings.TrimSpace(rest) == "" {
		return "is not env:NAME, file:PATH, command:PROGRAM ARG... or store:NAME"
	}
	return anyText(s)
}

func aVariable(s string) string {
	if s == "" || strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") != "" || s[0] >= '0' && s[0] <= '9' {
		return "is not the name of a variable"
	}
	return ""
}
