package sandboxtest

import (
	"slices"
	"strings"
	"testing"

	"github.com/agent-loop/ralph/internal/sandbox"
)

func environmentChecks() []check {
	return []check{
		{"it is the sandbox's, and nothing of the host's", checkExactEnv},
		{"a command adds to it and wins", checkCommandEnv},
		{"values arrive as they are", checkEnvValues},
	}
}

// env is what a program sees. It is asked without a shell, which would add
// variables of its own.
func (s *suite) env(t *testing.T, extra ...string) []string {
	t.Helper()
	r := s.box.run(t, sandbox.Command{Args: []string{"env", "-0"}, Env: extra})
	if r.code != 0 {
		t.Fatalf("env gave %+v", r)
	}
	list := strings.Split(strings.TrimSuffix(r.stdout, "\x00"), "\x00")
	slices.Sort(list)
	return list
}

func wantEnv(t *testing.T, got, want []string) {
	t.Helper()
	want = slices.Sorted(slices.Values(want))
	if !slices.Equal(got, want) {
		t.Errorf("the environment is\n%q, want\n%q", got, want)
	}
}

// Exactly this list also means that no proxy variable is there when the network
// is none.
func checkExactEnv(t *testing.T, s *suite) {
	got := s.env(t)
	wantEnv(t, got, s.spec.Env)
	if all := strings.Join(got, "\n"); strings.Contains(all, canaryName) || strings.Contains(all, s.canary) {
		t.Errorf("the host's environment is seen inside: %s", all)
	}
}

func checkCommandEnv(t *testing.T, s *suite) {
	extra := []string{"ADDED=1", "LANG=C", "EMPTY="}
	wantEnv(t, s.env(t, extra...), sandbox.MergeEnv(s.spec.Env, extra))
	wantEnv(t, s.env(t), s.spec.Env) // and nothing of it stays
}

func checkEnvValues(t *testing.T, s *suite) {
	extra := []string{
		"SPACES= a  b ", "NEWLINES=one\ntwo\n", `QUOTES='single' "double"`, "EQUALS=a=b=c",
		"UNICODE=ünï ☃ 漢字", "DOLLAR=$HOME `id` \\", "LONG=" + strings.Repeat("x", 100_000),
	}
	wantEnv(t, s.env(t, extra...), sandbox.MergeEnv(s.spec.Env, extra))
}
