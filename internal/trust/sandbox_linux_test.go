package trust_test

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-loop/ralph/internal/sandbox"
	"github.com/agent-loop/ralph/internal/sandbox/gvisor"
	"github.com/agent-loop/ralph/internal/sandbox/sandboxtest"
	"github.com/agent-loop/ralph/internal/trust"
)

// newSandbox is a sandbox on an empty workspace whose way out is the gate of w,
// and which trusts it: by variables, by files, or by both.
func newSandbox(t *testing.T, ralph string, w *world, env, files bool) sandbox.Sandbox {
	t.Helper()
	state, dir := t.TempDir(), t.TempDir()
	if err := os.Chmod(filepath.Dir(state), 0o711); err != nil {
		t.Fatal(err)
	}
	engine := gvisor.New(state, ralph)
	if _, err := engine.Probe(t.Context()); err != nil {
		sandboxtest.SkipEngine(t, err)
	}
	spec := sandbox.Spec{
		Mounts:  append([]sandbox.Mount{{Source: dir, Target: dir}}, w.mounts(t, files)...),
		Env:     sandbox.BaseEnv(sandbox.NetworkGate),
		Network: sandbox.NetworkGate,
		Gate:    w.proxy.Serve,
	}
	if env {
		spec.Env = sandbox.MergeEnv(spec.Env, trust.Env(trust.Dir, sandbox.GateAddress))
	}
	if err := sandbox.CheckMounts(spec.Mounts, sandbox.Host{Home: "/home/someone"}); err != nil {
		t.Fatal(err)
	}
	sb, err := engine.Create(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { sb.Close() })
	return sb
}

// mounts are the folder with the files and, where the system keeps its own
// bundle, ours over it.
func (w *world) mounts(t *testing.T, over bool) []sandbox.Mount {
	t.Helper()
	mounts := []sandbox.Mount{{Source: w.dir, Target: trust.Dir, ReadOnly: true}}
	places, err := trust.Places("/")
	if err != nil || len(places) == 0 {
		t.Skipf("no bundle of certificates here: %v", err)
	}
	for _, place := range places {
		if over {
			mounts = append(mounts, sandbox.Mount{Source: filepath.Join(w.dir, trust.BundleFile), Target: place, ReadOnly: true})
		}
	}
	return mounts
}

func inside(t *testing.T, sb sandbox.Sandbox, args ...string) (string, bool) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code, err := sb.Exec(t.Context(), sandbox.Command{Args: args, Stdout: &stdout, Stderr: &stderr})
	if err != nil {
		t.Fatal(err)
	}
	if code != 0 {
		t.Logf("%s: exit code %d\n%s", strings.Join(args, " "), code, &stderr)
	}
	return stdout.String(), code == 0
}

// gitInside clones, commits and pushes, and clones what came of it.
const gitInside = `set -e
cd /tmp
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@example.com GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@example.com
git clone -q https://example.com/acme.git one 2>/dev/null
cd one
printf hello > file
git add file
git commit -qm first
git push -q origin HEAD:main
git clone -q -b main https://example.com/acme.git ../two
cat ../two/file`

// TestInSandbox has clients in a real sandbox speak with the server through the
// real door: with variables alone, with the file alone, and with nothing.
func TestInSandbox(t *testing.T) {
	if testing.Short() {
		t.Skip("sandboxes are not for -short")
	}
	need(t, "curl")
	ralph, remove, err := sandboxtest.Build("github.com/agent-loop/ralph")
	if err != nil {
		t.Fatal(err)
	}
	defer remove()
	git := gitServer(t)
	w := newWorld(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/acme.git/") {
			git.ServeHTTP(w, r)
			return
		}
		io.WriteString(w, "hello")
	}))
	curl := []string{"curl", "-sS", "--fail", "https://example.com/hello"}
	t.Run("by variables", func(t *testing.T) {
		sb := newSandbox(t, ralph, w, true, false)
		clients := [][]string{curl, {"sh", "-c", gitInside}, {"/usr/bin/python3", "-c", pythonClient}, {"/usr/bin/node", "-e", nodeClient}}
		for _, argv := range clients {
			if _, err := exec.LookPath(argv[0]); err != nil {
				continue
			}
			if got, ok := inside(t, sb, argv...); !ok || got != "hello" {
				t.Errorf("%s: printed %q", argv[0], got)
			}
		}
	})
	t.Run("by the file in the system's place", func(t *testing.T) {
		sb := newSandbox(t, ralph, w, false, true)
		if got, ok := inside(t, sb, curl...); !ok || got != "hello" {
			t.Errorf("printed %q", got)
		}
		if _, ok := inside(t, sb, "sh", "-c", "echo > "+trust.Dir+"/ca.pem"); ok {
			t.Error("the files can be written to")
		}
	})
	t.Run("not at all", func(t *testing.T) {
		sb := newSandbox(t, ralph, w, false, false)
		if got, ok := inside(t, sb, curl...); ok {
			t.Errorf("printed %q", got)
		}
	})
}
