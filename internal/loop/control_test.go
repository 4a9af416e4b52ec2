package loop

import (
	"context"
	"testing"
	"time"

	"github.com/agent-loop/ralph/internal/rundir"
)

// A pause finishes what is under way and no more; a stop ends it at once. Neither
// leaves half an iteration in the record.
func TestPauseAndStop(t *testing.T) {
	const after = 10*time.Second + requestInterval/2 // between two looks at what is asked
	phases := map[string]struct {
		set     func(r *rig)
		paused  int // iterations after a pause; a stop has one less, or none
		stopped int
		took    time.Duration // of the phase, when it is let finish
	}{
		"the agent works": {func(r *rig) { r.script(waits(time.Minute, says("more"))) }, 1, 0, time.Minute},
		"the validation runs": {func(r *rig) {
			r.script(says("more"))
			r.loop.Rules.Validation = "sleep 60"
		}, 1, 0, time.Minute},
		"it waits for the provider": {func(r *rig) {
			r.script(exits(1))
			r.gate.saw = limitedFor(time.Now(), 30*time.Minute)
		}, 0, 0, after + time.Second},
		"the breaker cools down": {func(r *rig) {
			r.script(exits(1))
			r.loop.Rules.MaxErrors, r.loop.Rules.CoolDown = 1, time.Hour
		}, 1, 1, after + time.Second},
	}
	asks := map[string]struct {
		ask    func(r *rig, pause chan struct{}, cancel func())
		status rundir.Status
		reason string
	}{
		"pause by channel": {func(_ *rig, pause chan struct{}, _ func()) { close(pause) }, rundir.Paused, "paused by the terminal"},
		"pause by request": {func(r *rig, _ chan struct{}, _ func()) { must(r.t, r.loop.Run.Ask(rundir.PauseRequest)) }, rundir.Paused, "paused by another process"},
		"stop by request":  {func(r *rig, _ chan struct{}, _ func()) { must(r.t, r.loop.Run.Ask(rundir.StopRequest)) }, rundir.Stopped, "stopped by another process"},
		"stop by context":  {func(_ *rig, _ chan struct{}, cancel func()) { cancel() }, rundir.Stopped, "stopped by a signal"},
		"pause, then stop": {func(_ *rig, pause chan struct{}, cancel func()) {
			close(pause)
			cancel()
		}, rundir.Stopped, "stopped by"},
		"both requests": {func(r *rig, _ chan struct{}, _ func()) {
			must(r.t, r.loop.Run.Ask(rundir.PauseRequest), r.loop.Run.Ask(rundir.StopRequest))
		}, rundir.Stopped, "stopped by another process"},
	}
	for where, phase := range phases {
		for how, ask := range asks {
			bubble(t, how+" while "+where, func(t *testing.T) {
				r := newRig(t, says("more"))
				phase.set(r)
				pause := make(chan struct{})
				r.loop.Pause = pause
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				time.AfterFunc(after, func() { ask.ask(r, pause, cancel) })
				began := time.Now()
				stop := r.execute(ctx)
				took, want, iterations := time.Since(began), phase.took, phase.paused
				if ask.status == rundir.Stopped {
					want, iterations = after, phase.stopped
				}
				if stop.Status != ask.status || len(stop.Reason) < len(ask.reason) || stop.Reason[:len(ask.reason)] != ask.reason {
					t.Errorf("ended %+v, want %s: %s", stop, ask.status, ask.reason)
				}
				if took < after || took > want+time.Second {
					t.Errorf("it took %v, want %v", took, want)
				}
				if got := r.loop.Run.Iterated(); got != iterations {
					t.Errorf("%d iterations are recorded, want %d", got, iterations)
				}
				if len(r.loop.Run.Requests()) != 0 {
					t.Error("a request is left")
				}
			})
		}
	}
}

// What was asked for before is not what the run is taken up for; and after a stop
// it goes on where it was.
func TestAfterAStop(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		r := newRig(t, says("more"), hangs, says(complete))
		time.AfterFunc(time.Minute, func() { must(t, r.loop.Run.Ask(rundir.StopRequest)) })
		r.expect(rundir.Stopped, "", 1)
		must(t, r.loop.Run.Ask(rundir.StopRequest)) // nobody is there to hear it
		r.resume()
		r.expect(rundir.Done, "", 2)
		if r.prompts[1] != "iteration 2" || r.prompts[2] != "iteration 2" {
			t.Errorf("prompts: %q", r.prompts)
		}
	})
}

// A run that is taken up when it is to end already does nothing.
func TestStoppedBeforeItBegan(t *testing.T) {
	r := newRig(t, says(complete))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if stop := r.execute(ctx); stop.Status != rundir.Stopped || r.calls != 0 {
		t.Errorf("ended %+v after %d attempts", stop, r.calls)
	}
}
