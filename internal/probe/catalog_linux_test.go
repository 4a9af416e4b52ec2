package probe

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestCatalog(t *testing.T) {
	order := []Kind{Files, Git, Processes, Privileges, Network, Kernel, Resources}
	name := regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	seen := map[string]bool{}
	counts := map[Kind]int{}
	last := 0
	for _, p := range All() {
		if !name.MatchString(p.Name) || seen[p.Name] {
			t.Errorf("%q is not a name of its own", p.Name)
		}
		if p.Tries == "" || strings.HasSuffix(p.Tries, ".") || p.Run == nil {
			t.Errorf("%s: not described or not written: %q", p.Name, p.Tries)
		}
		at := slices.Index(order, p.Kind)
		if at < last {
			t.Errorf("%s: kind %q is out of order", p.Name, p.Kind)
		}
		last = max(last, at)
		seen[p.Name] = true
		counts[p.Kind]++
	}
	for _, kind := range order {
		if counts[kind] == 0 {
			t.Errorf("no probe of kind %q", kind)
		}
	}
	for _, s := range steps() {
		if seen[s.Name] {
			t.Errorf("the step %s has the name of a probe", s.Name)
		}
	}
	t.Logf("%d probes: %v", len(All()), counts)
}
