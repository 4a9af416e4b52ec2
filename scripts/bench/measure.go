package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"
)

// measure is one row of the table.
type measure struct {
	what   string
	show   func(float64) string // how a figure is written
	goal   string               // of the project's, see goals
	rounds int
	warmUp bool // a round that does not count goes before

	// sample is one figure of one contender, such as seconds. It is errNoSuchThing
	// where there is nothing to measure.
	sample func(c *contender) (float64, error)
}

// errNoSuchThing is a gap in the table that needs no explanation.
var errNoSuchThing = errors.New("there is no such thing")

// budget is after how long no new round of a measure begins.
const budget = 15 * time.Second

// results are the figures of each contender, one for each round; it has none for
// those that failed.
type results [][]float64

// measureAll lets all contenders take their turn in each round. One that fails is
// left out from then on, and notes why.
func measureAll(ctx context.Context, m measure, all []*contender) results {
	fmt.Fprintf(os.Stderr, "bench: %s\n", m.what)
	found := make(results, len(all))
	out := make([]bool, len(all))
	var began time.Time // of the first round that counts
	first := 0
	if m.warmUp {
		first = -1
	}
	for round := first; round < m.rounds && (round < 1 || time.Since(began) < budget) && ctx.Err() == nil; round++ {
		if round == 0 {
			began = time.Now()
		}
		for turn := range all {
			i := (turn + round + len(all)) % len(all) // nobody is always the first
			if out[i] || !all[i].runs() {
				continue
			}
			value, ok := m.take(all[i])
			if !ok {
				out[i], found[i] = true, nil
			} else if round >= 0 {
				found[i] = append(found[i], value)
			}
		}
	}
	return found
}

// take takes a sample. What goes wrong is noted.
func (m measure) take(c *contender) (value float64, ok bool) {
	value, err := m.sample(c)
	if err != nil && !errors.Is(err, errNoSuchThing) {
		c.failed(fmt.Errorf("%s: %w", m.what, err))
	}
	return value, err == nil
}

// base is the contender that the others are compared with: the host, or where it
// has no such thing the first that has. It is -1 if there is none.
func (r results) base() int {
	return slices.IndexFunc(r, func(values []float64) bool { return len(values) > 0 })
}

// ratio is how many times the base's figure a contender's is: the middle one of
// all rounds, since what disturbs a round disturbs both.
func (r results) ratio(i int) float64 {
	base := r[r.base()]
	ratios := make([]float64, min(len(base), len(r[i])))
	for round := range ratios {
		ratios[round] = r[i][round] / base[round]
	}
	return median(ratios)
}

// median is the middle of some figures, of which there is at least one.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

// timed makes a sample of how long work takes.
func timed(work func(c *contender) error) func(c *contender) (float64, error) {
	return func(c *contender) (float64, error) {
		began := time.Now()
		err := work(c)
		return time.Since(began).Seconds(), err
	}
}
