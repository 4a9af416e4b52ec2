package cli_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agent-loop/ralph/internal/cli"
	"github.com/agent-loop/ralph/internal/rundir"
)

// TestExitCodesOfReadingRuns: a mistake of the user's is 2, a run that is not as
// it should be is 1.
func TestExitCodesOfReadingRuns(t *testing.T) {
	project := t.TempDir()
	root := filepath.Join(project, ".ralph", "runs")
	for n, status := range []rundir.Status{rundir.Done, rundir.Limit} {
		if err := makeRun(root, runID(n), status, 1, "because"); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, runID(1), "spec.json"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		args string
		want int
	}{
		{"ls", 0},
		{"ls --status nonsense", 2},
		{"ls -n 1 --all", 2},
		{"show " + runID(0), 0},
		{"show nosuchrun", 2},
		{"show 2020", 2},
		{"show a b", 2},
		{"stop " + runID(0), 1},
		{"stop nosuchrun", 2},
		{"stop", 1},
		{"pause", 1},
		{"stop --wait -1s", 2},
		{"verify " + runID(0), 0},
		{"verify " + runID(1), 1},
		{"verify " + runID(1) + " --json", 1},
		{"verify --head x", 2},
		{"verify " + runID(0) + " --head " + strings.Repeat("0", 64), 1},
	} {
		if _, stderr, code := inProcess(t, append(strings.Fields(test.args), "-C", project)...); code != test.want {
			t.Errorf("%s: exit %d, want %d: %s", test.args, code, test.want, stderr)
		}
	}
}

// TestInterruptingStopEndsTheWaitingAlone: the request stays.
func TestInterruptingStopEndsTheWaitingAlone(t *testing.T) {
	project := t.TempDir()
	root := filepath.Join(project, ".ralph", "runs")
	if err := makeRun(root, runID(1), rundir.Running, 1, ""); err != nil {
		t.Fatal(err)
	}
	release, err := holdRun(root, runID(1), false)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	request := filepath.Join(root, runID(1), "logs", "request-stop")
	ctx, interrupt := context.WithTimeout(t.Context(), time.Minute)
	defer interrupt()
	go func() {
		for ctx.Err() == nil {
			if _, err := os.Stat(request); err == nil {
				interrupt()
			}
			time.Sleep(time.Millisecond)
		}
	}()
	var out, stderr bytes.Buffer
	world := cli.World{In: strings.NewReader(""), Out: &out, Err: &stderr, Getenv: func(string) string { return "" }}
	code := cli.Main(ctx, world, []string{"stop", "--wait", "1h", "-C", project})
	if code != 130 || stderr.String() != "ralph: interrupted\n" || out.Len() > 0 {
		t.Errorf("exit %d, %q, %q", code, out.String(), stderr.String())
	}
	if _, err := os.Stat(request); err != nil {
		t.Error(err)
	}
}
