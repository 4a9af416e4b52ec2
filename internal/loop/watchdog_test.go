package loop

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/agent-loop/ralph/internal/agent"
	"github.com/agent-loop/ralph/internal/rundir"
)

// then does one thing after the other.
func then(acts ...act) act {
	return func(ctx context.Context, p *process) int {
		code := 0
		for _, a := range acts {
			code = a(ctx, p)
		}
		return code
	}
}

// chatty says something every so often, for ever.
func chatty(every time.Duration) act {
	return func(ctx context.Context, p *process) int {
		for {
			select {
			case <-ctx.Done():
				return 1
			case <-time.After(every):
				fmt.Fprintln(p.Stdout, `{"type":"assistant","message":{"content":[{"type":"tool_use","name":"Bash","input":{}}]}}`)
			}
		}
	}
}

// quietly says something on standard error alone, for ever.
func quietly(ctx context.Context, p *process) int {
	for ctx.Err() == nil {
		fmt.Fprintln(p.Stderr, "still at it")
		select {
		case <-ctx.Done():
		case <-time.After(10 * time.Second):
		}
	}
	return 1
}

// deaf ignores that its sandbox has ended, until the test lets go of it.
func deaf(t *testing.T) act {
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	return func(context.Context, *process) int {
		<-release
		return 0
	}
}

// What ends an attempt that does not end by itself, and when; the second attempt
// is the same unless the run is over.
func TestTimers(t *testing.T) {
	timers := Rules{IterationTimeout: 30 * time.Minute, IdleTimeout: 5 * time.Minute, CompletionTimeout: 20 * time.Second}
	for name, tt := range map[string]struct {
		act     func(t *testing.T) act
		rules   Rules
		maxTime time.Duration
		verdict agent.Verdict
		why     cause
		took    time.Duration
		status  rundir.Status
	}{
		"takes too long":             {fixed(chatty(time.Second)), timers, 0, agent.TimedOut, timedOut, 30 * time.Minute, rundir.Limit},
		"says nothing":               {fixed(hangs), timers, 0, agent.Idle, idle, 5 * time.Minute, rundir.Limit},
		"says nothing any more":      {fixed(then(says("hello"), hangs)), timers, 0, agent.Idle, idle, 5 * time.Minute, rundir.Limit},
		"ignores everything":         {deaf, timers, 0, agent.Idle, idle, 5 * time.Minute, rundir.Limit},
		"speaks on standard error":   {fixed(quietly), timers, 0, agent.TimedOut, timedOut, 30 * time.Minute, rundir.Limit},
		"no idle timer":              {fixed(hangs), Rules{IterationTimeout: time.Hour}, 0, agent.TimedOut, timedOut, time.Hour, rundir.Limit},
		"lingers after its result":   {fixed(then(says(good("more")), hangs)), timers, 0, agent.OK, lingered, 20 * time.Second, rundir.Limit},
		"lingers, and is done":       {fixed(then(says(good(complete)), hangs)), timers, 0, agent.OK, lingered, 20 * time.Second, rundir.Done},
		"lingers after a failure":    {fixed(then(says(result("error_during_execution", "", `"is_error":true`)), hangs)), timers, 0, agent.Failed, lingered, 20 * time.Second, rundir.Limit},
		"talks after its result":     {fixed(then(says(good("more")), chatty(time.Second))), timers, 0, agent.OK, lingered, 20 * time.Second, rundir.Limit},
		"no completion timer":        {fixed(then(says(good("more")), hangs)), Rules{IterationTimeout: time.Hour, IdleTimeout: time.Minute}, 0, agent.TimedOut, timedOut, time.Hour, rundir.Limit},
		"the run's time is over":     {fixed(chatty(time.Second)), timers, 10 * time.Minute, agent.TimedOut, outOfTime, 10 * time.Minute, rundir.Limit},
		"the run's time, and no own": {fixed(hangs), Rules{}, 10 * time.Minute, agent.TimedOut, outOfTime, 10 * time.Minute, rundir.Limit},
		"ends by itself":             {fixed(waits(4*time.Minute, says(good("more")))), timers, 0, agent.OK, "", 4 * time.Minute, rundir.Limit},
	} {
		bubble(t, name, func(t *testing.T) {
			r := newRig(t, tt.act(t)).claude()
			tt.rules.Prompt = "PROMPT.md"
			r.loop.Rules = tt.rules
			r.loop.State.Limits = rundir.Limits{MaxIterations: 1, MaxTimeSeconds: int64(tt.maxTime.Seconds())}
			began := time.Now()
			r.expect(tt.status, "", 1)
			if took := time.Since(began); took < tt.took || took > tt.took+2*time.Second {
				t.Errorf("it took %v, want %v", took, tt.took)
			}
			if it := r.iterations()[0]; it.Outcome != string(tt.verdict) {
				t.Errorf("recorded as %s: %s", it.Outcome, it.Reason)
			}
			if exit := events[rundir.AgentExit](r, rundir.EventAgentExit)[0]; exit.Why != string(tt.why) {
				t.Errorf("exit is told as %+v", exit)
			}
		})
	}
}

