package gate

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
)

func mustPolicy(t testing.TB, mode Mode, allow, deny []string) *Policy {
	t.Helper()
	p, err := NewPolicy(mode, allow, deny)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestParseMode(t *testing.T) {
	for text, want := range map[string]Mode{"none": ModeNone, "deny": ModeNone, "allowlist": ModeAllowlist, "allow-all": ModeAllowAll} {
		if got, err := ParseMode(text); got != want || err != nil {
			t.Errorf("ParseMode(%q) = %q, %v; want %q", text, got, err, want)
		}
	}
	for _, text := range []string{"", "open", "Allowlist", "allow_all"} {
		if got, err := ParseMode(text); err == nil {
			t.Errorf("ParseMode(%q) = %q, want an error", text, got)
		}
	}
}

func TestDecide(t *testing.T) {
	tests := []struct {
		name  string
		allow []string
		deny  []string
		host  string
		port  int
		rule  string // the rule that allows; empty: denied
		why   string // part of the reason, when denied
	}{
		{"an empty list denies", nil, nil, "example.com", 443, "", "no rule"},
		{"a name", []string{"example.com"}, nil, "example.com", 443, "example.com", ""},
		{"in other spellings", []string{"Example.com."}, nil, "EXAMPLE.com.", 443, "example.com", ""},
		{"on port 80", []string{"example.com"}, nil, "example.com", 80, "example.com", ""},
		{"not on other ports", []string{"example.com"}, nil, "example.com", 8443, "", "no rule"},
		{"nor ssh", []string{"example.com"}, nil, "example.com", 22, "", "no rule"},
		{"a name is not those below", []string{"example.com"}, nil, "www.example.com", 443, "", "no rule"},
		{"a name is not a suffix", []string{"example.com"}, nil, "badexample.com", 443, "", "no rule"},
		{"a name is not a prefix", []string{"example.com"}, nil, "example.com.evil.test", 443, "", "no rule"},
		{"a wildcard", []string{"*.example.com"}, nil, "www.example.com", 443, "*.example.com", ""},
		{"a wildcard is deep", []string{"*.example.com"}, nil, "a.b.c.example.com", 443, "*.example.com", ""},
		{"a wildcard is not the apex", []string{"*.example.com"}, nil, "example.com", 443, "", "no rule"},
		{"a wildcard wants the dot", []string{"*.example.com"}, nil, "badexample.com", 443, "", "no rule"},
		{"a port", []string{"example.com:8443"}, nil, "example.com", 8443, "example.com:8443", ""},
		{"a port is the only one", []string{"example.com:8443"}, nil, "example.com", 443, "", "no rule"},
		{"unicode is punycode", []string{"bücher.example"}, nil, "xn--bcher-kva.example", 443, "xn--bcher-kva.example", ""},
		{"the first rule is named", []string{"a.example", "*.b.example", "x.b.example"}, nil, "x.b.example", 443, "*.b.example", ""},

		{"deny beats allow", []string{"example.com"}, []string{"example.com"}, "example.com", 443, "", "denied by rule example.com"},
		{"deny in another spelling", []string{"*.example.com"}, []string{"EVIL.example.com"}, "evil.Example.com.", 443, "", "denied by rule evil.example.com"},
		{"deny by wildcard", []string{"a.example.com"}, []string{"*.com"}, "a.example.com", 443, "", "denied by rule *.com"},
		{"deny every port", []string{"example.com:8443"}, []string{"example.com"}, "example.com", 8443, "", "denied by rule"},
		{"deny one port", []string{"example.com"}, []string{"example.com:80"}, "example.com", 443, "example.com", ""},

		{"a public address", []string{"8.8.8.8"}, nil, "8.8.8.8", 443, "8.8.8.8", ""},
		{"as one number", []string{"8.8.8.8"}, nil, "134744072", 443, "8.8.8.8", ""},
		{"as IPv6", []string{"8.8.8.8"}, nil, "[::ffff:8.8.8.8]", 443, "8.8.8.8", ""},
		{"not named", []string{"8.8.8.8"}, nil, "8.8.4.4", 443, "", "no rule"},
		{"a range", []string{"8.8.8.0/24"}, nil, "8.8.8.9", 443, "8.8.8.0/24", ""},
		{"a hole in a range", []string{"8.8.8.0/24"}, []string{"8.8.8.9"}, "8.8.8.9", 443, "", "denied by rule 8.8.8.9"},
		{"IPv6", []string{"2606:4700::/32"}, nil, "[2606:4700::1111]", 443, "2606:4700::/32", ""},
		{"a private address that is named", []string{"10.1.2.3"}, nil, "10.1.2.3", 443, "10.1.2.3", ""},
		{"by range and port", []string{"10.0.0.0/8:5432"}, nil, "10.1.2.3", 5432, "10.0.0.0/8:5432", ""},
		{"loopback with its port", []string{"127.0.0.1:8080"}, nil, "127.0.0.1", 8080, "127.0.0.1:8080", ""},
		{"loopback, another port", []string{"127.0.0.1:8080"}, nil, "127.0.0.1", 443, "", "no rule"},
		{"loopback, hexadecimal", []string{"127.0.0.1:8080"}, nil, "0x7f000001", 8080, "127.0.0.1:8080", ""},
		{"localhost with its port", []string{"localhost:8080"}, nil, "LOCALHOST", 8080, "localhost:8080", ""},
		{"localhost is not its address", []string{"localhost:8080"}, nil, "127.0.0.1", 8080, "", "no rule"},
		{"metadata by its address", []string{"169.254.169.254"}, nil, "169.254.169.254", 80, "169.254.169.254", ""},
		{"metadata not by range", []string{"169.254.0.0/16"}, nil, "169.254.169.254", 80, "", "metadata"},
		{"nor in IPv6", []string{"fd00::/16"}, nil, "[fd00:ec2::254]", 80, "", "metadata"},
		{"NAT64 by range, public inside", []string{"64:ff9b::/96"}, nil, "[64:ff9b::8.8.8.8]", 443, "64:ff9b::/96", ""},
		{"NAT64 by range, private inside", []string{"64:ff9b::/96"}, nil, "[64:ff9b::10.0.0.1]", 443, "", "carries"},
		{"NAT64 by range, both named", []string{"64:ff9b::/96", "10.0.0.0/8"}, nil, "[64:ff9b::10.0.0.1]", 443, "64:ff9b::/96", ""},
		{"NAT64 by range, denied inside", []string{"64:ff9b::/96"}, []string{"8.8.8.8"}, "[64:ff9b::8.8.8.8]", 443, "", "carries"},

		{"no port 0", []string{"example.com"}, nil, "example.com", 0, "", "invalid port"},
		{"no port below", []string{"example.com"}, nil, "example.com", -1, "", "invalid port"},
		{"no port above", []string{"example.com"}, nil, "example.com", 65536 + 443, "", "invalid port"},
		{"not a name", []string{"example.com"}, nil, "example.com/", 443, "", "invalid host"},
		{"a line feed", []string{"example.com"}, nil, "example.com\n", 443, "", "invalid host"},
		{"a null byte", []string{"example.com"}, nil, "example.com\x00.evil.test", 443, "", "invalid host"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := mustPolicy(t, ModeAllowlist, tt.allow, tt.deny).Decide(tt.host, tt.port)
			if got.Allowed != (tt.rule != "") || got.Allowed && got.Rule != tt.rule {
				t.Errorf("decision %+v, want rule %q", got, tt.rule)
			}
			if got.Reason == "" || !strings.Contains(got.Reason, tt.why) {
				t.Errorf("reason %q, want one with %q", got.Reason, tt.why)
			}
		})
	}
}

