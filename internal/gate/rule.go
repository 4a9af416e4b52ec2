package gate

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"golang.org/x/net/publicsuffix"
)

// Rule names destinations. The package documentation lists its forms. The zero
// Rule matches nothing.
type Rule struct {
	text   string       // normalised spelling
	preset string       // the preset that brought it, if one did
	name   string       // exact name, or the domain of a wildcard; empty for addresses
	below  bool         // a wildcard: names below name, not name itself
	prefix netip.Prefix // addresses; invalid for names
	port   int          // 0: the default ports
	tcp    bool         // any bytes may pass
}

// String is the rule in its normalised spelling, with the preset it came from.
func (r Rule) String() string {
	if r.preset == "" {
		return r.text
	}
	return r.text + " (@" + r.preset + ")"
}

// ParseRule reads one rule. Presets are not rules: NewPolicy expands them.
func ParseRule(text string) (Rule, error) {
	rest, tcp := strings.CutPrefix(text, "tcp://")
	if err := checkRuleText(rest); err != nil {
		return Rule{}, err
	}
	where, portText, hasPort, err := splitPort(rest)
	if err != nil {
		return Rule{}, err
	}
	rule, err := parseWhere(where)
	if err != nil {
		return Rule{}, err
	}
	rule.tcp = tcp
	if hasPort {
		if rule.port, err = parsePort(portText); err != nil {
			return Rule{}, err
		}
	} else if tcp {
		return Rule{}, errors.New("a tcp rule needs a port, as in tcp://example.com:22")
	}
	rule.text = rule.spell()
	return rule, nil
}

// checkRuleText gives the common mistakes a reason of their own.
func checkRuleText(text string) error {
	switch {
	case text == "":
		return errors.New("empty rule")
	case text == "*" || strings.HasPrefix(text, "*:"):
		return errors.New("a bare * is no rule: use the policy allow-all to allow everything")
	case strings.Contains(text, "://"):
		return errors.New("write the host alone, without a scheme (tcp:// is the only one that has a meaning)")
	case strings.Contains(text, "@"):
		return errors.New("a rule has no user name, and a preset is written @name alone")
	}
	return checkText(text)
}

// parseWhere reads a rule without its port.
func parseWhere(text string) (Rule, error) {
	if domain, ok := strings.CutPrefix(text, "*."); ok {
		h, err := parseHost(domain)
		if err != nil {
			return Rule{}, fmt.Errorf("wildcard: %w", err)
		}
		if h.addr.IsValid() {
			return Rule{}, errors.New("a wildcard stands before a name; a range of addresses is written as 192.0.2.0/24")
		}
		return Rule{name: h.name, below: true}, nil
	}
	if strings.Contains(text, "*") {
		return Rule{}, errors.New("a * stands only in front of a domain, as in *.example.com")
	}
	if strings.Contains(text, "/") {
		prefix, err := parseRange(text)
		return Rule{prefix: prefix}, err
	}
	h, err := parseHost(text)
	if err != nil {
		return Rule{}, err
	}
	if h.addr.IsValid() {
		return Rule{prefix: netip.PrefixFrom(h.addr, h.addr.BitLen())}, nil
	}
	return Rule{name: h.name}, nil
}

// parseRange reads address/bits, in brackets or not.
func parseRange(text string) (netip.Prefix, error) {
	if inner, ok := strings.CutPrefix(text, "["); ok {
		text = strings.TrimSuffix(inner, "]")
	}
	address, bitsText, _ := strings.Cut(text, "/")
	h, err := parseHost(address)
	if err != nil || !h.addr.IsValid() {
		return netip.Prefix{}, fmt.Errorf("%q is neither a host nor a range of addresses: a rule has no path", clip(text, 64))
	}
	bits, err := parsePrefixLength(bitsText, address, h.addr)
	if err != nil {
		return netip.Prefix{}, err
	}
	prefix := netip.PrefixFrom(h.addr, bits)
	if masked := prefix.Masked(); masked != prefix {
		return netip.Prefix{}, fmt.Errorf("%s has bits set after its first %d: did you mean %s?", prefix, bits, masked)
	}
	return prefix, nil
}

