package main

import (
	"fmt"
	"strings"

	"github.com/agent-loop/ralph/internal/sandbox/bubblewrap"
)

// table is printed as it is measured.
type table struct {
	columns []*contender
	reached []string // what there is to say about goals
}

func newTable(columns []*contender) *table { return &table{columns: columns} }

func (t *table) head() {
	var names []string
	for _, c := range t.columns {
		names = append(names, strings.ReplaceAll(c.name, " ", ", "))
	}
	fmt.Printf("| what | %s | rounds |\n", strings.Join(names, " | "))
	fmt.Printf("|---%s|---|\n", strings.Repeat("|---", len(names)))
}

// row is one measure. The base's figure stands alone, the others with their ratio
// to it.
func (t *table) row(m measure, r results) {
	cells := make([]string, len(t.columns))
	rounds := 0
	for i, values := range r {
		cells[i] = "–"
		rounds = max(rounds, len(values))
		switch {
		case len(values) == 0:
		case i == r.base():
			cells[i] = m.show(median(values))
		default:
			cells[i] = fmt.Sprintf("%s, %s", m.show(median(values)), times(r.ratio(i)))
		}
	}
	fmt.Printf("| %s | %s | %d |\n", m.what, strings.Join(cells, " | "), rounds)
	t.judge(m, r)
}

func times(ratio float64) string {
	if ratio < 10 {
		return fmt.Sprintf("%.2fx", ratio)
	}
	return fmt.Sprintf("%.0fx", ratio)
}

// reasons says why there are gaps.
func (t *table) reasons() {
	cells := make([]string, len(t.columns))
	any := false
	for i, c := range t.columns {
		cells[i] = strings.Join(c.errs, "; ")
		any = any || cells[i] != ""
	}
	if any {
		fmt.Printf("| why not | %s | |\n", strings.Join(cells, " | "))
	}
}

const (
	goalStart = "start" // a new sandbox in less than startGoal seconds
	goalFiles = "files" // at most filesGoal times the host

	startGoal, filesGoal = 0.040, 1.2
)

// judge notes whether bubblewrap, the engine for speed, is as fast as it is meant
// to be.
func (t *table) judge(m measure, r results) {
	for i, c := range t.columns {
		if c.name != bubblewrap.Name || m.goal == "" || len(r[i]) == 0 {
			continue
		}
		var met bool
		var words string
		if m.goal == goalStart {
			value := median(r[i])
			met, words = value < startGoal, fmt.Sprintf("%s, less than %s", showTime(value), showTime(startGoal))
		} else {
			met, words = r.ratio(i) <= filesGoal, fmt.Sprintf("%s the host, at most %s", times(r.ratio(i)), times(filesGoal))
		}
		verdict := "met"
		if !met {
			verdict = "missed"
		}
		t.reached = append(t.reached, fmt.Sprintf("- goal %s: %s, %s: %s", verdict, c.name, m.what, words))
	}
}

func (t *table) goals() {
	fmt.Println()
	for _, line := range t.reached {
		fmt.Println(line)
	}
}

func showTime(seconds float64) string {
	switch {
	case seconds < 0.1:
		return fmt.Sprintf("%.1f ms", seconds*1e3)
	case seconds < 1:
		return fmt.Sprintf("%.0f ms", seconds*1e3)
	default:
		return fmt.Sprintf("%.1f s", seconds)
	}
}

func showMemory(bytes float64) string { return fmt.Sprintf("%.0f MiB", bytes/(1<<20)) }
