package stream

import (
	"context"
	"iter"

	"github.com/agent-loop/ralph/internal/rundir"
)

// follow returns events from number from on until nobody writes the run any more.
// When ctx ends, it returns what is in the record by then and no more.
func follow(ctx context.Context, r *rundir.Reader, from int64) iter.Seq2[rundir.Event, error] {
	return func(yield func(rundir.Event, error) bool) {
		next := max(from, 1)
		for e, err := range r.Follow(ctx, from) {
			if !yield(e, err) || err != nil {
				return
			}
			next = e.Seq + 1
		}
		if ctx.Err() == nil {
			return
		}
		for e, err := range r.Events(next) { // that came while Follow was asleep
			if !yield(e, err) {
				return
			}
		}
	}
}
