package sandbox_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/agent-loop/ralph/internal/sandbox"
)

func TestMergeEnv(t *testing.T) {
	for name, tt := range map[string]struct{ base, extra, want []string }{
		"nothing":             {nil, nil, nil},
		"only base":           {[]string{"A=1"}, nil, []string{"A=1"}},
		"only extra":          {nil, []string{"A=1"}, []string{"A=1"}},
		"added at the end":    {[]string{"A=1"}, []string{"B=2"}, []string{"A=1", "B=2"}},
		"replaced in place":   {[]string{"A=1", "B=2"}, []string{"A=3"}, []string{"A=3", "B=2"}},
		"emptied":             {[]string{"A=1"}, []string{"A="}, []string{"A="}},
		"the last one counts": {[]string{"A=1"}, []string{"A=2", "A=3"}, []string{"A=3"}},
		"case matters":        {[]string{"a=1"}, []string{"A=2"}, []string{"a=1", "A=2"}},
		"not a prefix":        {[]string{"AB=1"}, []string{"A=2"}, []string{"AB=1", "A=2"}},
		"equals in the value": {[]string{"A=b=c"}, []string{"A=d=e"}, []string{"A=d=e"}},
		"a name alone":        {[]string{"A=1"}, []string{"A"}, []string{"A"}},
	} {
		t.Run(name, func(t *testing.T) {
			before := slices.Clone(tt.base)
			if got := sandbox.MergeEnv(tt.base, tt.extra); !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if !slices.Equal(tt.base, before) {
				t.Errorf("base is now %q", tt.base)
			}
		})
	}
}

// A variable of the caller must not follow an agent in, whatever its name.
func TestBaseEnvInheritsNothing(t *testing.T) {
	for _, name := range []string{"SECRET_TOKEN", "HOME", "PATH", "HTTP_PROXY", "NO_PROXY", "LD_PRELOAD"} {
		t.Setenv(name, "from-the-host")
	}
	for _, network := range []sandbox.Network{sandbox.NetworkNone, sandbox.NetworkGate, sandbox.NetworkOpen} {
		if env := strings.Join(sandbox.BaseEnv(network), "\n"); strings.Contains(env, "from-the-host") {
			t.Errorf("%s: %s", network, env)
		}
	}
}

func TestBaseEnvPointsAtTheGate(t *testing.T) {
	for network, want := range map[sandbox.Network]bool{
		sandbox.NetworkNone: false,
		sandbox.NetworkGate: true,
		sandbox.NetworkOpen: false,
	} {
		env := sandbox.BaseEnv(network)
		for _, name := range []string{"HTTP_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"} {
			if got := slices.Contains(env, name+"=http://"+sandbox.GateAddress); got != want {
				t.Errorf("network %s has %s: %v, want %v", network, name, got, want)
			}
		}
		if got := slices.Contains(env, "no_proxy=localhost,127.0.0.1,::1"); got != want {
			t.Errorf("network %s has no_proxy: %v, want %v", network, got, want)
		}
		if !slices.Contains(env, "HOME="+sandbox.Home) {
			t.Errorf("network %s: no HOME", network)
		}
	}
}

// Callers add to what they get; the next caller must not see it.
func TestBaseEnvIsFresh(t *testing.T) {
	sandbox.BaseEnv(sandbox.NetworkNone)[0] = "PATH=/tmp"
	if got := sandbox.BaseEnv(sandbox.NetworkNone)[0]; got == "PATH=/tmp" {
		t.Error("two callers share one environment")
	}
}
