//go:build linux

package cli_test

import (
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/agent-loop/ralph/internal/gittrap"
)

// trapTally counts what was planted where, as the agents told.
type trapTally struct {
	labs         int // runs that got to their end
	bites, tried int // of a careless user

	mu      sync.Mutex
	planted map[string]map[string]bool // by workspace and place
}

var plantedLine = regexp.MustCompile(`(?:^|[^t] )planted ([a-z0-9-]+) (nested|given)`)

func (c *trapTally) count(work, said string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.labs++
	for line := range strings.Lines(said) {
		if m := plantedLine.FindStringSubmatch(line); m != nil {
			key := work + ", " + m[2]
			if c.planted[key] == nil {
				c.planted[key] = map[string]bool{}
			}
			c.planted[key][m[1]] = true
		}
	}
}

func (c *trapTally) addBites(bites, tried int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bites, c.tried = c.bites+bites, c.tried+tried
}

// judge makes sure that all traps were there, if all labs were.
func (c *trapTally) judge(t *testing.T, labs int) {
	t.Helper()
	if t.Failed() || c.labs < labs {
		t.Logf("%d of %d runs", c.labs, labs)
		return
	}
	for _, place := range []string{"clone, nested", "clone, given", "in-place, nested", "in-place, given", "worktree, nested", "worktree, given"} {
		var missing []string
		for _, trap := range gittrap.Traps() {
			if !c.planted[place][trap.Name] {
				missing = append(missing, trap.Name)
			}
		}
		t.Logf("%-18s %3d of %d traps", place, len(c.planted[place]), len(gittrap.Traps()))
		if strings.HasPrefix(place, "worktree") {
			continue // some batches only
		}
		if strings.HasSuffix(place, "given") {
			t.Logf("%-18s without %v", place, missing)
		} else if len(missing) > 0 {
			t.Errorf("%s: not planted: %v", place, missing)
		}
	}
	if t.Logf("%d of %d traps bite a careless user where the agents left them", c.bites, c.tried); c.bites < c.tried*9/10 {
		t.Error("too few of them for this to prove anything")
	}
	for _, name := range named {
		if !c.planted["clone, nested"][name] {
			t.Errorf("no trap is called %s", name)
		}
	}
}
