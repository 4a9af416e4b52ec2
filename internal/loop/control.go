package loop

import (
	"context"
	"time"

	"github.com/agent-loop/ralph/internal/rundir"
)

// requestInterval is how often the loop looks for what other processes ask.
const requestInterval = 200 * time.Millisecond

// listen waits for a person's word, from this process or another one, until ctx
// ends. The channel is closed when it has.
func (r *runner) listen(ctx context.Context) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		ticker := time.NewTicker(requestInterval)
		defer ticker.Stop()
		defer r.Run.ClearRequests()
		pause, heard := r.Pause, map[rundir.Request]bool{}
		for {
			select {
			case <-ctx.Done():
				return
			case <-pause:
				pause = nil
				r.asked(rundir.PauseRequest, "the terminal")
			case <-ticker.C:
				for _, request := range r.Run.Requests() {
					if !heard[request] { // to clear it now could clear another one with it
						heard[request] = true
						r.asked(request, "another process")
					}
				}
			}
		}
	}()
	return done
}

// asked takes a request. A pause is obeyed between iterations; to stop ends
// everything now.
func (r *runner) asked(request rundir.Request, by string) {
	r.note(rundir.EventRequest, 0, rundir.Asked{Request: request, By: by})
	r.mu.Lock()
	r.pausing, r.by = r.pausing || request == rundir.PauseRequest, by
	r.mu.Unlock()
	if request == rundir.StopRequest {
		r.cancel(errStopped)
	}
}

func (r *runner) paused() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.pausing
}

func (r *runner) askedBy() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.by == "" {
		return "a signal"
	}
	return r.by
}
