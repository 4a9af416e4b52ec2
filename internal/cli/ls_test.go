package cli_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/agent-loop/ralph/internal/rundir"
)

// hostileText is what an agent may say where a person will read it.
const hostileText = "\x1b[2J\x1b]0;owned\x07bad\r\nralph: hint: next: rm -rf / \u202egnp.exe\u009b1m"

// TestListAsJSON holds the contract of "ralph ls --json".
func TestListAsJSON(t *testing.T) {
	project := t.TempDir()
	root := filepath.Join(project, ".ralph", "runs")
	for n, status := range []rundir.Status{rundir.Done, rundir.Running, rundir.Limit} {
		if err := makeRun(root, runID(n), status, n, "because"); err != nil {
			t.Fatal(err)
		}
	}
	release, err := holdRun(root, runID(0), false)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	out, stderr, code := inProcess(t, "ls", "--json", "-C", project)
	if code != 0 || stderr != "" {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	var runs []map[string]any
	if err := json.Unmarshal([]byte(out), &runs); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	if len(runs) != 3 {
		t.Fatalf("%d runs in %s", len(runs), out)
	}
	for _, key := range []string{
		"id", "status", "agent", "engine", "iteration", "cost_usd", "started_at", "stop_reason",
		"live", "limits", "tokens", "elapsed_seconds", "model", "workspace", "path",
	} {
		if _, ok := runs[0][key]; !ok {
			t.Errorf("there is no %s in %s", key, out)
		}
	}
	for i, want := range []struct {
		id, status string
		live       bool
		cost       float64
	}{{runID(2), "limit", false, 0.06}, {runID(1), "interrupted", false, 0.03}, {runID(0), "running", true, 0}} {
		got := runs[i]
		if got["id"] != want.id || got["status"] != want.status || got["live"] != want.live || got["cost_usd"] != want.cost {
			t.Errorf("run %d is %v, want %v", i, got, want)
		}
	}
	if tokens := runs[0]["tokens"].(map[string]any); tokens["input"] != 2000.0 {
		t.Errorf("tokens: %v", tokens)
	}
}

// TestHostileWordsReachNoTerminal looks at every command that prints an agent's.
func TestHostileWordsReachNoTerminal(t *testing.T) {
	project := t.TempDir()
	root := filepath.Join(project, ".ralph", "runs")
	id := runID(1)
	if err := makeRun(root, id, rundir.NeedsAttention, 2, hostileText); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(root, "broken"), 0o700); err != nil {
		t.Fatal(err)
	}
	state := `{"schema_version":1,"id":"broken","\u001b[2J` + "\u009b\u202e" + `":1,"status":"\u001b[2J` + "\u009b\u202e" + `"}`
	if err := os.WriteFile(filepath.Join(root, "broken", "state.json"), []byte(state), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"ls"}, {"ls", "--json"}, {"show", id}, {"show", id, "--json"}, {"show", "broken"}, {"show", "\x1b[2J"},
		{"stop", id}, {"pause", id}, {"verify", id}, {"verify", "broken"}, {"verify", "broken", "--json"},
	} {
		stdout, stderr, _ := inProcess(t, append(args, "-C", project)...)
		for _, r := range stdout + stderr {
			if r != '\n' && !unicode.IsPrint(r) {
				t.Errorf("%q prints %U: %q %q", args, r, stdout, stderr)
				break
			}
		}
		for line := range strings.Lines(stderr) {
			if strings.HasPrefix(line, "ralph: hint: next: rm") {
				t.Errorf("%q lets the agent give hints: %q", args, stderr)
			}
		}
	}
}

func TestRunsAreReadThroughABrokenConfiguration(t *testing.T) {
	project := t.TempDir()
	if err := makeRun(filepath.Join(project, ".ralph", "runs"), runID(1), rundir.Done, 1, "fine"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(project, "ralph.toml"), []byte("[[[ no TOML"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, stderr, code := inProcess(t, "ls", "-C", project)
	if code != 0 || stderr != "" || !strings.Contains(out, runID(1)) {
		t.Errorf("exit %d: %s%s", code, out, stderr)
	}
}

// BenchmarkList10000 lists 10,000 runs as a table; the goal is 200 ms.
func BenchmarkList10000(b *testing.B) {
	project := b.TempDir()
	root := filepath.Join(project, ".ralph", "runs")
	if err := makeRun(root, runID(0), rundir.Done, 1, "the work is verified done"); err != nil {
		b.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, runID(0), "state.json"))
	if err != nil {
		b.Fatal(err)
	}
	for n := 1; n < 10_000; n++ {
		dir := filepath.Join(root, runID(n))
		state := strings.ReplaceAll(string(text), runID(0), runID(n))
		if err := os.Mkdir(dir, 0o700); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "state.json"), []byte(state), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	for _, args := range [][]string{{"ls"}, {"ls", "--json"}} {
		b.Run(strings.Join(args, " "), func(b *testing.B) {
			for b.Loop() {
				start := time.Now()
				if _, stderr, code := inProcess(b, append(args, "-C", project)...); code != 0 {
					b.Fatal(stderr)
				}
				b.ReportMetric(float64(time.Since(start).Milliseconds()), "last-ms")
			}
		})
	}
}
