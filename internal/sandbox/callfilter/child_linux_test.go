//go:build amd64 || arm64

package callfilter_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"testing"

	"github.com/agent-loop/ralph/internal/sandbox/callfilter"
)

// job is what this test binary does when a test starts it again: a filter can be
// put on a whole process only, and never comes off.
type job struct {
	Filter  string             // "none", "files" or "sandbox"
	Options callfilter.Options // for "sandbox"
	Program []string           // to become, instead of trying calls
	Then    string             // a function of jobs, instead of trying calls
}

const jobVar = "RALPH_CALLFILTER_JOB"

func TestMain(m *testing.M) {
	text := os.Getenv(jobVar)
	if text == "" {
		os.Exit(m.Run())
	}
	var j job
	err := errors.Join(json.Unmarshal([]byte(text), &j), os.Unsetenv(jobVar))
	if err == nil {
		err = j.do()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func (j job) do() error {
	if err := j.install(); err != nil {
		return err
	}
	switch {
	case len(j.Program) > 0:
		path, err := exec.LookPath(j.Program[0])
		if err != nil {
			return err
		}
		return syscall.Exec(path, j.Program, os.Environ())
	case j.Then != "":
		return jobs[j.Then]()
	}
	return tryCalls()
}

func (j job) install() error {
	switch j.Filter {
	case "none":
		return nil
	case "files":
		return callfilter.InstallForFiles()
	case "sandbox":
		return callfilter.Install(j.Options)
	}
	return fmt.Errorf("no filter %q", j.Filter)
}

// run does the job in a process of its own, in an empty folder, and returns what
// it printed.
func (j job) run(t testing.TB) (stdout string, err error) {
	t.Helper()
	text, err := json.Marshal(j)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe")
	cmd.Dir = t.TempDir()
	// The race detector would have every child wait a second before it ends.
	cmd.Env = append(slices.Clone(os.Environ()), jobVar+"="+string(text), "GORACE=atexit_sleep_ms=0 "+os.Getenv("GORACE"))
	// No terminal: some of the calls that are tried would reach for it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = fmt.Errorf("%w: %s", err, exit.Stderr)
	}
	return string(out), err
}

// tryCalls makes every call of the table and prints what the kernel answered.
func tryCalls() error {
	answers := make(map[string]syscall.Errno)
	for name, c := range calls {
		err := c.try()
		var errno syscall.Errno
		if err != nil && !errors.As(err, &errno) {
			return fmt.Errorf("%s: %w", name, err)
		}
		answers[name] = errno
	}
	return json.NewEncoder(os.Stdout).Encode(answers)
}