func TestDecideModes(t *testing.T) {
	none := mustPolicy(t, ModeNone, []string{"example.com"}, nil)
	open := mustPolicy(t, ModeAllowAll, []string{"10.0.0.5:8080"}, []string{"*.evil.test"})
	var unset *Policy
	tests := []struct {
		name    string
		policy  *Policy
		host    string
		port    int
		allowed bool
	}{
		{"none denies what is listed", none, "example.com", 443, false},
		{"no policy denies", unset, "example.com", 443, false},
		{"the zero policy denies", new(Policy), "example.com", 443, false},
		{"allow-all", open, "anything.test", 2222, true},
		{"allow-all, denied", open, "www.evil.test", 443, false},
		{"allow-all, public address", open, "8.8.8.8", 443, true},
		{"allow-all, private address", open, "10.0.0.4", 8080, false},
		{"allow-all, private address that is named", open, "10.0.0.5", 8080, true},
		{"allow-all, metadata", open, "169.254.169.254", 80, false},
		{"allow-all, loopback", open, "127.1", 80, false},
		{"allow-all, unspecified", open, "0", 80, false},
		{"allow-all, not a name", open, "a b", 80, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.policy.Decide(tt.host, tt.port); got.Allowed != tt.allowed || got.Reason == "" {
				t.Errorf("decision %+v, want allowed %t", got, tt.allowed)
			}
		})
	}
}

