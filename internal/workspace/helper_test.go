//go:build unix

package workspace_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agent-loop/ralph/internal/workspace"
)

// holderVar makes the test binary another ralph, which claims what it is told.
const holderVar = "RALPH_TEST_HOLDER"

func TestMain(m *testing.M) {
	if os.Getenv(holderVar) != "" {
		hold(os.Args[1], os.Args[2])
		return
	}
	os.Exit(m.Run())
}

// hold claims the workspace for each line it reads and says how that went. What
// follows a tab is protected too. An empty line makes it release again.
func hold(state, dir string) {
	var claimed *workspace.Workspace
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		if command := lines.Text(); command != "" {
			fmt.Println("starting")
			var extra []string
			if name, list, found := strings.Cut(command, "\t"); found {
				command, extra = name, strings.Split(list, ",")
			}
			var err error
			claimed, err = workspace.Claim(context.Background(), state, dir, command, extra)
			fmt.Println(outcome(err))
			continue
		}
		if claimed != nil {
			if err := claimed.Release(); err != nil {
				fmt.Println("release:", err)
				return
			}
			claimed = nil
		}
		fmt.Println("released")
	}
}

func outcome(err error) string {
	var busy *workspace.BusyError
	switch {
	case err == nil:
		return "claimed"
	case errors.As(err, &busy):
		return "busy"
	default:
		return strings.ReplaceAll(err.Error(), "\n", "; ")
	}
}

// holder is a running hold.
type holder struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
}

func newHolder(t *testing.T, state, dir string, as *syscall.Credential) *holder {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if as != nil {
		program = readableCopy(t, program)
	}
	cmd := exec.Command(program, state, dir)
	cmd.Env = []string{holderVar + "=1"}
	cmd.Dir = "/"
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: as}
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	h := &holder{t: t, cmd: cmd, in: in, out: bufio.NewScanner(out)}
	t.Cleanup(h.kill)
	return h
}

// readableCopy copies the test binary to where another user may start it.
func readableCopy(t *testing.T, program string) string {
	t.Helper()
	data, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(openTemp(t), "holder")
	if err := os.WriteFile(copied, data, 0o755); err != nil {
		t.Fatal(err)
	}
	return copied
}

// openTemp is a folder that every user may enter.
func openTemp(t *testing.T) string {
	t.Helper()
	dir := tempDir(t)
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// begin asks for a claim and returns when the holder sets about it.
func (h *holder) begin(command string) {
	h.t.Helper()
	if _, err := fmt.Fprintln(h.in, command); err != nil {
		h.t.Fatal(err)
	}
	if got := h.read(); got != "starting" {
		h.t.Fatalf("the holder says %q", got)
	}
}

// read returns what the holder says next.
func (h *holder) read() string {
	h.t.Helper()
	if !h.out.Scan() {
		h.t.Fatalf("the holder ended: %v", h.out.Err())
	}
	return h.out.Text()
}

func (h *holder) claim(command string) string {
	h.t.Helper()
	h.begin(command)
	return h.read()
}

func (h *holder) release() {
	h.t.Helper()
	if _, err := fmt.Fprintln(h.in); err != nil {
		h.t.Fatal(err)
	}
	if got := h.read(); got != "released" {
		h.t.Fatalf("the holder says %q", got)
	}
}

// kill ends the holder with SIGKILL.
func (h *holder) kill() {
	_ = h.cmd.Process.Kill()
	_ = h.cmd.Wait()
}

// deadClaim leaves what a ralph leaves that was killed while it had dir, and
// returns the path of the claim file.
func deadClaim(t *testing.T, state, dir string) string {
	t.Helper()
	h := newHolder(t, state, dir, nil)
	if got := h.claim("killed"); got != "claimed" {
		t.Fatalf("the holder says %q", got)
	}
	h.kill()
	return onlyClaim(t, state)
}

func onlyClaim(t *testing.T, state string) string {
	t.Helper()
	files := claimFiles(t, state)
	if len(files) != 1 {
		t.Fatalf("claim files: %v, want one", files)
	}
	return files[0]
}

func claimFiles(t *testing.T, state string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(state, "workspaces", "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// tempDir is a temporary folder by its real path.
func tempDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// fill makes a tree: a name with a slash at its end is a folder, "->" in the
// text makes a link. Times lie in the past, so that every change shows.
func fill(t *testing.T, dir string, tree map[string]string) {
	t.Helper()
	past := time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC)
	for _, name := range slices.Sorted(maps.Keys(tree)) {
		path := filepath.Join(dir, name)
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		switch target, isLink := strings.CutPrefix(tree[name], "->"); {
		case err != nil:
		case strings.HasSuffix(name, "/"):
			err = os.MkdirAll(path, 0o755)
		case isLink:
			err = os.Symlink(target, path)
		default:
			err = errors.Join(os.WriteFile(path, []byte(tree[name]), 0o640), os.Chtimes(path, past, past))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// snapshot describes everything below dir: names, modes, contents, and the
// times of all but folders, whose entries come and go.
func snapshot(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text := info.Mode().String()
		switch {
		case info.Mode().IsRegular():
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			text += fmt.Sprintf(" %s %q", info.ModTime(), data)
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			if err != nil {
				return err
			}
			text += " -> " + target
		}
		all[path] = text
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func wantSame(t *testing.T, before, after map[string]string) {
	t.Helper()
	for path, text := range before {
		if after[path] != text {
			t.Errorf("%s was %q, is now %q", path, text, after[path])
		}
	}
	for path, text := range after {
		if _, ok := before[path]; !ok {
			t.Errorf("%s (%s) was left behind", path, text)
		}
	}
}