func fixed(a act) func(*testing.T) act { return func(*testing.T) act { return a } }

// An agent that cannot be told how many turns it has is counted.
func TestTurnsAreCounted(t *testing.T) {
	for name, tt := range map[string]struct {
		agent   string
		line    string
		verdict agent.Verdict
	}{
		"codex cannot count": {"codex", `{"type":"item.started","item":{"id":"1","type":"command_execution","command":"ls"}}`, agent.MaxTurns},
		"claude can":         {"claude", `{"type":"assistant","message":{"content":[{"type":"tool_use","name":"Bash","input":{}}]}}`, agent.TimedOut},
	} {
		bubble(t, name, func(t *testing.T) {
			r := newRig(t, then(says(strings.TrimSpace(strings.Repeat(tt.line+"\n", 6))), hangs))
			r.loop.Agent = find(t, tt.agent)
			r.loop.Rules.MaxTurns, r.loop.Rules.IterationTimeout = 5, time.Minute
			r.loop.State.Limits.MaxIterations = 1
			r.expect(rundir.Limit, "", 1)
			if it := r.iterations()[0]; it.Outcome != string(tt.verdict) {
				t.Errorf("recorded as %s: %s", it.Outcome, it.Reason)
			}
		})
	}
}

// An agent that ended by itself just when it was to be ended did end by itself.
func TestTheTimerComesTooLate(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		r := newRig(t)
		r.script(func(ctx context.Context, p *process) int {
			time.Sleep(time.Minute) // to the tick of the watchdog
			return says(complete)(ctx, p)
		})
		r.loop.Rules.IterationTimeout = time.Minute
		r.loop.State.Limits.MaxIterations = 1
		stop := r.execute(t.Context())
		exit := events[rundir.AgentExit](r, rundir.EventAgentExit)[0]
		if ended := exit.Why == ""; ended != (stop.Status == rundir.Done) {
			t.Errorf("exit %+v, and the run ended %+v", exit, stop)
		}
	})
}

// The files that an agent changes are told while it works.
func TestFilesAreCountedMeanwhile(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		r := newRig(t)
		r.script(func(ctx context.Context, p *process) int {
			for _, name := range []string{"a", "b", "c"} {
				r.write(name, name)
				time.Sleep(2 * time.Second)
			}
			return says(complete)(ctx, p)
		})
		r.expect(rundir.Done, "", 1)
		var counts []int
		for _, f := range events[rundir.Files](r, rundir.EventFiles) {
			counts = append(counts, f.Changed)
		}
		if fmt.Sprint(counts) != "[1 2 3]" || r.iterations()[0].ChangedFiles != 3 {
			t.Errorf("counted %v, recorded %d", counts, r.iterations()[0].ChangedFiles)
		}
	})
}