func TestVet(t *testing.T) {
	tests := []struct {
		name    string
		allow   []string
		deny    []string
		host    string
		port    int
		addr    string
		allowed bool
	}{
		{"public", []string{"example.com"}, nil, "example.com", 443, "93.184.216.34", true},
		{"the name must be allowed too", []string{"8.8.8.8"}, nil, "example.com", 443, "8.8.8.8", false},
		{"private", []string{"example.com"}, nil, "example.com", 443, "10.0.0.1", false},
		{"private as IPv6", []string{"example.com"}, nil, "example.com", 443, "::ffff:10.0.0.1", false},
		{"private, range named", []string{"git.corp.example", "10.0.0.0/8"}, nil, "git.corp.example", 443, "10.0.0.1", true},
		{"private, another range named", []string{"git.corp.example", "10.1.0.0/16"}, nil, "git.corp.example", 443, "10.0.0.1", false},
		{"private, named for other ports", []string{"git.corp.example:22", "10.0.0.0/8"}, nil, "git.corp.example", 22, "10.0.0.1", false},
		{"private, named for this port", []string{"git.corp.example:22", "10.0.0.0/8:22"}, nil, "git.corp.example", 22, "10.0.0.1", true},
		{"loopback under another name", []string{"example.com:8080"}, nil, "example.com", 8080, "127.0.0.1", false},
		{"loopback under another name, named", []string{"example.com:8080", "127.0.0.1:8080"}, nil, "example.com", 8080, "127.0.0.1", true},
		{"localhost", []string{"localhost:8080"}, nil, "localhost", 8080, "127.0.0.1", true},
		{"localhost, IPv6", []string{"localhost:8080"}, nil, "localhost", 8080, "::1", true},
		{"below localhost", []string{"*.localhost:8080"}, nil, "app.localhost", 8080, "127.0.0.1", true},
		{"localhost is loopback alone", []string{"localhost:8080"}, nil, "localhost", 8080, "10.0.0.1", false},
		{"unspecified", []string{"example.com"}, nil, "example.com", 443, "0.0.0.0", false},
		{"denied address", []string{"example.com"}, []string{"93.184.0.0/16"}, "example.com", 443, "93.184.216.34", false},
		{"scoped", []string{"example.com"}, nil, "example.com", 443, "fe80::1%eth0", false},
		{"no address", []string{"example.com"}, nil, "example.com", 443, "", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			addr, _ := netip.ParseAddr(tt.addr)
			got := mustPolicy(t, ModeAllowlist, tt.allow, tt.deny).Vet(tt.host, tt.port, addr)
			if got.Allowed != tt.allowed || got.Reason == "" {
				t.Errorf("decision %+v, want allowed %t", got, tt.allowed)
			}
		})
	}
}

