package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// times are measurements by what was measured. Those that are compared are taken in
// turns, so that a busy minute of the machine falls on all of them.
type times map[string][]time.Duration

// take measures one piece of work.
func (t times) take(what string, work func() error) error {
	began := time.Now()
	if err := work(); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	t[what] = append(t[what], time.Since(began))
	return nil
}

// best is the one that other work disturbed the least.
func (t times) best(what string) time.Duration { return slices.Min(t[what]) }

// ofBest is what a part took in the round in which the whole was best.
func (t times) ofBest(whole, part string) time.Duration {
	return t[part][slices.Index(t[whole], t.best(whole))]
}

func (t times) middle(what string) time.Duration {
	sorted := slices.Sorted(slices.Values(t[what]))
	return sorted[len(sorted)/2]
}

func show(d time.Duration) string {
	if d < time.Second {
		return fmt.Sprintf("%.0f ms", float64(d)/float64(time.Millisecond))
	}
	return fmt.Sprintf("%.2f s", d.Seconds())
}

func ratio(a, b time.Duration) string {
	return fmt.Sprintf("%.2f", float64(a)/float64(b))
}

// heading begins a table.
func heading(cells ...string) {
	fmt.Println()
	row(cells...)
	fmt.Println("|" + strings.Repeat("---|", len(cells)))
}

func row(cells ...string) { fmt.Println("| " + strings.Join(cells, " | ") + " |") }
