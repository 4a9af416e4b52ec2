package sandboxtest

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/agent-loop/ralph/internal/sandbox"
)

// dataTarget is where a box shows its read-only folder: a place that does not
// exist on the host.
const dataTarget = "/workspace/data"

// protectedPaths are read-only in a box's workspace: a folder, a file, and a
// folder whose parent is writable.
var protectedPaths = []string{"locked", "locked.toml", "nested/locked"}

// box is a sandbox with a workspace at the same path as outside and, where the
// engine can, a read-only folder and protected paths.
type box struct {
	sandbox.Sandbox
	spec      sandbox.Spec
	workspace string // the same path inside and outside
	data      string // the host's folder behind dataTarget
}

// newBox creates a sandbox that is closed when t ends. change may alter what is
// asked for.
func (s *suite) newBox(t *testing.T, change ...func(*sandbox.Spec)) *box {
	t.Helper()
	b := &box{workspace: s.realDir(t), data: s.realDir(t)}
	b.spec = s.newSpec(t, b)
	for _, c := range change {
		c(&b.spec)
	}
	if err := s.info.Check(b.spec); err != nil {
		t.Fatalf("the engine refuses the suite's plain sandbox: %v", err)
	}
	sb, err := s.engine.Create(patiently(t), b.spec)
	if err != nil {
		t.Fatalf("creating a sandbox: %v", err)
	}
	t.Cleanup(func() { _ = sb.Close() })
	b.Sandbox = sb
	return b
}

func (s *suite) newSpec(t *testing.T, b *box) sandbox.Spec {
	t.Helper()
	write(t, filepath.Join(b.workspace, "locked", "file"), "locked")
	write(t, filepath.Join(b.workspace, "locked.toml"), "locked")
	write(t, filepath.Join(b.workspace, "nested", "locked", "file"), "locked")
	write(t, filepath.Join(b.data, "file"), "data")

	workspace := sandbox.Mount{Source: b.workspace, Target: filepath.ToSlash(b.workspace)}
	if s.info.ProtectedPaths {
		workspace.Protect = protectedPaths
	}
	spec := sandbox.Spec{
		Labels:  map[string]string{"test": t.Name()},
		Mounts:  []sandbox.Mount{workspace},
		Env:     sandbox.BaseEnv(sandbox.NetworkNone),
		Network: s.network(),
	}
	if s.ownFiles() {
		spec.Mounts = append(spec.Mounts, sandbox.Mount{Source: b.data, Target: dataTarget, ReadOnly: true})
	}
	return spec
}

// network is none, but for an engine that has only the host's.
func (s *suite) network() sandbox.Network {
	if slices.Contains(s.info.Networks, sandbox.NetworkNone) {
		return sandbox.NetworkNone
	}
	return sandbox.NetworkOpen
}

// result is what a command left.
type result struct {
	code           int
	stdout, stderr string
}

// run runs a command that must have an exit code.
func (b *box) run(t *testing.T, cmd sandbox.Command) result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	code, err := b.Exec(patiently(t), cmd)
	if err != nil {
		t.Fatalf("running %q: %v\nstderr: %s", cmd.Args, err, stderr.String())
	}
	return result{code, stdout.String(), stderr.String()}
}

// sh runs a script; args become $1 and on.
func (b *box) sh(t *testing.T, script string, args ...string) result {
	t.Helper()
	return b.run(t, shCommand(script, args...))
}

// out runs a script that must succeed and returns what it printed.
func (b *box) out(t *testing.T, script string, args ...string) string {
	t.Helper()
	r := b.sh(t, script, args...)
	if r.code != 0 {
		t.Fatalf("script %q ended with %d\nstderr: %s", script, r.code, r.stderr)
	}
	return r.stdout
}

// try runs a command that may have no exit code, and returns the error.
func (b *box) try(t *testing.T, cmd sandbox.Command) error {
	t.Helper()
	_, err := b.Exec(patiently(t), cmd)
	return err
}

func shCommand(script string, args ...string) sandbox.Command {
	return sandbox.Command{Args: append([]string{"sh", "-c", script, "sh"}, args...)}
}

// inside is the path in the sandbox of a name in the workspace.
func (b *box) inside(name string) string { return b.spec.Mounts[0].Target + "/" + name }

// outside is the path on the host of a name in the workspace.
func (b *box) outside(name string) string { return filepath.Join(b.workspace, name) }

// start runs a script in the background. It returns once the script has printed
// "ready"; the channel then gives the error that ends it.
func (b *box) start(t *testing.T, ctx context.Context, script string) <-chan error {
	t.Helper()
	ready := &signal{word: "ready", seen: make(chan struct{})}
	cmd := shCommand(script)
	cmd.Stdout = ready
	ended := make(chan error, 1)
	go func() {
		_, err := b.Exec(ctx, cmd)
		ended <- err
	}()
	select {
	case <-ready.seen:
	case err := <-ended:
		t.Fatalf("script %q ended before it was ready: %v", script, err)
	case <-patiently(t).Done():
		t.Fatalf("script %q is not ready", script)
	}
	return ended
}

// signal is a writer that tells when a word has been written to it.
type signal struct {
	word string
	seen chan struct{}
	mu   sync.Mutex
	got  strings.Builder
	done bool
}

func (s *signal) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.got.Write(p)
	if !s.done && strings.Contains(s.got.String(), s.word) {
		s.done = true
		close(s.seen)
	}
	return len(p), nil
}

// text is what has been written so far.
func (s *signal) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.got.String()
}

// allowed runs each attempt in a shell of its own, in dir, and returns those
// that succeeded.
func (b *box) allowed(t *testing.T, dir string, attempts []string) []string {
	t.Helper()
	var script strings.Builder
	for _, a := range attempts {
		script.WriteString("if ( " + a + " ) >/dev/null 2>&1; then echo '" + a + "'; fi\n")
	}
	cmd := shCommand(script.String())
	cmd.Dir = dir
	r := b.run(t, cmd)
	return strings.FieldsFunc(r.stdout, func(c rune) bool { return c == '\n' })
}

// tree reads the files below dir, to compare them later.
func tree(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		all.WriteString(path + " " + info.Mode().String())
		if info.Mode().IsRegular() {
			all.WriteString(" " + read(t, path))
		}
		all.WriteString("\n")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}
