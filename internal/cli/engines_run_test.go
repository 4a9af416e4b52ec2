//go:build linux

package cli_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agent-loop/ralph/internal/modeltest"
	"github.com/agent-loop/ralph/internal/rundir"
)

// twoFilesToml is a run that is done with its second file.
const twoFilesToml = `
[agent]
name = "mini"
[validation]
command = "test -e work/3"
`

// twoFiles is the script of two iterations, the last two of threeFiles.
func twoFiles() []modeltest.Turn { return threeFiles(2) }

// TestEnginesRun: a whole run in every engine, of two iterations. The commits come
// home, every cent is on the bill, the record says what the agent was given, and
// nothing is left.
func TestEnginesRun(t *testing.T) {
	eachEngine(t, func(t *testing.T, engine string) {
		for _, test := range []struct {
			name      string
			env, args []string
			sandboxes int // of the two iterations, and one to confirm
		}{
			{"one sandbox", nil, nil, 2},
			{"a sandbox for each", []string{"RALPH_SANDBOX_REUSE_CONTAINER=false"}, nil, 5}, // and one for each validation
			{"in place", nil, []string{"--work", "in-place"}, 2},
		} {
			if engine == "podman" && test.name != "one sandbox" {
				continue // the same driver as docker's, and slower
			}
			t.Run(test.name, func(t *testing.T) {
				l := newEngineLab(t, engine, twoFilesToml)
				l.commit()
				l.env = append(l.env, test.env...)
				server := modeltest.New(t, twoFiles()...)
				got := l.wants(0, append([]string{"run", "--engine", engine, "--upstream", server.URL}, test.args...)...)
				a := l.check(2)
				if a.charged != 4*callCost || a.uncertain || server.Left() != 0 {
					t.Errorf("charged %v for four calls of %v", a.charged, callCost)
				}
				if changed := l.git("diff", "--name-status", "HEAD", a.state.Commit); changed != "A\twork/2\nA\twork/3\n" {
					t.Errorf("the work is %q", changed)
				}
				all := launches(t, a)
				if len(all) != test.sandboxes {
					t.Errorf("%d sandboxes, want %d\n%s", len(all), test.sandboxes, got.stderr)
				}
				for i, launch := range all {
					l.checkLaunch(launch, i < len(all)-1)
				}
			})
		}
	}, "bubblewrap", "docker", "podman")
}

// checkLaunch holds the audit of a sandbox against what the user asked for.
func (l *engineLab) checkLaunch(launch rundir.Launch, agents bool) {
	l.t.Helper()
	permission := map[bool]string{true: "bypassPermissions"}[agents]
	if launch.Engine != l.engine.name || launch.Runtime != l.engine.runtime || launch.Version == "" || launch.Boundary == "" || len(launch.Lacks) == 0 {
		l.t.Errorf("the engine is recorded as %+v", launch)
	}
	if launch.Network != "gate" || launch.Policy != "allowlist" || launch.Permission != permission {
		l.t.Errorf("recorded: network %s, policy %s, permissions %s", launch.Network, launch.Policy, launch.Permission)
	}
	if !slices.Contains(launch.EnvNames, "HTTPS_PROXY") || strings.Contains(strings.Join(launch.EnvNames, " "), "=") {
		l.t.Errorf("recorded variables: %q", launch.EnvNames)
	}
	if targets := mountTargets(launch); !slices.Contains(targets, l.project) {
		l.t.Errorf("recorded mounts: %q", targets)
	}
	for _, m := range launch.Mounts {
		if !m.ReadOnly && !strings.HasPrefix(m.Source, l.project) {
			l.t.Errorf("%s is writable inside", m.Source)
		}
		if filepath.Clean(m.Source) == l.home {
			l.t.Error("the home directory is mounted")
		}
	}
}
