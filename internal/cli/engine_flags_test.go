//go:build linux

package cli_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-loop/ralph/internal/sandbox"
)

// unasked is an engine that must not even be looked at.
type unasked struct {
	*wall
	t *testing.T
}

func (e unasked) Probe(context.Context) (sandbox.Info, error) {
	e.t.Error("an engine was asked")
	return e.info, nil
}

// TestContradictionsAreUsage: they are found before anything is started.
func TestContradictionsAreUsage(t *testing.T) {
	for _, flags := range []string{
		"--sandbox --no-sandbox",
		"--engine gvisor --container-runtime docker",
		"--container-runtime podman --engine docker",
		"--execution-mode host --container-runtime docker",
		"--execution-mode host --sandbox",
		"--execution-mode container --no-sandbox",
		"--no-sandbox --engine docker",
		"--no-sandbox --engine auto",
		"--oci-runtime runsc --engine gvisor",
		"--oci-runtime runsc --engine bubblewrap",
		"--oci-runtime runsc --no-sandbox",
		"--container-network none --allow example.com",
		"--container-network none --no-sandbox",
		"--container-network bridge",
		"--container-runtime runc",
	} {
		t.Run(flags, func(t *testing.T) {
			p := newPaper(t, unasked{newWall("gvisor"), t}, unasked{newWall("docker"), t})
			for _, command := range [][]string{{"exec", "-w", p.project}, {"run", "-C", p.project}} {
				args := append(command, strings.Fields(flags)...)
				if command[0] == "exec" {
					args = append(args, "--", "true")
				}
				first := strings.Fields(flags)[0]
				if got := p.ralph(args...); got.code != 2 || !strings.Contains(got.stderr, first) {
					t.Errorf("%s: exit %d\n%s", command[0], got.code, got.stderr)
				}
			}
			if left, _ := filepath.Glob(filepath.Join(p.project, ".ralph*")); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
		})
	}
}
