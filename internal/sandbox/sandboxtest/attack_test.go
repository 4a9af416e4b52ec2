package sandboxtest

import (
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/agent-loop/ralph/internal/probe"
	"github.com/agent-loop/ralph/internal/sandbox"
)

func report(verdict, detail string) string {
	return `{"name":"p","verdict":"` + verdict + `","detail":"` + detail + `"}` + "\n"
}

// The suite believes a probe only if report and exit code agree.
func TestAttackJudgesOutcomes(t *testing.T) {
	tests := []struct {
		name      string
		code      int
		err       error
		stdout    string
		held      bool // the verdict for a probe of the boundary
		contained bool // the verdict for one that uses up its sandbox
	}{
		{"blocked", 0, nil, report("blocked", ""), true, true},
		{"not applicable", probe.ExitNotApplicable, nil, report("n/a", ""), true, true},
		{"breach", probe.ExitBreach, nil, report("breach", ""), false, false},
		{"breach in the report alone", 0, nil, report("breach", ""), false, false},
		{"breach in the exit code alone", probe.ExitBreach, nil, report("blocked", ""), false, false},
		{"not tried", probe.ExitError, nil, report("error", ""), false, false},
		{"no report", 0, nil, "", false, false},
		{"a helper that is no helper", 2, nil, "usage: ...\n", false, false},
		{"another probe's report", 0, nil, strings.Replace(report("blocked", ""), `"p"`, `"q"`, 1), false, false},
		{"killed by a filter", killedBySyscallFilter, nil, "", true, true},
		{"killed", 137, nil, "", false, true},
		{"ended by a limit", 0, &sandbox.LimitError{Limit: "memory"}, "", false, true},
		{"sandbox gone", 0, sandbox.ErrGone, "", false, true},
		{"never started", 0, &sandbox.StartError{Program: "p", Code: 127}, "", false, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := &attackOutcome{name: "p", code: tt.code, err: tt.err}
			o.stdout.data = []byte(tt.stdout)
			if held := len(o.problems()) == 0; held != tt.held {
				t.Errorf("boundary held: %v, want %v: %q", held, tt.held, o.problems())
			}
			if contained := len(o.contained()) == 0; contained != tt.contained {
				t.Errorf("contained: %v, want %v: %q", contained, tt.contained, o.contained())
			}
		})
	}
}

// Whatever a probe says, what it did to the host is seen.
func TestAttackSeesTheHost(t *testing.T) {
	tests := []struct {
		name string
		do   func(t *testing.T, h *attackHost, ws *attackWorkspace, o *attackOutcome)
		want string // part of the one problem that is reported
	}{
		{"nothing", func(*testing.T, *attackHost, *attackWorkspace, *attackOutcome) {}, ""},
		{"a file in the open part", func(t *testing.T, _ *attackHost, ws *attackWorkspace, _ *attackOutcome) {
			attackWrite(t, filepath.Join(ws.dir, "main.go"), "package other\n", 0o644)
		}, ""},
		{"the secret in the output", func(_ *testing.T, h *attackHost, _ *attackWorkspace, o *attackOutcome) {
			o.stdout.data = []byte("x" + string(h.facts.Secret))
		}, "the secret is in the probe's output"},
		{"a protected file", func(t *testing.T, _ *attackHost, ws *attackWorkspace, _ *attackOutcome) {
			attackWrite(t, filepath.Join(ws.dir, ".git/config"), "[core]\n\tfsmonitor = evil\n", 0o644)
		}, ".git/config changed on the host"},
		{"the mode of a protected file", func(t *testing.T, _ *attackHost, ws *attackWorkspace, _ *attackOutcome) {
			if err := os.Chmod(filepath.Join(ws.dir, "ralph.toml"), 0o600); err != nil {
				t.Fatal(err)
			}
		}, "ralph.toml changed on the host"},
		{"a new hook", func(t *testing.T, _ *attackHost, ws *attackWorkspace, _ *attackOutcome) {
			attackWrite(t, filepath.Join(ws.dir, ".git/hooks/post-checkout"), "#!/bin/sh\n", 0o755)
		}, "post-checkout is new on the host"},
		{"a deleted file of another run", func(t *testing.T, h *attackHost, _ *attackWorkspace, _ *attackOutcome) {
			if err := os.Remove(filepath.Join(h.sibling, "state.json")); err != nil {
				t.Fatal(err)
			}
		}, "state.json is gone from the host"},
		{"a file beside the workspace", func(t *testing.T, h *attackHost, _ *attackWorkspace, _ *attackOutcome) {
			attackWrite(t, filepath.Join(h.base, "runs", probe.Prefix+"x"), "", 0o644)
		}, probe.Prefix + "x is new on the host"},
		{"a setuid program", func(t *testing.T, _ *attackHost, ws *attackWorkspace, _ *attackOutcome) {
			path := filepath.Join(ws.dir, "sub", "program")
			attackWrite(t, path, "", 0o755)
			if err := os.Chmod(path, 0o755|os.ModeSetuid); err != nil {
				t.Fatal(err)
			}
		}, "sub/program is on the host now"},
		{"a connection to the host's loopback", func(t *testing.T, h *attackHost, _ *attackWorkspace, _ *attackOutcome) {
			attackConnect(t, "tcp", h.facts.HostTCP)
		}, "1 connections arrived at 127.0.0.1"},
		{"a connection to the socket in the workspace", func(t *testing.T, _ *attackHost, ws *attackWorkspace, _ *attackOutcome) {
			attackConnect(t, "unix", ws.socket)
		}, "1 connections arrived at "},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := newAttackHost(t, attackFolder(t))
			ws := h.newWorkspace(t, "this")
			before := h.watch(ws)
			o := &attackOutcome{}
			tt.do(t, h, ws, o)
			problems := strings.Join(h.problems(ws, before, o), "; ")
			if (tt.want == "") != (problems == "") || !strings.Contains(problems, tt.want) {
				t.Errorf("problems %q, want %q", problems, tt.want)
			}
		})
	}
}

