package sandboxtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/agent-loop/ralph/internal/sandbox"
)

func TestMemoryConforms(t *testing.T) {
	Conformance(t, NewMemory(), Options{OwnFiles: true})
}

// create makes a sandbox whose workspace is at /space.
func create(t *testing.T, m *Memory, change ...func(*sandbox.Spec)) (sb sandbox.Sandbox, workspace string) {
	t.Helper()
	workspace = t.TempDir()
	spec := sandbox.Spec{
		Mounts:  []sandbox.Mount{{Source: workspace, Target: "/space"}},
		Env:     sandbox.BaseEnv(sandbox.NetworkNone),
		Network: sandbox.NetworkNone,
	}
	for _, c := range change {
		c(&spec)
	}
	sb, err := m.Create(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sb.Close() })
	return sb, workspace
}

func runIn(t *testing.T, sb sandbox.Sandbox, args ...string) (int, string) {
	t.Helper()
	var out bytes.Buffer
	code, err := sb.Exec(patiently(t), sandbox.Command{Args: args, Stdout: &out, Stderr: &out})
	if err != nil {
		t.Fatalf("running %q: %v", args, err)
	}
	return code, out.String()
}

func TestMemorySaysThatItIsolatesNothing(t *testing.T) {
	info, err := NewMemory().Probe(t.Context())
	if err != nil || info.Isolated || !strings.HasPrefix(info.Boundary, "none") {
		t.Errorf("got %+v, %v", info, err)
	}
}

func TestMemoryRunsShellScripts(t *testing.T) {
	for _, tt := range []struct {
		name, script, want string
		code               int
	}{
		{"pipes", "seq 1 5 | head -c 4 | cat", "1\n2\n", 0},
		{"redirections", "echo a > f; echo b >> f; cat < f", "a\nb\n", 0},
		{"errors can be joined to output", "ls missing 2>&1 | cat", "ls: /space/missing: no such file or directory\n", 0},
		{"globs see the guest's files", "touch b a; echo *", "a b\n", 0},
		{"here-documents", "cat <<EOF\n$((1+1))\nEOF", "2\n", 0},
		{"functions and conditions", `f() { test "$1" = x; }; if f x && ! f y; then echo yes; fi`, "yes\n", 0},
		{"cd", "mkdir -p d/e && cd d/e && pwd && cd ../.. && pwd -P", "/space/d/e\n/space\n", 0},
		{"errexit", "set -e; false; echo on", "", 1},
		{"a program that is missing", "missing; echo $?", "missing: not found\n127\n", 0},
		{"command -v asks the guest's programs", "command -v cat; command -v git || echo none", "cat\nnone\n", 0},
		{"a script by its path", "printf '#!/bin/sh\necho $0 $1\n' > s; chmod +x s; ./s x", "./s x\n", 0},
		{"a shell in a shell", `sh -c 'echo "$0 $1"; exit 3' name arg; echo $?`, "name arg\n3\n", 0},
		{"a killed shell in a shell", `sh -c 'kill -9 $$'; echo $?`, "137\n", 0},
		{"nobody else can be killed", "kill -9 1", "kill: 1: no such process\n", 1},
		{"a sourced file", "echo 'x=1' > lib; . ./lib; echo $x", "1\n", 0},
		{"exported variables reach programs", "A=1; export B=2; C=3 sh -c 'echo $A-$B-$C'", "-2-3\n", 0},
		{"tee", "echo x | tee f g; cat f g", "x\nx\nx\n", 0},
		{"links", "echo x > f; ln -s f l; readlink l; cat l; ln -sf g l; readlink l", "f\nx\ng\n", 0},
		{"a syntax error", "if", "sh:1:1: `if` must be followed by a statement list\n", 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			sb, _ := create(t, NewMemory())
			code, out := runIn(t, sb, "sh", "-c", tt.script)
			if code != tt.code || out != tt.want {
				t.Errorf("got %d and %q, want %d and %q", code, out, tt.code, tt.want)
			}
		})
	}
}

func TestMemoryShowsNothingOfTheHost(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	write(t, secret, "classified")
	sb, workspace := create(t, NewMemory())
	if err := os.Symlink(secret, filepath.Join(workspace, "link")); err != nil {
		t.Fatal(err)
	}
	dots := strings.Repeat("../", 30)
	for _, script := range []string{
		"cat " + secret, "cat link", "cat < link", "cat " + dots + secret[1:], "ls " + dots + "etc", "cat /etc/passwd",
		"echo x > /file", "echo x > " + dots + "file", "ls /proc", "echo x > link", "cd " + filepath.Dir(secret), ". " + secret,
	} {
		if code, out := runIn(t, sb, "sh", "-c", script); code == 0 || strings.Contains(out, "classified") {
			t.Errorf("%s gave %d and %q", script, code, out)
		}
	}
	if got := read(t, secret); got != "classified" {
		t.Errorf("the host's file holds %q", got)
	}
	if _, out := runIn(t, sb, "ls", "/"); out != "home\nspace\ntmp\n" {
		t.Errorf("the root holds %q", out)
	}
}

