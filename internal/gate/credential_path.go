package gate

import (
	"cmp"
	"errors"
	"net/url"
	"regexp"
	"strings"
	"unicode/utf8"
)

// pathPattern matches paths. The package documentation says how it is written.
type pathPattern struct {
	text string
	expr *regexp.Regexp // linear in time, whatever the client sends
}

func (p pathPattern) matches(canonical string) bool { return p.expr.MatchString(canonical) }

// What * and ** stand for: any characters but / and its escape, and any at all
// but the escape. An escaped slash is matched only where the pattern has one.
const (
	withinSegment = `(?:[^/%]|%(?:[013-9A-F][0-9A-F]|2[0-9A-E]))*`
	anyRest       = `(?:[^%]|%(?:[013-9A-F][0-9A-F]|2[0-9A-E]))*`
)

// parsePathPattern reads a pattern: a path in which * stands for any part of one
// segment, and ** at the end for all the rest.
func parsePathPattern(text string) (pathPattern, error) {
	if !strings.HasPrefix(text, "/") {
		return pathPattern{}, errors.New("a path begins with /")
	}
	if strings.ContainsAny(text, "?#") {
		return pathPattern{}, errors.New("a path has no query: patterns match the path alone")
	}
	canonical, oddity := canonicalPath(text)
	if oddity != "" && oddity != oddSlash {
		return pathPattern{}, errors.New("it " + oddity)
	}
	body, rest := strings.CutSuffix(canonical, "/**")
	if strings.Contains(body, "**") {
		return pathPattern{}, errors.New("** stands only at the end, as in /repos/acme/**")
	}
	expr := strings.ReplaceAll(regexp.QuoteMeta(body), `\*`, withinSegment)
	if rest {
		expr += "/" + anyRest
	}
	compiled, err := regexp.Compile(`\A` + expr + `\z`)
	if err != nil { // quoted text with fixed parts always compiles, unless it is huge
		return pathPattern{}, errors.New("it is too long")
	}
	return pathPattern{text: text, expr: compiled}, nil
}

// oddSlash is the one oddity that a pattern may have, and that a path may have
// where the pattern does: APIs use it for names that hold a slash.
const oddSlash = "has an escaped slash"

var pathEscape = regexp.MustCompile(`%[0-9A-Fa-f]{2}`)

// canonicalPath writes the digits of escapes as capitals. The oddity says what is
// in the path that servers read in different ways; it is empty for a plain path.
func canonicalPath(escaped string) (canonical, oddity string) {
	canonical = pathEscape.ReplaceAllStringFunc(escaped, strings.ToUpper)
	return canonical, oddityOf(canonical)
}

// oddityOf returns the worst of what is odd, an escaped slash last.
func oddityOf(canonical string) (oddity string) {
	decoded, err := url.PathUnescape(canonical)
	switch {
	case err != nil:
		return "has an invalid escape"
	case !utf8.ValidString(decoded):
		return "is not UTF-8 text"
	}
	for rest := canonical; rest != ""; {
		what, size := oddByte(rest[0]), 1
		if rest[0] == '%' {
			escaped, _ := url.PathUnescape(rest[:3]) // all escapes are valid
			what, size = oddEscape(escaped[0]), 3
		}
		if what != "" && what != oddSlash {
			return what
		}
		oddity = cmp.Or(what, oddity)
		rest = rest[size:]
	}
	return cmp.Or(oddSegments(canonical), oddity)
}

// oddByte is about what stands in a path as it is.
func oddByte(c byte) string {
	switch {
	case c <= ' ' || c >= 0x7f:
		return "has a character that must be escaped"
	case c == '\\':
		return "has a backslash"
	case c == ';':
		return "has a path parameter (;)"
	}
	return ""
}

// oddEscape is about what an escape stands for.
func oddEscape(c byte) string {
	switch {
	case c == '/':
		return oddSlash
	case c == '.' || isPlain(c):
		return "has an escape for " + string(c) + ", which needs none"
	case c == '%':
		return "is escaped twice"
	case c < ' ' || c == 0x7f:
		return "has an escaped control character"
	case c == '\\' || c == ';' || c == '?' || c == '#' || c == '*':
		return "has an escape for " + string(c)
	}
	return ""
}

// oddSegments is about segments that some servers remove.
func oddSegments(canonical string) string {
	slashes := strings.ReplaceAll(canonical, "%2F", "/")
	if strings.Contains(slashes, "//") {
		return "has an empty segment"
	}
	for segment := range strings.SplitSeq(slashes, "/") {
		if segment == "." || segment == ".." {
			return "has a " + segment + " segment"
		}
	}
	return ""
}

// isPlain tells the characters that nobody escapes who means well.
func isPlain(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_'
}
