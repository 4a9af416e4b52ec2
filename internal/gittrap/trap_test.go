//go:build unix

package gittrap_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/agent-loop/ralph/internal/gittrap"
)

// Each trap bites who uses plain git, or plain tools, in the tree.
func TestTrapsAreLive(t *testing.T) {
	ground := newGround(t)
	for _, trap := range gittrap.Traps() {
		t.Run(trap.Name, func(t *testing.T) {
			t.Parallel()
			need(t, trap.Needs...)
			p := ground.place(t)
			p.must(t, p.agent(), trap.Plant)
			if exists(trap.Canary(p.canary)) {
				t.Fatal("planting made the canary, so that tripping would prove nothing")
			}
			environment := p.host()
			if !trap.Direct() {
				environment = p.host("CANARY=" + p.canary)
			}
			out, err := p.run(t, environment, trap.Trip)
			if !exists(trap.Canary(p.canary)) {
				t.Errorf("no canary (%v)\n%s\nplanted by:\n%s\ntripped by:\n%s", err, out, trap.Plant, trap.Trip)
			}
		})
	}
}

// In a sandbox the folder of the canary does not exist; planting works all the same
// and touches nothing of it, nor does it where it exists.
func TestPlantsAreQuiet(t *testing.T) {
	ground := newGround(t)
	for _, trap := range gittrap.Traps() {
		t.Run(trap.Name, func(t *testing.T) {
			t.Parallel()
			p := ground.place(t)
			if err := os.Remove(p.canary); err != nil {
				t.Fatal(err)
			}
			p.must(t, p.agent(), trap.Plant)
			if exists(p.canary) {
				t.Error("planting made the folder of the canary")
			}
		})
	}
}

// The same user's work in a tree without a trap makes no canary: it is the trap
// that makes it.
func TestTripsAreHonest(t *testing.T) {
	ground := newGround(t)
	for _, trap := range gittrap.Traps() {
		t.Run(trap.Name, func(t *testing.T) {
			t.Parallel()
			need(t, trap.Needs...)
			p := ground.place(t)
			p.run(t, p.host("CANARY="+p.canary), trap.Trip)
			if exists(trap.Canary(p.canary)) {
				t.Error("tripping alone makes the canary")
			}
		})
	}
}

func TestTrapsAreDescribed(t *testing.T) {
	names, kinds, direct := map[string]bool{}, map[gittrap.Kind]int{}, 0
	kebab := regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	for _, trap := range gittrap.Traps() {
		if !kebab.MatchString(trap.Name) || names[trap.Name] {
			t.Errorf("%q is not a name, or not the only one", trap.Name)
		}
		names[trap.Name] = true
		kinds[trap.Kind]++
		if trap.Direct() {
			direct++
		}
		if trap.About == "" || strings.ContainsAny(trap.About, "\n") {
			t.Errorf("%s: about must be one line", trap.Name)
		}
		if strings.Contains(trap.Plant+trap.Trip, "{name}") || strings.Contains(trap.Plant+trap.Trip, "{touch}") {
			t.Errorf("%s: an abbreviation was left in", trap.Name)
		}
		if trap.Kind == gittrap.Executes && !trap.Direct() {
			t.Errorf("%s: only the planted code may know of the canary", trap.Name)
		}
	}
	t.Logf("%d traps, %d of them direct: %v", len(names), direct, kinds)
	if len(names) < 30 {
		t.Errorf("only %d traps", len(names))
	}
}
