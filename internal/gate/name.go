package gate

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// maxHostText bounds what is looked at as a host at all. A DNS name has at most
// 253 characters; Unicode spellings of one may be longer.
const maxHostText = 1024

// host is where a connection leads, normalised: a DNS name or an address,
// never both. Two spellings of one destination are the same host value.
type host struct {
	name string     // lower case ASCII without a trailing dot; empty for an address
	addr netip.Addr // never IPv4 in IPv6, never with a zone; invalid for a name
}

func (h host) String() string {
	if h.addr.IsValid() {
		return h.addr.String()
	}
	return h.name
}

// isLocalhost tells the names that mean the host itself by convention
// (RFC 6761), which must not be asked of any resolver.
func (h host) isLocalhost() bool {
	return h.name == "localhost" || strings.HasSuffix(h.name, ".localhost")
}

// target is a host and a port.
type target struct {
	host host
	port int
}

func (t target) String() string {
	if t.host.addr.Is6() {
		return "[" + t.host.String() + "]:" + strconv.Itoa(t.port)
	}
	return t.host.String() + ":" + strconv.Itoa(t.port)
}

// parseHost normalises one host. It accepts what clients send for one and
// refuses everything that different resolvers would read differently.
func parseHost(text string) (host, error) {
	if err := checkText(text); err != nil {
		return host{}, err
	}
	if inner, ok := strings.CutPrefix(text, "["); ok {
		inner, ok = strings.CutSuffix(inner, "]")
		if !ok || !strings.Contains(inner, ":") {
			return host{}, errors.New("brackets are for an IPv6 address")
		}
		return parseIPv6(inner)
	}
	if strings.Contains(text, ":") {
		return parseIPv6(text)
	}
	name, err := toASCII(text)
	if err != nil {
		return host{}, err
	}
	name = strings.TrimSuffix(name, ".")
	if endsInNumber(name) {
		addr, err := parseIPv4(name)
		return host{addr: addr}, err
	}
	return host{name: name}, checkName(name)
}

// checkText refuses what is in no host, before anything is parsed.
func checkText(text string) error {
	switch {
	case text == "":
		return errors.New("empty host")
	case len(text) > maxHostText:
		return errors.New("host is too long")
	case !utf8.ValidString(text):
		return errors.New("host is not valid UTF-8")
	case strings.ContainsFunc(text, unicode.IsSpace):
		return errors.New("host contains a space")
	case strings.ContainsFunc(text, unicode.IsControl):
		return errors.New("host contains a control character")
	}
	return nil
}

// toASCII lowers case and turns Unicode labels into punycode. Plain ASCII names
// take the short way, for IDNA refuses some that exist, such as those with _.
func toASCII(text string) (string, error) {
	lower := strings.ToLower(text)
	if isASCII(text) && !strings.Contains(lower, "xn--") {
		return lower, nil
	}
	name, err := idna.Lookup.ToASCII(text)
	if err != nil {
		return "", fmt.Errorf("not a valid international name: %w", err)
	}
	return strings.ToLower(name), nil
}

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf })
}

// checkName accepts labels of letters, digits, - and _, as resolvers do.
func checkName(name string) error {
	if len(name) > 253 {
		return errors.New("name is longer than 253 characters")
	}
	for label := range strings.SplitSeq(name, ".") {
		switch {
		case label == "":
			return errors.New("name has an empty label")
		case len(label) > 63:
			return errors.New("name has a label longer than 63 characters")
		case strings.HasPrefix(label, "-") || strings.HasSuffix(label, "-"):
			return errors.New("name has a label that begins or ends with -")
		case strings.ContainsFunc(label, notInLabel):
			return fmt.Errorf("name has a character that no host name has, in %q", label)
		}
	}
	return nil
}

func notInLabel(r rune) bool {
	return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '_'
}

// parseTarget reads host:port, the port defaulting to defaultPort. A
// defaultPort of 0 makes the port required.
func parseTarget(text string, defaultPort int) (target, error) {
	hostText, portText, hasPort, err := splitPort(text)
	if err != nil {
		return target{}, err
	}
	h, err := parseHost(hostText)
	if err != nil {
		return target{}, err
	}
	if !hasPort {
		if defaultPort == 0 {
			return target{}, errors.New("port is missing")
		}
		return target{h, defaultPort}, nil
	}
	port, err := parsePort(portText)
	return target{h, port}, err
}

// splitPort cuts the port off. More than one colon without brackets is an IPv6
// address that has none.
func splitPort(text string) (hostText, port string, hasPort bool, err error) {
	if strings.HasPrefix(text, "[") {
		end := strings.LastIndex(text, "]")
		if end < 0 {
			return "", "", false, errors.New("bracket is not closed")
		}
		rest := text[end+1:]
		if rest == "" {
			return text, "", false, nil
		}
		port, ok := strings.CutPrefix(rest, ":")
		if !ok {
			return "", "", false, errors.New("only a port may follow the bracket")
		}
		return text[:end+1], port, true, nil
	}
	if strings.Count(text, ":") != 1 {
		return text, "", false, nil
	}
	hostText, port, _ = strings.Cut(text, ":")
	return hostText, port, true, nil
}

// parsePort reads a port as it is written by all: digits, no sign, no leading
// zero, 1 to 65535.
func parsePort(text string) (int, error) {
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil || port == 0 || text[0] == '0' {
		return 0, fmt.Errorf("port %q is not a number from 1 to 65535", clip(text, 16))
	}
	return int(port), nil
}

// clip shortens hostile text for messages and records.
func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "..."
}