func TestMemoryProgram(t *testing.T) {
	m := NewMemory()
	m.Program("agent", func(ctx context.Context, p *Process) int {
		prompt, _ := io.ReadAll(p.Stdin)
		f, err := p.Open("answer", os.O_WRONLY|os.O_CREATE, 0o644)
		if err != nil {
			return p.fail(err)
		}
		fmt.Fprintf(f, "%s %s %s %s", p.Args[1], p.Getenv("KEY"), p.Dir, prompt)
		f.Close()
		return p.Shell(ctx, "echo thinking >&2; exit 9")
	})
	sb, workspace := create(t, m)
	var stderr bytes.Buffer
	code, err := sb.Exec(t.Context(), sandbox.Command{
		Args: []string{"agent", "--go"}, Env: []string{"KEY=value"}, Stdin: strings.NewReader("prompt"), Stderr: &stderr,
	})
	if code != 9 || err != nil || stderr.String() != "thinking\n" {
		t.Errorf("got %d, %v and %q", code, err, stderr.String())
	}
	if got := read(t, filepath.Join(workspace, "answer")); got != "--go value /space prompt" {
		t.Errorf("the answer is %q", got)
	}
	if code, _ := runIn(t, sb, "sh", "-c", "cd /tmp; echo hi | agent x; test -e answer && exit $?"); code != 0 {
		t.Errorf("from a script it gave %d", code)
	}
}

func TestMemoryRecordsWhatItIsAsked(t *testing.T) {
	m := NewMemory()
	sb, workspace := create(t, m)
	runIn(t, sb, "true")
	runIn(t, sb, "echo", "x")
	if specs := m.Specs(); len(specs) != 1 || specs[0].Workspace() != workspace {
		t.Errorf("specs are %+v", specs)
	}
	if commands := m.Commands(); len(commands) != 2 || commands[1].Args[1] != "x" {
		t.Errorf("commands are %+v", commands)
	}
}

func TestMemoryRefusesTerminals(t *testing.T) {
	sb, _ := create(t, NewMemory())
	_, err := sb.Exec(t.Context(), sandbox.Command{Args: []string{"true"}, Terminal: &sandbox.Terminal{}})
	var refused *sandbox.RefusedError
	if !errors.As(err, &refused) {
		t.Errorf("error is %v, want a RefusedError", err)
	}
}

func TestMemoryGate(t *testing.T) {
	m := NewMemory()
	m.Program("fetch", func(_ context.Context, p *Process) int {
		client := http.Client{Transport: &http.Transport{
			DisableKeepAlives: true,
			DialContext:       func(ctx context.Context, _, _ string) (net.Conn, error) { return p.Dial(ctx) },
		}}
		resp, err := client.Get(p.Args[1])
		if err != nil {
			return p.fail(err)
		}
		defer resp.Body.Close()
		return p.copy(p.Stdout, resp.Body)
	})
	sb, _ := create(t, m, func(spec *sandbox.Spec) {
		spec.Network = sandbox.NetworkGate
		spec.Gate = func(l net.Listener) error {
			return http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				fmt.Fprintf(w, "%s %s at the gate", r.Method, r.Host)
			}))
		}
	})
	if code, out := runIn(t, sb, "fetch", "http://example.org/"); code != 0 || out != "GET example.org at the gate" {
		t.Errorf("got %d and %q", code, out)
	}
	conn, err := m.Dial(t.Context(), sb.ID())
	if err != nil {
		t.Fatal(err)
	}
	_ = sb.Close()
	if _, err := conn.Read(make([]byte, 1)); err == nil {
		t.Error("the connection outlives the sandbox")
	}
	if _, err := m.Dial(t.Context(), sb.ID()); !errors.Is(err, sandbox.ErrGone) {
		t.Errorf("dialling after Close gives %v", err)
	}
}

func TestMemoryHasNoDoorWithoutAGate(t *testing.T) {
	m := NewMemory()
	sb, _ := create(t, m)
	if conn, err := m.Dial(t.Context(), sb.ID()); err == nil {
		conn.Close()
		t.Error("a sandbox without a network was dialled")
	}
	failing, _ := create(t, m, func(spec *sandbox.Spec) {
		spec.Network = sandbox.NetworkGate
		spec.Gate = func(net.Listener) error { return errors.New("broken") }
	})
	if _, err := m.Dial(patiently(t), failing.ID()); !errors.Is(err, net.ErrClosed) {
		t.Errorf("dialling a gate that failed gives %v", err)
	}
}

func TestMemoryLeavesNoFiles(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	sb, _ := create(t, NewMemory())
	runIn(t, sb, "sh", "-c", "echo x > /tmp/f; echo x > ~/f; sleep 30 &")
	if entries, _ := os.ReadDir(temp); len(entries) == 0 {
		t.Fatal("the private files are not where this test looks")
	}
	_ = sb.Close()
	if entries, _ := os.ReadDir(temp); len(entries) != 0 {
		t.Errorf("left behind: %v", entries)
	}
}

func TestMemoryIsSafeForConcurrentUse(t *testing.T) {
	m := NewMemory()
	var wg sync.WaitGroup
	for n := range 8 {
		wg.Go(func() {
			sb, _ := create(t, m)
			m.Program(fmt.Sprint("program-", n), func(context.Context, *Process) int { return n })
			if code, _ := runIn(t, sb, "sh", "-c", fmt.Sprintf("echo x | cat > f & wait; program-%d", n)); code != n {
				t.Errorf("program %d gave %d", n, code)
			}
			if _, err := m.List(t.Context()); err != nil {
				t.Error(err)
			}
			_ = m.Remove(t.Context(), sb.ID())
		})
	}
	wg.Wait()
	if left, _ := m.List(t.Context()); len(left) != 0 {
		t.Errorf("left in the list: %v", left)
	}
}
