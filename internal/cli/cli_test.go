package cli_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/agent-loop/ralph/internal/sandbox/gvisor"
	"github.com/agent-loop/ralph/internal/sandbox/sandboxtest"
)

// ralphBinary is the ralph under test, the real one.
var ralphBinary string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	path, remove, err := sandboxtest.Build("github.com/agent-loop/ralph")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer remove()
	ralphBinary = path
	return m.Run()
}

// TestScripts runs testdata/script, each file in an empty folder that is also
// the home directory, with the ralph of this tree first in PATH.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup:               setUp,
		Condition:           func(name string) (bool, error) { return condition(t, name) },
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"nothing-left": nothingLeft},
	})
}

func setUp(env *testscript.Env) error {
	// As root, the processes of a sandbox are nobody and must reach the state.
	for dir := env.WorkDir; dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			break // not ours
		}
	}
	home := filepath.Join(env.WorkDir, "home")
	state := filepath.Join(env.WorkDir, "state")
	if err := os.MkdirAll(filepath.Join(home, "project"), 0o755); err != nil {
		return err
	}
	env.Setenv("HOME", home)
	env.Setenv("RALPH_STATE_DIR", state)
	env.Setenv("PROJECT", filepath.Join(home, "project"))
	env.Setenv("PATH", filepath.Dir(ralphBinary)+string(os.PathListSeparator)+os.Getenv("PATH"))
	env.Cd = filepath.Join(home, "project")
	return nil
}

// condition knows [sandbox]: an engine runs here. Where skips are forbidden, it
// fails instead of saying no.
func condition(t *testing.T, name string) (bool, error) {
	switch name {
	case "sandbox":
		_, err := gvisor.New(t.TempDir(), ralphBinary).Probe(t.Context())
		if err != nil && os.Getenv("RALPH_TEST_NO_SKIP") != "" {
			return false, fmt.Errorf("engines must not be skipped here: %w", err)
		}
		return err == nil && !testing.Short(), nil
	case "root":
		return os.Geteuid() == 0, nil
	case runtime.GOOS:
		return true, nil
	}
	return false, fmt.Errorf("unknown condition %q", name)
}

// nothingLeft checks that no sandbox, claim or stand-in is left.
func nothingLeft(ts *testscript.TestScript, _ bool, _ []string) {
	for _, pattern := range []string{"gvisor/*", "workspaces/*"} {
		left, err := filepath.Glob(filepath.Join(ts.Getenv("RALPH_STATE_DIR"), pattern))
		ts.Check(err)
		if len(left) > 0 {
			ts.Fatalf("left in the state folder: %v", left)
		}
	}
	for _, name := range []string{".git", ".ralph", ".vscode"} {
		if _, err := os.Lstat(filepath.Join(ts.Getenv("PROJECT"), name)); err == nil {
			ts.Fatalf("left in the workspace: %s", name)
		}
	}
}
