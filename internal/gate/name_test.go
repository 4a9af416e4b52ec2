package gate

import (
	"strings"
	"testing"
)

func TestParseHostNormalises(t *testing.T) {
	tests := []struct{ text, want string }{
		{"example.com", "example.com"},
		{"EXAMPLE.Com", "example.com"},
		{"example.com.", "example.com"},
		{"my_bucket.example.com", "my_bucket.example.com"},
		{"r3---sn-abc.example.com", "r3---sn-abc.example.com"},
		{"bücher.example", "xn--bcher-kva.example"},
		{"BÜCHER.example", "xn--bcher-kva.example"},
		{"XN--BCHER-KVA.example", "xn--bcher-kva.example"},
		{"example。com", "example.com"}, // ideographic full stop
		{"ｅｘａｍｐｌｅ.com", "example.com"},
		{"exam\u00adple.com", "example.com"}, // soft hyphen

		{"127.0.0.1", "127.0.0.1"},
		{"127.0.0.1.", "127.0.0.1"},
		{"127.1", "127.0.0.1"},
		{"127.0.1", "127.0.0.1"},
		{"2130706433", "127.0.0.1"},
		{"0x7f.1", "127.0.0.1"},
		{"0X7F000001", "127.0.0.1"},
		{"0177.0.0.01", "127.0.0.1"},
		{"017700000001", "127.0.0.1"},
		{"１２７.１", "127.0.0.1"}, // full-width digits
		{"0", "0.0.0.0"},
		{"0x", "0.0.0.0"},
		{"8.8.2056", "8.8.8.8"},

		{"::1", "::1"},
		{"[::1]", "::1"},
		{"[0:0:0:0:0:0:0:1]", "::1"},
		{"2606:4700::1111", "2606:4700::1111"},
		{"[2606:4700:0:0::1111]", "2606:4700::1111"},
		{"::ffff:127.0.0.1", "127.0.0.1"},
		{"[::ffff:7f00:1]", "127.0.0.1"},
		{"[::FFFF:127.0.0.1]", "127.0.0.1"},
	}
	for _, tt := range tests {
		got, err := parseHost(tt.text)
		if err != nil || got.String() != tt.want {
			t.Errorf("parseHost(%q) = %q, %v; want %q", tt.text, got, err, tt.want)
		}
	}
}

func TestParseHostRefuses(t *testing.T) {
	for _, text := range []string{
		"", ".", "..", "example.com..", ".example.com", "a..b",
		" example.com", "example.com ", "exa mple.com", "example.com\t", "example.com\n", "a\r\nb", "a\x00b", "a\x7fb", "a\u00a0b",
		"example.com/path", "user@example.com", "example.com?x", "example.com#x", "exam%70le.com", "a,b", "a;b", `a\b`, "*.example.com",
		"-a.example", "a-.example", strings.Repeat("a", 64) + ".example", strings.Repeat("a.", 127) + "toolong", strings.Repeat("a", 5000),
		"\xff\xfe", "xn--a.example", "xn--.example",
		"1.2.3.4.5", "256.1.1.1", "1.2.3.256", "127.0.0.08", "0x100000000", "4294967296", "1..2", "foo.0x7f", "foo.1", "1.2.3.-4", "1.2.3.+4",
		"[", "]", "[]", "[::1", "::1]", "[127.0.0.1]", "[example.com]", "[[::1]]", "::1%eth0", "[fe80::1%25eth0]", ":::", "1:2", "::g",
	} {
		if got, err := parseHost(text); err == nil {
			t.Errorf("parseHost(%q) = %q, want an error", text, got)
		}
	}
}

func TestParseTarget(t *testing.T) {
	tests := []struct {
		text        string
		defaultPort int
		want        string // empty: refused
	}{
		{"example.com:443", 0, "example.com:443"},
		{"Example.COM.:443", 0, "example.com:443"},
		{"[::1]:8080", 0, "[::1]:8080"},
		{"[::ffff:1.2.3.4]:80", 0, "1.2.3.4:80"},
		{"0x7f.1:80", 0, "127.0.0.1:80"},
		{"example.com", 80, "example.com:80"},
		{"[::1]", 80, "[::1]:80"},
		{"example.com", 0, ""},
		{"::1", 0, ""},
		{"example.com:", 0, ""},
		{"example.com:", 80, ""},
		{":443", 0, ""},
		{"example.com:0", 0, ""},
		{"example.com:65536", 0, ""},
		{"example.com:-1", 0, ""},
		{"example.com:+443", 0, ""},
		{"example.com:0443", 0, ""},
		{"example.com:443:443", 0, ""},
		{"example.com:https", 0, ""},
		{"example.com: 443", 0, ""},
		{"example.com:443/", 0, ""},
		{"user@example.com:443", 0, ""},
		{"user:pass@example.com:443", 0, ""},
		{"http://example.com:443", 0, ""},
		{"[::1]443", 0, ""},
		{"[::1:443", 0, ""},
	}
	for _, tt := range tests {
		got, err := parseTarget(tt.text, tt.defaultPort)
		if (err == nil) != (tt.want != "") || err == nil && got.String() != tt.want {
			t.Errorf("parseTarget(%q, %d) = %v, %v; want %q", tt.text, tt.defaultPort, got, err, tt.want)
		}
	}
}