// parsePrefixLength reads the bits of a range. A range of IPv4 addresses that is
// written as IPv6 counts 96 bits more than it has.
func parsePrefixLength(text, address string, addr netip.Addr) (int, error) {
	skip := 0
	if addr.Is4() && strings.Contains(address, ":") {
		skip = 96
	}
	invalid := fmt.Errorf("range /%s is not one of /%d to /%d", clip(text, 8), skip, skip+addr.BitLen())
	if text == "0" && skip == 0 {
		return 0, nil
	}
	bits, err := parsePort(text) // the same strict digits
	if err != nil || bits < skip || bits > skip+addr.BitLen() {
		return 0, invalid
	}
	return bits - skip, nil
}

// spell writes the rule so that ParseRule reads it back as the same rule.
func (r Rule) spell() string {
	where := r.name
	if r.below {
		where = "*." + where
	}
	if r.prefix.IsValid() {
		where = r.prefix.String()
		if r.prefix.IsSingleIP() {
			where = r.prefix.Addr().String()
		}
		if r.port != 0 && r.prefix.Addr().Is6() {
			where = "[" + where + "]"
		}
	}
	if r.port != 0 {
		where = fmt.Sprintf("%s:%d", where, r.port)
	}
	if r.tcp {
		where = "tcp://" + where
	}
	return where
}

// matchesHost tells whether the rule names h, ports aside.
func (r Rule) matchesHost(h host) bool {
	switch {
	case h.addr.IsValid():
		return r.prefix.IsValid() && r.prefix.Contains(h.addr)
	case r.name == "" || h.name == "":
		return false
	case r.below:
		above, ok := strings.CutSuffix(h.name, r.name)
		return ok && strings.HasSuffix(above, ".")
	}
	return h.name == r.name
}

// allowsPort is the port half of an allow rule: its own port, or the two of
// the web.
func (r Rule) allowsPort(port int) bool {
	if r.port == 0 {
		return port == 80 || port == 443
	}
	return port == r.port
}

// deniesPort is the port half of a deny rule: its own port, or every one.
func (r Rule) deniesPort(port int) bool { return r.port == 0 || r.port == port }

// Ranges wider than these are hardly meant, and would take in addresses that
// must be named one by one.
const (
	widestRange4 = 8
	widestRange6 = 16
)

var (
	loopback4    = netip.MustParsePrefix("127.0.0.0/8")
	loopback6    = netip.MustParsePrefix("::1/128")
	unspecified4 = netip.MustParsePrefix("0.0.0.0/8")
)

// checkAllow refuses rules that are too open to allow; as deny rules they do no
// harm.
func (r Rule) checkAllow() error {
	if r.prefix.IsValid() {
		return r.checkAllowRange()
	}
	if r.below {
		if suffix, icann := publicsuffix.PublicSuffix(r.name); icann && suffix == r.name {
			return fmt.Errorf("*.%s covers a whole public suffix: name the domain below it", r.name)
		}
	}
	if (host{name: r.name}).isLocalhost() && r.port == 0 {
		return errors.New("the host itself needs a port, as in localhost:8080")
	}
	return nil
}

func (r Rule) checkAllowRange() error {
	widest := widestRange4
	if r.prefix.Addr().Is6() {
		widest = widestRange6
	}
	switch {
	case r.prefix.Bits() < widest:
		return fmt.Errorf("%s is too wide a range: at most /%d", r.prefix, widest)
	case r.prefix.Overlaps(unspecified4) || r.prefix.Addr() == netip.IPv6Unspecified():
		return errors.New("the unspecified address leads nowhere: name the host itself as 127.0.0.1 and a port")
	case r.port == 0 && (r.prefix.Overlaps(loopback4) || r.prefix.Overlaps(loopback6)):
		return errors.New("the host itself needs a port, as in 127.0.0.1:8080")
	}
	return nil
}

// checkDeny refuses what has no meaning in a deny rule.
func (r Rule) checkDeny() error {
	if r.tcp {
		return errors.New("a deny rule denies every kind of bytes: write it without tcp://")
	}
	return nil
}
