package loop

import (
	"context"
	"testing"
	"time"

	"github.com/agent-loop/ralph/internal/agent"
	"github.com/agent-loop/ralph/internal/rundir"
)

// limitedFor is a gate that saw a limit, once for each time, which ends so much
// later than now; 0: it does not say when.
func limitedFor(now time.Time, pauses ...time.Duration) []agent.Gate {
	var saw []agent.Gate
	for _, pause := range pauses {
		g := agent.Gate{Limited: true}
		if pause != 0 {
			g.LimitedUntil = now.Add(pause)
		}
		saw = append(saw, g)
	}
	return saw
}

// A limit of the provider burns no iteration: the loop waits, and how long is what
// the provider says, or longer each time when it says nothing of use.
func TestWaitingForTheProvider(t *testing.T) {
	const far = 100 * 365 * 24 * time.Hour
	for name, tt := range map[string]struct {
		pauses   []time.Duration
		maxWait  time.Duration
		maxTime  time.Duration
		status   rundir.Status
		least    time.Duration
		most     time.Duration
		attempts int
	}{
		"until a time":             {[]time.Duration{3 * time.Hour}, 5 * time.Hour, 0, rundir.Done, 3 * time.Hour, 3*time.Hour + 2*time.Second, 2},
		"nobody says":              {[]time.Duration{0}, time.Hour, 0, rundir.Done, 15 * time.Second, 20 * time.Second, 2},
		"nobody says, four times":  {[]time.Duration{0, 0, 0, 0}, time.Hour, 0, rundir.Done, 225 * time.Second, 290 * time.Second, 5},
		"a time that is past":      {[]time.Duration{-time.Hour, -time.Hour}, time.Hour, 0, rundir.Done, 45 * time.Second, 60 * time.Second, 3},
		"soon, again and again":    {[]time.Duration{time.Second, 2 * time.Second, 3 * time.Second, 4 * time.Second}, time.Hour, 0, rundir.Done, 200 * time.Second, 290 * time.Second, 5},
		"a known time after all":   {[]time.Duration{0, time.Hour}, 2 * time.Hour, 0, rundir.Done, time.Hour, time.Hour + 2*time.Second, 3},
		"longer than allowed":      {[]time.Duration{3 * time.Hour}, time.Hour, 0, rundir.NeedsAttention, 0, time.Second, 1},
		"too long in all":          {[]time.Duration{0, 0, 0, 0, 0, 0}, time.Minute, 0, rundir.NeedsAttention, 30 * time.Second, time.Minute, 3},
		"for ever":                 {[]time.Duration{far}, time.Hour, 0, rundir.NeedsAttention, 0, time.Second, 1},
		"for ever, the next time":  {[]time.Duration{0, far}, time.Hour, 0, rundir.NeedsAttention, 15 * time.Second, 30 * time.Second, 2},
		"never wait":               {[]time.Duration{0}, 0, 0, rundir.NeedsAttention, 0, time.Second, 1},
		"beyond the time of a run": {[]time.Duration{3 * time.Hour}, 5 * time.Hour, time.Hour, rundir.Limit, 0, time.Second, 1},
		"out of time step by step": {[]time.Duration{0, 0, 0, 0, 0, 0}, 5 * time.Hour, time.Minute, rundir.Limit, 30 * time.Second, time.Minute, 3},
	} {
		bubble(t, name, func(t *testing.T) {
			r := newRig(t, prints("busy", 1))
			r.script(func(ctx context.Context, p *process) int {
				if r.calls > len(tt.pauses) {
					return says(complete)(ctx, p)
				}
				return exits(1)(ctx, p)
			})
			began := time.Now()
			r.gate.saw = limitedFor(began, tt.pauses...)
			if name == "for ever, the next time" {
				r.gate.saw[1].LimitedUntil = time.Date(5000, 1, 1, 0, 0, 0, 0, time.UTC)
			}
			r.loop.Rules.MaxWait = tt.maxWait
			r.loop.State.Limits.MaxTimeSeconds = int64(tt.maxTime.Seconds())
			iterations := 0
			if tt.status == rundir.Done {
				iterations = 1
			}
			r.expect(tt.status, "", iterations)
			if took := time.Since(began); took < tt.least || took > tt.most {
				t.Errorf("it took %v, want %v to %v", took, tt.least, tt.most)
			}
			if r.calls != tt.attempts {
				t.Errorf("%d attempts, want %d", r.calls, tt.attempts)
			}
			if b := events[rundir.Begin](r, rundir.EventBegin); b[len(b)-1].Attempt != tt.attempts {
				t.Errorf("the last attempt is told as %+v", b[len(b)-1])
			}
		})
	}
}

// What was waited for is over once an iteration counts, however that one ended.
func TestWaitsAreAddedUpInARowOnly(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		r := newRig(t, exits(1), exits(1), exits(1), says(complete))
		pause := agent.Gate{Limited: true, LimitedUntil: time.Now().Add(40 * time.Minute)}
		later := agent.Gate{Limited: true, LimitedUntil: time.Now().Add(80 * time.Minute)}
		r.gate.saw = []agent.Gate{pause, {}, later}
		r.loop.Rules.MaxWait = time.Hour
		r.expect(rundir.Done, "", 2)
	})
}

// Whoever looks at a run that waits sees that it lives, and a kill forgets little
// of the time that was used.
func TestAWaitKeepsTheStateFresh(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		r := newRig(t, exits(1), says(complete))
		r.gate.saw = limitedFor(time.Now(), 30*time.Minute)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(20*time.Minute, func() {
			if got := r.state().ElapsedSeconds; got < 18*60 {
				t.Errorf("after 20 minutes the state knows of %d seconds", got)
			}
			cancel()
		})
		if stop := r.execute(ctx); stop.Status != rundir.Stopped {
			t.Errorf("ended %+v", stop)
		}
	})
}

// A wait goes by the wall clock, which a machine that sleeps finds ahead, and never
// lasts longer than by the clock that does not jump.
func TestLeftOfAWait(t *testing.T) {
	now := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	until := now.Add(time.Hour)
	for name, tt := range map[string]struct {
		wall time.Time
		most time.Duration
		want time.Duration
	}{
		"at the start":              {now, time.Hour, time.Hour},
		"half way":                  {now.Add(30 * time.Minute), 30 * time.Minute, 30 * time.Minute},
		"over":                      {until, 0, 0},
		"the machine slept":         {now.Add(2 * time.Hour), 50 * time.Minute, -time.Hour},
		"the clock went back":       {now.Add(-24 * time.Hour), 10 * time.Minute, 10 * time.Minute},
		"the clock went back, over": {now.Add(-24 * time.Hour), 0, 0},
		"the clock went ahead":      {now.Add(45 * time.Minute), 50 * time.Minute, 15 * time.Minute},
	} {
		if got := left(until, tt.wall, tt.most); got != tt.want {
			t.Errorf("%s: %v left, want %v", name, got, tt.want)
		}
	}
}
