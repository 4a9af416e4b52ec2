// Command loopbench measures what ralph itself costs in a run: beside the agent's
// own time, for what the agent prints, and when many runs are listed. It prints a
// Markdown table.
//
//	loopbench RALPH
package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/agent-loop/ralph/internal/rundir"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: loopbench RALPH")
		os.Exit(2)
	}
	if err := run(context.Background(), os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "loopbench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, ralph string) error {
	folder, err := os.MkdirTemp("", "loopbench-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	if err := os.Chmod(folder, 0o711); err != nil {
		return err
	}
	b := &bench{ctx: ctx, ralph: ralph, folder: folder}
	fmt.Println("| what | figure | |")
	fmt.Println("|---|---|---|")
	for _, measure := range []func() error{b.iterations, b.events, b.list} {
		if err := measure(); err != nil {
			return err
		}
	}
	return nil
}

// bench is where it is measured.
type bench struct {
	ctx    context.Context
	ralph  string
	folder string
}

// command prepares ralph in a project.
func (b *bench) command(project string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(b.ctx, b.ralph, args...)
	cmd.Dir = project
	cmd.Env = append(os.Environ(), "RALPH_STATE_DIR="+filepath.Join(b.folder, "state"))
	return cmd
}

// project makes one whose agent is a shell command.
func (b *bench) project(name, agent, loop string) (string, error) {
	dir := filepath.Join(b.folder, name)
	if err := os.Mkdir(dir, 0o755); err != nil {
		return "", err
	}
	settings := fmt.Sprintf("[agent]\nname = \"command\"\ncommand = [\"sh\", \"-c\", %q]\n[loop]\nidle_threshold = 0\nmax_no_progress = 0\n%s\n[validation]\ncommand = \"true\"\n", agent, loop)
	return dir, writeAll(dir, map[string]string{"PROMPT.md": "work", "ralph.toml": settings})
}

func writeAll(dir string, files map[string]string) error {
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// work runs a project's loop to its limit and opens the record.
func (b *bench) work(project string, args ...string) (*rundir.Reader, error) {
	out, err := b.command(project, append([]string{"run", "--id", "bench"}, args...)...).CombinedOutput()
	if code := exitCode(err); code != 0 && code != 3 {
		return nil, fmt.Errorf("ralph run: %w\n%s", err, out)
	}
	return rundir.OpenReadOnly(filepath.Join(project, ".ralph", "runs"), "bench")
}

func exitCode(err error) int {
	if err == nil {
		return 0
	}
	if exit, ok := err.(*exec.ExitError); ok { //nolint:errorlint // it is what exec returns
		return exit.ExitCode()
	}
	return -1
}

func middle(times []time.Duration) time.Duration {
	slices.Sort(times)
	return times[len(times)/2]
}

func show(d time.Duration) string {
	return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond))
}
