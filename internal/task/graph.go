package task

import (
	"slices"
	"strings"
)

// checkGraph finds ids that occur twice, dependencies that do not exist, and
// cycles. Cycles are looked for only in a graph that is whole.
func (l *List) checkGraph(p *problems) {
	index := make(map[string]int, len(l.Stories))
	for i, s := range l.Stories {
		if first, taken := index[s.ID]; taken {
			p.add("story %s: userStories[%d] and userStories[%d] have the same id", s.ID, first, i)
			continue
		}
		index[s.ID] = i
	}
	for _, s := range l.Stories {
		for _, id := range s.DependsOn {
			if _, ok := index[id]; !ok {
				p.add("story %s: depends on %.64q, which does not exist", s.ID, id)
			}
		}
	}
	if len(*p) > 0 {
		return
	}
	if cycle := l.cycle(index); cycle != nil {
		p.add("stories depend on each other in a circle: %s", strings.Join(cycle, " -> "))
	}
}

// cycle returns one circle of dependencies, its first id again at its end.
func (l *List) cycle(index map[string]int) []string {
	done := make([]bool, len(l.Stories))
	var path []string
	var visit func(i int) []string
	visit = func(i int) []string {
		id := l.Stories[i].ID
		if at := slices.Index(path, id); at >= 0 {
			return append(slices.Clone(path[at:]), id)
		}
		if done[i] {
			return nil
		}
		path = append(path, id)
		for _, next := range l.Stories[i].DependsOn {
			if found := visit(index[next]); found != nil {
				return found
			}
		}
		path, done[i] = path[:len(path)-1], true
		return nil
	}
	for i := range l.Stories {
		if found := visit(i); found != nil {
			return found
		}
	}
	return nil
}