func TestDecideTCP(t *testing.T) {
	listed := mustPolicy(t, ModeAllowlist, []string{"example.com", "tcp://example.com:443", "example.org"}, nil)
	open := mustPolicy(t, ModeAllowAll, []string{"example.com"}, nil)
	tests := []struct {
		policy *Policy
		host   string
		port   int
		want   bool
	}{
		{listed, "example.com", 443, true}, // a tcp rule wins over an earlier one
		{listed, "example.com", 80, false},
		{listed, "example.org", 443, false},
		{open, "example.com", 443, false},
		{open, "example.com", 80, true},
		{open, "example.org", 22, true},
	}
	for _, tt := range tests {
		if got := tt.policy.Decide(tt.host, tt.port); !got.Allowed || got.TCP != tt.want {
			t.Errorf("Decide(%s, %d) = %+v, want TCP %t", tt.host, tt.port, got, tt.want)
		}
	}
}

// TestDecideFix takes the advice of a denial and wants it to work.
func TestDecideFix(t *testing.T) {
	empty := mustPolicy(t, ModeAllowlist, nil, nil)
	for _, to := range []target{
		{host{name: "example.com"}, 443}, {host{name: "example.com"}, 22}, {host{name: "localhost"}, 80},
		{host{addr: netip.MustParseAddr("8.8.8.8")}, 443}, {host{addr: netip.MustParseAddr("127.0.0.1")}, 80},
		{host{addr: netip.MustParseAddr("2606:4700::1")}, 8080}, {host{addr: netip.MustParseAddr("10.0.0.1")}, 443},
	} {
		denied := empty.Decide(to.host.String(), to.port)
		rule, ok := strings.CutPrefix(denied.Fix, "add --allow ")
		if denied.Allowed || !ok {
			t.Errorf("Decide(%s) = %+v, want advice", to, denied)
			continue
		}
		if got := mustPolicy(t, ModeAllowlist, []string{rule}, nil).Decide(to.host.String(), to.port); !got.Allowed {
			t.Errorf("with --allow %s: %+v", rule, got)
		}
	}
}

func TestPresets(t *testing.T) {
	tests := []struct {
		preset, host string
		rule         string
	}{
		{"@npm", "pkg.npmjs.org", "*.npmjs.org (@npm)"},
		{"npm", "pkg.npmjs.org", "*.npmjs.org (@npm)"},
		{"@pypi", "a.pypi.org", "*.pypi.org (@pypi)"},
		{"@pypi", "a.pythonhosted.org", "*.pythonhosted.org (@pypi)"},
		{"@github", "github.com", "github.com (@github)"},
		{"@github", "api.github.com", "*.github.com (@github)"},
		{"@anthropic", "api.anthropic.com", "api.anthropic.com (@anthropic)"},
		{"@openai", "api.openai.com", "api.openai.com (@openai)"},
		{"@crates", "a.crates.io", "*.crates.io (@crates)"},
		{"go", "a.golang.org", "*.golang.org (@go)"},
		{"@debian", "a.debian.org", "*.debian.org (@debian)"},
	}
	for _, tt := range tests {
		got := mustPolicy(t, ModeAllowlist, []string{tt.preset}, nil).Decide(tt.host, 443)
		if !got.Allowed || got.Rule != tt.rule {
			t.Errorf("%s: Decide(%s) = %+v, want rule %q", tt.preset, tt.host, got, tt.rule)
		}
	}
	want := []string{"anthropic", "crates", "debian", "github", "go", "npm", "openai", "pypi"}
	if got := Presets(); !slices.Equal(got, want) {
		t.Errorf("Presets() = %q, want %q", got, want)
	}
	if got := mustPolicy(t, ModeAllowAll, nil, []string{"@github"}).Decide("api.github.com", 443); got.Allowed {
		t.Errorf("denied preset: %+v", got)
	}
}

// TestNewPolicyReportsAll wants every mistake in one error.
func TestNewPolicyReportsAll(t *testing.T) {
	_, err := NewPolicy("open", []string{"*", "example.com", "*.com", "@nope"}, []string{"a b", "tcp://example.com:22"})
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		`unknown network policy "open"`, `allow rule "*"`, `allow rule "*.com"`, `allow rule "@nope": no such preset: there are anthropic,`,
		`deny rule "a b"`, `deny rule "tcp://example.com:22"`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error lacks %q:\n%v", want, err)
		}
	}
	if strings.Contains(err.Error(), `"example.com"`) {
		t.Errorf("error names a good rule:\n%v", err)
	}
}
