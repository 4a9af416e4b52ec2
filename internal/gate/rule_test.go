package gate

import (
	"strings"
	"testing"
)

// TestParseRule shows every form, with its normalised spelling.
func TestParseRule(t *testing.T) {
	tests := []struct{ text, want string }{
		{"example.com", "example.com"},
		{"EXAMPLE.com.", "example.com"},
		{"*.Example.com", "*.example.com"},
		{"*.bücher.example", "*.xn--bcher-kva.example"},
		{"example.com:8443", "example.com:8443"},
		{"*.example.com:8443", "*.example.com:8443"},
		{"192.0.2.7", "192.0.2.7"},
		{"0xc0.0.2.7", "192.0.2.7"},
		{"192.0.2.7:80", "192.0.2.7:80"},
		{"192.0.2.7/32", "192.0.2.7"},
		{"192.0.2.0/24", "192.0.2.0/24"},
		{"192.0.2.0/24:80", "192.0.2.0/24:80"},
		{"::ffff:192.0.2.0/120", "192.0.2.0/24"},
		{"2001:DB8::7", "2001:db8::7"},
		{"[2001:db8::7]", "2001:db8::7"},
		{"[2001:db8::7]:80", "[2001:db8::7]:80"},
		{"2001:db8::/32", "2001:db8::/32"},
		{"[2001:db8::/32]:80", "[2001:db8::/32]:80"},
		{"tcp://example.com:22", "tcp://example.com:22"},
		{"tcp://*.example.com:22", "tcp://*.example.com:22"},
		{"tcp://10.0.0.0/8:5432", "tcp://10.0.0.0/8:5432"},
		{"localhost:8080", "localhost:8080"},
	}
	for _, tt := range tests {
		rule, err := ParseRule(tt.text)
		if err != nil || rule.String() != tt.want {
			t.Errorf("ParseRule(%q) = %q, %v; want %q", tt.text, rule, err, tt.want)
			continue
		}
		again, err := ParseRule(rule.String())
		if err != nil || again != rule {
			t.Errorf("ParseRule(%q) read back = %+v, %v; want %+v", rule, again, err, rule)
		}
	}
}

// TestParseRuleRefuses wants a reason that names the mistake.
func TestParseRuleRefuses(t *testing.T) {
	tests := []struct{ text, want string }{
		{"", "empty"},
		{"*", "bare *"},
		{"*:443", "bare *"},
		{"*.", "empty host"},
		{"*..com", "empty label"},
		{"*.*.com", "character"},
		{"foo.*.com", "in front"},
		{"*example.com", "in front"},
		{"exam*le.com", "in front"},
		{"*.10.0.0.1", "range of addresses"},
		{" ", "space"},
		{"example.com ", "space"},
		{"a b", "space"},
		{"a\x00b", "control"},
		{"a\x1bb", "control"},
		{"https://example.com", "without a scheme"},
		{"tcp://https://example.com:1", "without a scheme"},
		{"example.com/path", "no path"},
		{"user@example.com", "user name"},
		{"example.com:http", "port"},
		{"example.com:0", "port"},
		{"example.com:99999", "port"},
		{"example.com:", "port"},
		{"tcp://example.com", "needs a port"},
		{"tcp://", "empty"},
		{"10.0.0.1/8", "did you mean 10.0.0.0/8"},
		{"10.0.0.0/33", "not one of /0 to /32"},
		{"10.0.0.0/", "not one of"},
		{"10.0.0.0/08", "not one of"},
		{"::ffff:10.0.0.0/8", "not one of /96 to /128"},
		{"[2001:db8::7", "not closed"},
		{"[2001:db8::7]x", "follow the bracket"},
		{"256.0.0.1", "IPv4"},
		{"\xff", "UTF-8"},
		{strings.Repeat("a", 300), "longer"},
	}
	for _, tt := range tests {
		rule, err := ParseRule(tt.text)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("ParseRule(%q) = %q, %v; want an error with %q", tt.text, rule, err, tt.want)
		}
	}
}

// TestAllowRefuses holds what ParseRule accepts and only a deny list may have.
func TestAllowRefuses(t *testing.T) {
	tests := []struct{ text, want string }{
		{"*.com", "public suffix"},
		{"*.co.uk", "public suffix"},
		{"*.xn--p1ai", "public suffix"},
		{"0.0.0.0/0", "too wide"},
		{"8.0.0.0/7", "too wide"},
		{"::/0", "too wide"},
		{"2000::/3", "too wide"},
		{"0.0.0.0:80", "unspecified"},
		{"[::]:80", "unspecified"},
		{"[::/96]:80", "unspecified"},
		{"localhost", "port"},
		{"*.localhost", "port"},
		{"127.0.0.1", "port"},
		{"0x7f.1", "port"},
		{"::1", "port"},
		{"127.0.0.0/8", "port"},
	}
	for _, tt := range tests {
		if _, err := NewPolicy(ModeAllowlist, []string{tt.text}, nil); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("allow %q: error %v, want one with %q", tt.text, err, tt.want)
		}
		if _, err := NewPolicy(ModeAllowlist, nil, []string{tt.text}); err != nil {
			t.Errorf("deny %q: error %v, want none", tt.text, err)
		}
	}
	for _, text := range []string{"*.internal", "*.example.co.uk", "*.github.io", "127.0.0.1:80", "[::1]:80", "localhost:80", "10.0.0.0/8"} {
		if _, err := NewPolicy(ModeAllowlist, []string{text}, nil); err != nil {
			t.Errorf("allow %q: error %v, want none", text, err)
		}
	}
}