// attackSoon polls until ok holds.
func attackSoon(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

// attackConnect returns when the listener has counted the connection.
func attackConnect(t *testing.T, network, address string) {
	t.Helper()
	conn, err := net.Dial(network, address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if greeting, err := io.ReadAll(conn); err != nil || len(greeting) == 0 {
		t.Fatalf("greeting %q, %v", greeting, err)
	}
}

func TestAttackSeesTheDeathOfTheHostsProcess(t *testing.T) {
	h := newAttackHost(t, attackFolder(t))
	ws := h.newWorkspace(t, "this")
	before := h.watch(ws)
	if err := h.victim.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	attackSoon(t, "the process is gone", func() bool {
		return strings.Contains(strings.Join(h.problems(ws, before, &attackOutcome{}), ""), "process was ended")
	})
}

func TestAttackTidies(t *testing.T) {
	h := newAttackHost(t, attackFolder(t))
	ws := h.newWorkspace(t, "this")
	attackWrite(t, filepath.Join(ws.dir, "litter/deep/file"), "x", 0o644)
	ws.tidy(t)
	if _, err := os.Stat(filepath.Join(ws.dir, "litter")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the litter is still there: %v", err)
	}
	if _, err := os.Stat(filepath.Join(ws.dir, "main.go")); err != nil {
		t.Errorf("tidying took what was there before: %v", err)
	}
}

func TestAttackTailForgets(t *testing.T) {
	var tail attackTail
	for range 100 {
		if n, err := tail.Write(make([]byte, 10_000)); n != 10_000 || err != nil {
			t.Fatalf("wrote %d, %v", n, err)
		}
	}
	if _, err := tail.Write([]byte("the end")); err != nil {
		t.Fatal(err)
	}
	if got := tail.bytes(); len(got) != attackTailSize || !strings.HasSuffix(string(got), "the end") {
		t.Errorf("kept %d bytes that end in %q", len(got), got[max(0, len(got)-10):])
	}
}

func TestAttackFindsLeftovers(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("processes are listed on Linux only")
	}
	const id = "a-sandbox-that-left-something"
	cmd := exec.Command("sh", "-c", "read line", id)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	attackSoon(t, "the process is found", func() bool { return len(attackLeftovers(t, id)) == 1 })
	stdin.Close()
	_ = cmd.Wait() // it ends with its input
	if left := attackLeftovers(t, id); len(left) > 0 {
		t.Errorf("found %q after the process ended", left)
	}
}
