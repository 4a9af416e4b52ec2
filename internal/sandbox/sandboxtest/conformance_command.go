package sandboxtest

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agent-loop/ralph/internal/sandbox"
)

func commandChecks() []check {
	return []check{
		{"its exit code is passed on", checkExitCodes},
		{"death by a signal is 128 plus its number", checkSignals},
		{"what is not there is a StartError 127", checkNotFound},
		{"what is not a program is a StartError 126", checkNotExecutable},
		{"an executable script of the workspace runs", checkScript},
		{"arguments arrive as they are", checkArguments},
		{"it starts in the workspace or where it is told", checkDir},
		{"a missing directory is a StartError", checkMissingDir},
		{"state is kept from one command to the next", checkStateKept},
		{"sixteen at once do not mix", checkConcurrent},
		{"what it leaves in the background does not hold it up", checkBackground},
	}
}

// 126 to 128 are in the list because a program may return what a shell or an
// engine says when there is no program.
func checkExitCodes(t *testing.T, s *suite) {
	for _, code := range []int{0, 1, 42, 126, 127, 128, 255} {
		if r := s.sh(t, fmt.Sprintf("exit %d", code)); r.code != code {
			t.Errorf("exit %d gave %d", code, r.code)
		}
	}
}

func checkSignals(t *testing.T, s *suite) {
	for name, want := range map[string]int{"KILL": 128 + 9, "TERM": 128 + 15} {
		if r := s.sh(t, "kill -"+name+" $$; echo survived"); r.code != want || r.stdout != "" {
			t.Errorf("kill -%s gave %d and %q, want %d", name, r.code, r.stdout, want)
		}
	}
}

func (s *suite) wantStartError(t *testing.T, cmd sandbox.Command, code int) {
	t.Helper()
	err := s.try(t, cmd)
	var start *sandbox.StartError
	if !errors.As(err, &start) || start.Code != code || start.Program != cmd.Args[0] {
		t.Errorf("starting %q: error is %#v, want a StartError with %d", cmd.Args, err, code)
	}
}

func checkNotFound(t *testing.T, s *suite) {
	for _, program := range []string{"no-such-program", "/no/such/program", s.inside("missing")} {
		s.wantStartError(t, sandbox.Command{Args: []string{program, "argument"}}, 127)
	}
}

func checkNotExecutable(t *testing.T, s *suite) {
	write(t, s.outside("plain file"), "#!/bin/sh\necho ran\n")
	for _, program := range []string{s.inside("plain file"), s.inside("nested")} {
		s.wantStartError(t, sandbox.Command{Args: []string{program}}, 126)
	}
}

func checkScript(t *testing.T, s *suite) {
	write(t, s.outside("script"), "#!/bin/sh\necho \"ran with $1\"\nexit 3\n")
	if err := os.Chmod(s.outside("script"), 0o755); err != nil {
		t.Fatal(err)
	}
	r := s.box.run(t, sandbox.Command{Args: []string{s.inside("script"), "care"}})
	if r.code != 3 || r.stdout != "ran with care\n" {
		t.Errorf("the script gave %+v", r)
	}
}

func checkArguments(t *testing.T, s *suite) {
	args := []string{
		"plain", "", "two words", " edges ", `"double"`, `'single'`, `back\slash`, "$HOME", "`id`",
		"*", "?", "~", "-n", "--", "a;b&c|d", "line\nbreak", "tab\there", "ünï çødé ☃ 漢字", "\xff\xfe",
	}
	r := s.box.run(t, sandbox.Command{Args: append([]string{"printf", `[%s]\0`}, args...)})
	got := strings.Split(strings.TrimSuffix(r.stdout, "\x00"), "\x00")
	for i, arg := range args {
		args[i] = "[" + arg + "]"
	}
	if !slices.Equal(got, args) {
		t.Errorf("arguments arrived as %q, want %q", got, args)
	}
}

func checkDir(t *testing.T, s *suite) {
	for dir, want := range map[string]string{
		"":                 s.spec.Mounts[0].Target,
		s.inside("nested"): s.inside("nested"),
		"/":                "/",
	} {
		cmd := shCommand("pwd")
		cmd.Dir = dir
		if r := s.box.run(t, cmd); r.stdout != want+"\n" {
			t.Errorf("with Dir %q it started in %q, want %q", dir, r.stdout, want)
		}
	}
}

func checkMissingDir(t *testing.T, s *suite) {
	for _, dir := range []string{s.inside("missing"), s.inside("locked.toml")} {
		cmd := shCommand("pwd")
		cmd.Dir = dir
		var start *sandbox.StartError
		if err := s.try(t, cmd); !errors.As(err, &start) {
			t.Errorf("with Dir %s the error is %v, want a StartError", dir, err)
		}
	}
}

func checkStateKept(t *testing.T, s *suite) {
	s.out(t, "echo kept > /tmp/state")
	if got := s.out(t, "cat /tmp/state && rm /tmp/state"); got != "kept\n" {
		t.Errorf("the next command read %q", got)
	}
}

func checkConcurrent(t *testing.T, s *suite) {
	const script = `i=0; while [ $i -lt 100 ]; do echo "$1 $i"; i=$((i+1)); done; echo "$1 done" >&2`
	var wg sync.WaitGroup
	for n := range 16 {
		wg.Go(func() {
			name := fmt.Sprint("command ", n)
			var want strings.Builder
			for i := range 100 {
				fmt.Fprintln(&want, name, i)
			}
			var stdout, stderr strings.Builder
			cmd := shCommand(script, name)
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			code, err := s.Exec(patiently(t), cmd)
			if code != 0 || err != nil || stdout.String() != want.String() || stderr.String() != name+" done\n" {
				t.Errorf("%s gave %d, %v, %d bytes and %q", name, code, err, stdout.Len(), stderr.String())
			}
		})
	}
	wg.Wait()
}

func checkBackground(t *testing.T, s *suite) {
	begun := time.Now()
	r := s.sh(t, "sleep 25 & echo started; exit 4")
	if r.code != 4 || r.stdout != "started\n" {
		t.Errorf("the command gave %+v", r)
	}
	if took := time.Since(begun); took > prompt {
		t.Errorf("it took %v: Exec waited for whoever still held its output", took)
	}
}
