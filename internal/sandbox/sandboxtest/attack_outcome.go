package sandboxtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/agent-loop/ralph/internal/probe"
	"github.com/agent-loop/ralph/internal/sandbox"
)

// attackOutcome is how a probe ended, seen from the host.
type attackOutcome struct {
	name   string
	code   int
	err    error
	took   time.Duration
	stdout attackTail
	stderr attackTail
}

// run starts a probe inside and waits for its end.
func (a *attack) run(ctx context.Context, sb sandbox.Sandbox, name string, facts probe.Facts, limit time.Duration) *attackOutcome {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	outcome := &attackOutcome{name: name}
	env, err := facts.Env()
	if err != nil {
		outcome.err = err
		return outcome
	}
	begun := time.Now()
	outcome.code, outcome.err = sb.Exec(ctx, sandbox.Command{
		Args:   []string{a.info.Helper, "probe", name},
		Env:    []string{env},
		Stdout: &outcome.stdout,
		Stderr: &outcome.stderr,
	})
	outcome.took = time.Since(begun)
	return outcome
}

// killedBySyscallFilter is the exit code of a program that made a system call
// which a filter answers with death.
const killedBySyscallFilter = 128 + 31

// problems is empty if the boundary held: the probe was refused, or ended for
// what it tried.
func (o *attackOutcome) problems() []string {
	if o.err != nil {
		return []string{fmt.Sprintf("running the probe: %v; stderr: %s", o.err, o.stderr.text())}
	}
	if o.code == killedBySyscallFilter {
		return nil
	}
	report, err := probe.Decode(o.name, o.stdout.bytes())
	if err != nil {
		return []string{fmt.Sprintf("exit code %d: %v; stderr: %s", o.code, err, o.stderr.text())}
	}
	switch report.Verdict {
	case probe.Blocked:
		if o.code != probe.ExitBlocked {
			return []string{fmt.Sprintf("the report says blocked, but the exit code is %d", o.code)}
		}
		return nil
	case probe.NotApplicable:
		return nil
	case probe.Breach:
		return []string{"BREACH: " + report.Detail}
	default:
		return []string{"the attempt could not be made: " + report.Detail}
	}
}

// contained is the same for a probe that uses up its sandbox: that the sandbox
// or the command was ended is a good end too.
func (o *attackOutcome) contained() []string {
	var start *sandbox.StartError
	if o.err != nil && !errors.As(o.err, &start) {
		return nil
	}
	if _, err := probe.Decode(o.name, o.stdout.bytes()); err != nil && o.code > 128 {
		return nil
	}
	return o.problems()
}

func (o *attackOutcome) log(t *testing.T) {
	t.Helper()
	report, err := probe.Decode(o.name, o.stdout.bytes())
	if err != nil {
		t.Logf("ended in %v with code %d, error %v", o.took.Round(time.Millisecond), o.code, o.err)
		return
	}
	t.Logf("%s in %v: %s", report.Verdict, o.took.Round(time.Millisecond), report.Detail)
}

// attackTail keeps the end of an output and forgets the rest: what comes from
// inside may have no end.
type attackTail struct {
	mu   sync.Mutex
	data []byte
}

const attackTailSize = 64 << 10

// Write takes everything.
func (w *attackTail) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.data = append(w.data, p...)
	if over := len(w.data) - attackTailSize; over > 0 {
		w.data = append(w.data[:0], w.data[over:]...)
	}
	return len(p), nil
}

func (w *attackTail) bytes() []byte {
	w.mu.Lock()
	defer w.mu.Unlock()
	return bytes.Clone(w.data)
}

func (w *attackTail) text() string { return fmt.Sprintf("%.500q", w.bytes()) }
