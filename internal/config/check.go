package config

import (
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The checks of single strings. Each returns what is wrong, or "".

func anyText(s string) string {
	switch {
	case strings.TrimSpace(s) == "":
		return "is empty"
	case len(s) > 4096:
		return "is too long"
	}
	return anArgument(s)
}

// noneOr takes what check takes, or nothing.
func noneOr(check func(string) string) func(string) string {
	return func(s string) string {
		if s == "" {
			return ""
		}
		return check(s)
	}
}

// anArgument takes whatever a program can be given, also nothing.
func anArgument(s string) string {
	switch {
	case strings.ContainsRune(s, 0):
		return "holds a NUL character"
	case !utf8.ValidString(s): // no file and no record could hold it
		return "is not UTF-8"
	}
	return ""
}

// aName takes what later stands alone in a command line: a leading dash would
// make it an option there.
func aName(s string) string {
	if why := anyText(s); why != "" {
		return why
	}
	if strings.HasPrefix(s, "-") {
		return "begins with a dash"
	}
	if strings.ContainsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }) {
		return "holds a space or a character that cannot be printed"
	}
	return ""
}

// aFileName takes a name that can stand for a file everywhere, or none.
func aFileName(s string) string {
	const may = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_."
	if len(s) > 64 || strings.Trim(s, may) != "" || strings.HasPrefix(s, ".") || strings.HasPrefix(s, "-") {
		return "is not a name of letters, digits, dots, dashes and underscores"
	}
	return ""
}

// aHostRule catches slips early; the gate has the last word on its rules.
func aHostRule(s string) string {
	switch why := aName(s); {
	case why != "":
		return why
	case s == "*":
		return `would allow everything; say policy = "allow-all" if you mean that`
	case strings.Contains(strings.TrimPrefix(s, "tcp://"), "://"):
		return "is a URL; give the host alone"
	}
	return ""
}

func anUpstream(s string) string {
	if why := aName(s); why != "" {
		return why
	}
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Hostname() == "" || (u.Scheme != "https" && u.Scheme != "http"):
		return "is not an http or https address"
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return "may hold a host and a path only, and no credentials"
	}
	return ""
}

// aPathBelow takes a slash path that stays below the workspace. Patterns
// are refused: taken literally, they would protect nothing.
func aPathBelow(s string) string {
	if why := leadsBelow(s); why != "" {
		return why
	}
	if strings.ContainsAny(s, "*?[") {
		return "looks like a pattern; name each path"
	}
	return ""
}

// aFileBelow takes the slash path of a file below the workspace.
func aFileBelow(s string) string {
	if strings.HasSuffix(s, "/") {
		return "is a folder; name a file"
	}
	return leadsBelow(s)
}

// leadsBelow judges a path as it is written and in its shortest spelling, which
// is what others get to see.
func leadsBelow(s string) string {
	if why := anyText(s); why != "" {
		return why
	}
	clean := path.Clean(s)
	switch {
	case strings.Contains(s, `\`):
		return "holds a backslash; write paths with /"
	case path.IsAbs(s) || (len(s) > 1 && s[1] == ':'):
		return "is absolute; paths are relative to the workspace"
	case slices.Contains(strings.Split(s, "/"), ".."):
		return "holds .. and may lead out of the workspace"
	case clean == ".":
		return "is the workspace itself; name paths below it"
	case clean != s:
		return leadsBelow(clean)
	}
	return ""
}

// aHomePath takes a file by its whole path, or from the home directory on. Whether
// it lies there is seen when it is used.
func aHomePath(s string) string {
	if why := anyText(s); why != "" {
		return why
	}
	rest, fromHome := strings.CutPrefix(s, "~/")
	switch {
	case strings.ContainsFunc(s, unicode.IsControl):
		return "holds a control character"
	case slices.Contains(strings.Split(filepath.ToSlash(s), "/"), ".."):
		return "holds .. and hides what it names"
	case fromHome && path.Clean(rest) == ".", !fromHome && !path.IsAbs(s) && !filepath.IsAbs(s):
		return "is no file of your home; write it like ~/.gitconfig"
	}
	return ""
}

// aFolder takes a folder of the host, below the project or absolute. It is read
// by ralph and by no shell.
func aFolder(s string) string {
	if why := anyText(s); why != "" {
		return why
	}
	switch {
	case strings.HasPrefix(s, "~"):
		return "begins with ~, which means nothing here; write the whole path"
	case strings.ContainsFunc(s, unicode.IsControl):
		return "holds a control character"
	case path.Clean(strings.ReplaceAll(s, `\`, "/")) == ".":
		return "is the project itself; name a folder"
	}
	return ""
}
