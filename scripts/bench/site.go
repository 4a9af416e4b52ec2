package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/agent-loop/ralph/internal/gate"
	"github.com/agent-loop/ralph/internal/sandbox"
)

// site is what all contenders share: a folder to work on, and a server.
type site struct {
	ctx      context.Context
	ralph    string
	base     string // everything of ours is below it
	work     string // what the sandboxes see
	state    string
	goRoot   string
	upstream *httptest.Server
}

func newSite(ctx context.Context, ralph string) (*site, error) {
	ralph, err := filepath.Abs(ralph)
	if err != nil {
		return nil, err
	}
	goRoot, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return nil, fmt.Errorf("looking for Go: %w", err)
	}
	base, err := os.MkdirTemp("", "ralph-bench-")
	if err != nil {
		return nil, err
	}
	s := &site{
		ctx: ctx, ralph: ralph, base: base, work: filepath.Join(base, "work"), state: filepath.Join(base, "state"),
		goRoot: strings.TrimSpace(string(goRoot)),
	}
	err = errors.Join(
		os.Chmod(base, 0o755), os.Mkdir(s.work, 0o755), os.Mkdir(s.state, 0o711),
		os.Setenv("RALPH_STATE_DIR", s.state),
	)
	if err != nil {
		return nil, err
	}
	s.upstream = httptest.NewServer(http.HandlerFunc(sendZeroes))
	return s, nil
}

func (s *site) close() {
	s.upstream.Close()
	_ = os.RemoveAll(s.base)
}

// folder makes a folder for a contender, which has nothing to do with the others.
func (s *site) folder(c *contender) (string, error) {
	dir := filepath.Join(s.work, strings.ReplaceAll(c.name, " ", "-"))
	return dir, os.MkdirAll(dir, 0o755)
}

// spec is a sandbox that may write to a folder and reach our own server, and
// nothing else.
func (s *site) spec(dir string) (sandbox.Spec, error) {
	policy, err := gate.NewPolicy(gate.ModeAllowlist, []string{s.upstream.Listener.Addr().String()}, nil)
	if err != nil {
		return sandbox.Spec{}, err
	}
	spec := sandbox.Spec{
		Mounts:  []sandbox.Mount{{Source: dir, Target: dir}},
		Env:     sandbox.BaseEnv(sandbox.NetworkGate),
		Limits:  sandbox.Limits{Memory: 3 << 30, Processes: 4096, Disk: 20 << 30},
		Network: sandbox.NetworkGate,
		Gate:    gate.New(gate.Config{Policy: policy}).Serve,
	}
	if !strings.HasPrefix(s.goRoot, "/usr/") {
		spec.Mounts = append(spec.Mounts, sandbox.Mount{Source: s.goRoot, Target: s.goRoot, ReadOnly: true})
	}
	return spec, nil
}

// host runs a command outside any sandbox.
func (s *site) host(dir string, args ...string) error {
	cmd := exec.CommandContext(s.ctx, args[0], args[1:]...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", filepath.Base(args[0]), err, lastLine(string(out)))
	}
	return nil
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}
