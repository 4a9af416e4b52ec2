package gate

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// parseIPv6 reads an IPv6 literal without brackets. A zone names an interface
// of the host and is refused.
func parseIPv6(text string) (host, error) {
	addr, err := netip.ParseAddr(text)
	if err != nil || addr.Zone() != "" {
		return host{}, fmt.Errorf("%q is not an IPv6 address", clip(text, 64))
	}
	return host{addr: addr.Unmap()}, nil
}

// endsInNumber tells a name that must be an IPv4 address: resolvers and
// libraries read such names as numbers in many ways, so none of them is let
// through as a name. This is the rule of the URL standard.
func endsInNumber(name string) bool {
	last := name[strings.LastIndexByte(name, '.')+1:]
	if last == "" {
		return false
	}
	if hex, ok := strings.CutPrefix(last, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return strings.Trim(last, "0123456789") == ""
}

// parseIPv4 reads the spellings that C libraries accept: one to four numbers,
// each decimal, octal (leading 0) or hexadecimal (leading 0x), the last of which
// fills the bytes that remain.
func parseIPv4(name string) (netip.Addr, error) {
	parts := strings.Split(name, ".")
	if len(parts) > 4 {
		return netip.Addr{}, notIPv4(name)
	}
	var value uint64
	for i, part := range parts {
		n, err := parseIPv4Number(part)
		width := uint(8)
		if i == len(parts)-1 {
			width = 8 * uint(4-i)
		}
		if err != nil || n>>width != 0 {
			return netip.Addr{}, notIPv4(name)
		}
		value = value<<width | n
	}
	return netip.AddrFrom4([4]byte{byte(value >> 24), byte(value >> 16), byte(value >> 8), byte(value)}), nil
}

func notIPv4(name string) error {
	return fmt.Errorf("%q is not an IPv4 address", clip(name, 64))
}

// parseIPv4Number reads one number in the base that its prefix says. As in the
// URL standard, 0x alone is zero.
func parseIPv4Number(text string) (uint64, error) {
	base := 10
	if hex, ok := strings.CutPrefix(text, "0x"); ok {
		text, base = "0"+hex, 16
	} else if len(text) > 1 && text[0] == '0' {
		text, base = text[1:], 8
	}
	if text == "" || text[0] == '+' || text[0] == '-' {
		return 0, errors.New("not a number")
	}
	return strconv.ParseUint(text, base, 32)
}
