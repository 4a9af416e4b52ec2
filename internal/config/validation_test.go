package config

import (
	"reflect"
	"slices"
	"testing"
)

// TestValidationNetwork: a validation reaches what the run does or less, and what
// is denied stays so.
func TestValidationNetwork(t *testing.T) {
	run := func(policy string, allowed ...string) Network {
		return Network{Policy: policy, Allowed: allowed, Denied: []string{"d.example"}}
	}
	names := []string{"A.example", "@npm", "c.example", "127.0.0.1:80", "localhost:80", "@npm"}
	tests := []struct {
		name   string
		run    Network
		policy string
		want   Network
	}{
		{"the same list", run(PolicyAllowlist, "a.example", "10.0.0.1:80"), PolicySame, run(PolicyAllowlist, "a.example", "10.0.0.1:80")},
		{"the same door to all", run(PolicyAllowAll), PolicySame, run(PolicyAllowAll)},
		{"the same deny", run(PolicyDeny), PolicySame, run(PolicyDeny)},

		{"nothing of a list", run(PolicyAllowlist, "a.example"), PolicyDeny, run(PolicyDeny)},
		{"nothing of all", run(PolicyAllowAll, "a.example"), PolicyDeny, run(PolicyDeny)},
		{"nothing of nothing", run(PolicyDeny), PolicyDeny, run(PolicyDeny)},

		{"what both lists hold", run(PolicyAllowlist, "a.example", "b.example", "@npm"), PolicyAllowlist, run(PolicyAllowlist, "A.example", "@npm")},
		{"written the same way", run(PolicyAllowlist, "*.example", "127.0.0.0/8:80"), PolicyAllowlist, run(PolicyAllowlist)},
		{"an address that the run may reach", run(PolicyAllowlist, "127.0.0.1:80"), PolicyAllowlist, run(PolicyAllowlist, "127.0.0.1:80")},
		{"of all hosts the public ones", run(PolicyAllowAll), PolicyAllowlist, run(PolicyAllowlist, "A.example", "@npm", "c.example")},
		{"and those that the run names besides", run(PolicyAllowAll, "127.0.0.1:80"), PolicyAllowlist, run(PolicyAllowlist, "A.example", "@npm", "c.example", "127.0.0.1:80")},
		{"none of nothing", run(PolicyDeny, "a.example"), PolicyAllowlist, run(PolicyAllowlist)},

		{"no policy denies", run(PolicyAllowlist, "a.example"), "", run(PolicyDeny)},
		{"no policy of the run opens nothing", run("", "a.example"), PolicyAllowlist, run(PolicyAllowlist)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg := Config{Sandbox: Sandbox{Network: tt.run}, Validation: Validation{Network: Reach{Policy: tt.policy, Allowed: names}}}
			if got := cfg.ValidationNetwork(); !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}

// TestValidationReachesWhatAFlagOpens: the run's list is what all sources made
// of it.
func TestValidationReachesWhatAFlagOpens(t *testing.T) {
	cfg, _ := Resolve(Sources{
		Project: mustParse(t, "[sandbox.network]\nallowed = [\"p.example\"]\n"+
			"[validation.network]\npolicy = \"allowlist\"\nallowed = [\"p.example\", \"f.example\", \"x.example\"]"),
		Flags: layerOf(t, map[string]string{keyAllowed: "f.example"}),
	})
	if got, want := cfg.ValidationNetwork().Allowed, []string{"p.example", "f.example"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestValidationNetworkIsTheCallers(t *testing.T) {
	cfg := Config{Sandbox: Sandbox{Network: Network{Policy: PolicyAllowlist, Allowed: []string{"a.example"}, Denied: []string{"d.example"}}}}
	for _, policy := range []string{PolicySame, PolicyDeny, PolicyAllowlist} {
		cfg.Validation.Network = Reach{Policy: policy, Allowed: []string{"a.example"}}
		got := cfg.ValidationNetwork()
		for _, list := range [][]string{got.Allowed, got.Denied} {
			for i := range list {
				list[i] = "changed"
			}
		}
		if again := cfg.Sandbox.Network; again.Allowed[0] != "a.example" || again.Denied[0] != "d.example" || cfg.Validation.Network.Allowed[0] != "a.example" {
			t.Errorf("%s: changing the result changes the configuration: %+v", policy, cfg)
		}
	}
}

func TestTrustedPatterns(t *testing.T) {
	tests := []struct{ text, want string }{
		{"**/*_test.go", ""},
		{"a..b/[!c]*", ""},
		{`a\*b`, ""},
		{"", "is empty"},
		{"/etc/*", "is absolute; patterns are relative to the workspace"},
		{"../*.go", "holds .. and may lead out of the workspace"},
		{"a/..", "holds .. and may lead out of the workspace"},
		{"a\x1b", "holds a control character"},
		{"a\u0085", "holds a control character"},
		{":(attr:x)*", "begins with ! or :, which mean nothing here"},
		{"!a_test.go", "begins with ! or :, which mean nothing here"},
	}
	for _, tt := range tests {
		checkText(t, "validation.trusted", tt.text, tt.want)
	}
}

// checkReachesNoMore compares a validation with its run, in a configuration that
// no person has opened.
func checkReachesNoMore(t *testing.T, cfg Config) {
	t.Helper()
	got, run := cfg.ValidationNetwork(), cfg.Sandbox.Network
	if got.Policy != PolicyDeny && got.Policy != PolicyAllowlist || !slices.Equal(got.Denied, run.Denied) {
		t.Errorf("a validation gets %+v of %+v", got, run)
	}
	for _, rule := range got.Allowed {
		if run.Policy != PolicyAllowlist || !contains(run.Allowed, rule) {
			t.Errorf("a validation reaches %q, which its run does not: %+v", rule, run)
		}
	}
}
