package sandboxtest

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/agent-loop/ralph/internal/sandbox"
)

// Options adapt the suites to an engine. The zero value suits an engine that
// runs on this machine and can mount any folder of it.
type Options struct {
	// Workspace makes a new, empty folder that the engine can mount. The default
	// is t.TempDir.
	Workspace func(t *testing.T) string

	// OwnFiles means that guests see files of their own, with mounts at places
	// of their own, although Info.Isolated is false.
	OwnFiles bool
}

// Conformance shows that an engine does what package sandbox promises. The
// engine must be able to run here. Most checks share one sandbox; those that end
// it or look at two have their own.
func Conformance(t *testing.T, e sandbox.Engine, o Options) {
	s := newSuite(t, e, o)
	s.group(t, "info", infoChecks())
	s.group(t, "command", commandChecks())
	s.group(t, "streams", streamChecks())
	s.group(t, "environment", environmentChecks())
	s.group(t, "workspace", workspaceChecks())
	s.group(t, "read-only", readOnlyChecks())
	s.group(t, "privacy", privacyChecks())
	s.group(t, "network", networkChecks())
	s.group(t, "terminal", terminalChecks())
	s.group(t, "bookkeeping", bookkeepingChecks())
	s.group(t, "ending", endingChecks())
}

// check is one thing that every engine must do.
type check struct {
	name string
	run  func(t *testing.T, s *suite)
}

// suite is an engine under test.
type suite struct {
	engine  sandbox.Engine
	opts    Options
	info    sandbox.Info
	canary  string        // a variable in the host's environment that no guest may see
	startup time.Duration // how long it takes to create a sandbox here
	*box                  // the shared sandbox
}

const canaryName = "RALPH_TEST_CANARY"

func newSuite(t *testing.T, e sandbox.Engine, o Options) *suite {
	t.Helper()
	info, err := e.Probe(t.Context())
	if err != nil {
		t.Fatalf("probing: %v", err)
	}
	if o.Workspace == nil {
		o.Workspace = func(t *testing.T) string { return t.TempDir() }
	}
	s := &suite{engine: e, opts: o, info: info, canary: "seen from " + t.Name()}
	t.Setenv(canaryName, s.canary)
	begun := time.Now()
	s.box = s.newBox(t)
	s.startup = time.Since(begun)
	return s
}

func (s *suite) group(t *testing.T, name string, checks []check) {
	t.Run(name, func(t *testing.T) {
		for _, c := range checks {
			t.Run(c.name, func(t *testing.T) { c.run(t, s) })
		}
	})
}

// needs skips a check that the engine says it cannot pass. Every skip of the
// suite goes through here, so that a run's log lists what was not shown.
func (s *suite) needs(t *testing.T, can bool, what string) {
	t.Helper()
	if !can {
		t.Skipf("engine %s has no %s", s.info.Engine, what)
	}
}

func (s *suite) needsOwnFiles(t *testing.T) {
	t.Helper()
	s.needs(t, s.ownFiles(), "files of its own")
}

func (s *suite) ownFiles() bool { return s.info.Isolated || s.opts.OwnFiles }

// patience is how long anything may take before the suite calls it hung. It is
// long since a loaded machine is not a broken engine.
const patience = 30 * time.Second

// prompt is how long an engine may take to notice that something has ended.
const prompt = 10 * time.Second

func patiently(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// eventually polls until ok holds.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited %v for this: %s", patience, what)
		}
	}
}

// realDir is a new folder by its real name, which is how engines want it.
func (s *suite) realDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(s.opts.Workspace(t))
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// write makes a file, and the folders it needs, as the workspace's owner would.
// That is not always the user who runs the test: root may work on the folder of
// an ordinary user.
func write(t *testing.T, path, content string) {
	t.Helper()
	makeDir(t, filepath.Dir(path))
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	adopt(t, path)
}

func makeDir(t *testing.T, path string) {
	t.Helper()
	if exists(path) {
		return
	}
	makeDir(t, filepath.Dir(path))
	if err := os.Mkdir(path, 0o755); err != nil {
		t.Fatal(err)
	}
	adopt(t, path)
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
