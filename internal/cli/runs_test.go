package cli_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/agent-loop/ralph/internal/cli"
	"github.com/agent-loop/ralph/internal/money"
	"github.com/agent-loop/ralph/internal/rundir"
)

// TestRunScripts runs testdata/runs: what "ralph ls", "show", "stop" and "verify"
// make of runs that are there. Besides what TestScripts knows, scripts can use
//
//	make-run FOLDER ID STATUS ITERATIONS REASON   write a run, at the time its id says
//	hold-run FOLDER ID [obey]                     be its writer, and do what is asked or not
//	tamper FILE OLD NEW                           change a record
func TestRunScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "runs"),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup:               setUp,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"make-run": func(ts *testscript.TestScript, _ bool, args []string) {
				n, err := strconv.Atoi(args[3])
				ts.Check(err)
				text, err := strconv.Unquote(`"` + args[4] + `"`)
				ts.Check(err)
				ts.Check(makeRun(ts.MkAbs(args[0]), args[1], rundir.Status(args[2]), n, text))
			},
			"hold-run": func(ts *testscript.TestScript, _ bool, args []string) {
				release, err := holdRun(ts.MkAbs(args[0]), args[1], len(args) > 2)
				ts.Check(err)
				ts.Defer(release)
			},
			"tamper": func(ts *testscript.TestScript, _ bool, args []string) {
				text := ts.ReadFile(args[0])
				if !strings.Contains(text, args[1]) {
					ts.Fatalf("%s does not hold %q", args[0], args[1])
				}
				ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.Replace(text, args[1], args[2], 1)), 0o600))
			},
		},
	})
}

// makeRun writes a run as a loop would. Every iteration costs three cents.
func makeRun(root, id string, status rundir.Status, iterations int, text string) error {
	start, err := time.Parse("20060102-150405", id[:min(len(id), 15)])
	if err != nil {
		return err
	}
	run, err := rundir.Create(root, id, map[string]string{"prompt": "do it"}, rundir.Options{Now: func() time.Time { return start }})
	if err != nil {
		return err
	}
	defer run.Close()
	passed := false
	for n := 1; n <= iterations; n++ {
		spend := rundir.Spend{CostUSD: 3 * money.Cent, Tokens: rundir.Tokens{Input: 1000, Output: 100}}
		it := rundir.Iteration{N: n, Outcome: "ok", Reason: text, Started: start, DurationMS: 61_000, Turns: 4, ChangedFiles: 2, Validated: &passed, AgentCostUSD: money.Cent}
		for _, err := range []error{
			run.Append(rundir.EventCharge, n, rundir.Charge{Spend: spend}),
			run.AppendIteration(it),
		} {
			if err != nil {
				return err
			}
		}
	}
	c := rundir.Checkpoint{Summary: text, ValidationFailure: "FAIL TestX\n"}
	if status == rundir.NeedsAttention {
		c.Question = text
		if err := run.Append(rundir.EventQuestion, iterations, rundir.Question{Kind: "decide", Text: text, File: "/tmp/answer.md"}); err != nil {
			return err
		}
	}
	if err := run.SaveCheckpoint(iterations+1, c); err != nil {
		return err
	}
	return run.SaveState(rundir.State{
		Status: status, StopReason: text, Agent: "claude", Engine: "gvisor", Model: "sonnet", Workspace: "/work",
		Limits: rundir.Limits{MaxCostUSD: money.Dollar, MaxIterations: 5}, ElapsedSeconds: 61 * int64(iterations),
	})
}

// holdRun makes this process the writer of a run, and saves that it is running. One
// that obeys ends as it is asked to.
func holdRun(root, id string, obey bool) (release func(), err error) {
	run, err := rundir.Open(root, id, rundir.Options{Command: "ralph run"})
	if err != nil {
		return nil, err
	}
	state := rundir.State{Status: rundir.Running, Agent: "claude", Engine: "gvisor", Current: 1}
	if err := run.SaveState(state); err != nil {
		return nil, err
	}
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		defer run.Close()
		ticker := time.NewTicker(5 * time.Millisecond)
		defer ticker.Stop()
		for {
			select {
			case <-quit:
				return
			case <-ticker.C:
			}
			if asked := run.Requests(); obey && len(asked) > 0 {
				state.Status = map[rundir.Request]rundir.Status{rundir.StopRequest: rundir.Stopped, rundir.PauseRequest: rundir.Paused}[asked[0]]
				state.StopReason = fmt.Sprintf("asked to %s by another process", asked[0])
				_ = run.SaveState(state) // its absence is what a test then sees
				return
			}
		}
	}()
	return func() { close(quit); <-done }, nil
}

// inProcess runs a command that only reads, with an empty environment.
func inProcess(t testing.TB, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, err bytes.Buffer
	world := cli.World{In: strings.NewReader(""), Out: &out, Err: &err, Getenv: func(string) string { return "" }}
	code = cli.Main(t.Context(), world, args)
	return out.String(), err.String(), code
}

func runID(n int) string {
	return time.Date(2020, 11, 15, 6, 0, n, 0, time.UTC).Format("20060102-150405-") + fmt.Sprintf("x%05d", n)
}
