package secret

// automaton finds many patterns in one pass over a text, in time that grows with
// the text alone (Aho and Corasick, 1975). It is built once and then read only.
type automaton struct {
	nodes []node
	first [256]int32 // the children of the root, as a table: most steps start there
}

// node stands for a prefix of a pattern. Children are a linked list: apart from
// the root, hardly any node has more than one. Node 0 is the root, and no node's
// child, so that 0 also says "none".
type node struct {
	letter         byte
	depth          int32 // the length of the prefix
	child, sibling int32
	fail           int32 // the longest proper suffix that is a node
	longest        int32 // the length of the longest pattern that ends here, or 0
	owner          int32 // whose pattern that is
}

// span is a stretch of text, and whose pattern was found there.
type span struct{ start, end, owner int }

// compile takes the patterns of each owner.
func compile(patterns [][]string) *automaton {
	most := 1
	for _, list := range patterns {
		for _, pattern := range list {
			most += len(pattern)
		}
	}
	a := &automaton{nodes: make([]node, 1, most)}
	for owner, list := range patterns {
		for _, pattern := range list {
			a.insert(pattern, int32(owner))
		}
	}
	a.link()
	return a
}

func (a *automaton) insert(pattern string, owner int32) {
	at := int32(0)
	for i := range len(pattern) {
		next := a.child(at, pattern[i])
		if next == 0 {
			next = a.grow(at, pattern[i])
		}
		at = next
	}
	if at != 0 && a.nodes[at].longest == 0 {
		a.nodes[at].longest, a.nodes[at].owner = int32(len(pattern)), owner
	}
}

func (a *automaton) grow(parent int32, letter byte) int32 {
	next := int32(len(a.nodes))
	a.nodes = append(a.nodes, node{letter: letter, depth: a.nodes[parent].depth + 1, sibling: a.nodes[parent].child})
	a.nodes[parent].child = next
	if parent == 0 {
		a.first[letter] = next
	}
	return next
}

func (a *automaton) child(parent int32, letter byte) int32 {
	if parent == 0 {
		return a.first[letter]
	}
	for c := a.nodes[parent].child; c != 0; c = a.nodes[c].sibling {
		if a.nodes[c].letter == letter {
			return c
		}
	}
	return 0
}

// link sets where each node goes on when no child fits, nearest to the root
// first, and tells it of the patterns that end there within another.
func (a *automaton) link() {
	queue := []int32{0}
	for len(queue) > 0 {
		parent := queue[0]
		queue = queue[1:]
		for c := a.nodes[parent].child; c != 0; c = a.nodes[c].sibling {
			queue = append(queue, c)
			n := &a.nodes[c]
			if parent != 0 {
				n.fail = a.step(a.nodes[parent].fail, n.letter)
			}
			if suffix := a.nodes[n.fail]; n.longest == 0 {
				n.longest, n.owner = suffix.longest, suffix.owner
			}
		}
	}
}

func (a *automaton) step(at int32, letter byte) int32 {
	for {
		if next := a.child(at, letter); next != 0 || at == 0 {
			return next
		}
		at = a.nodes[at].fail
	}
}

// advance goes on from a node through text, as far as the end of the next pattern
// or of the text. It returns the node it came to, whose prefix is the longest that
// the text so far ends with, and how many bytes it took.
func (a *automaton) advance(at int32, text []byte) (to int32, taken int) {
	for i := 0; i < len(text); i++ {
		if at == 0 { // most bytes begin nothing
			for i < len(text) && a.first[text[i]] == 0 {
				i++
			}
			if i == len(text) {
				break
			}
		}
		if at = a.step(at, text[i]); a.nodes[at].longest != 0 {
			return at, i + 1
		}
	}
	return at, len(text)
}

// ends tells whether a pattern ends at a node.
func (a *automaton) ends(at int32) bool { return a.nodes[at].longest != 0 }

// find returns where patterns lie in text, in order. Those that overlap make one
// span, under the name of the one that began first.
func (a *automaton) find(text []byte) []span {
	var found []span
	at, taken := int32(0), 0
	for end := 0; end < len(text); {
		at, taken = a.advance(at, text[end:])
		end += taken
		if !a.ends(at) {
			break
		}
		n := a.nodes[at]
		next := span{start: end - int(n.longest), end: end, owner: int(n.owner)}
		for len(found) > 0 && found[len(found)-1].end > next.start {
			if last := found[len(found)-1]; last.start < next.start {
				next.start, next.owner = last.start, last.owner
			}
			found = found[:len(found)-1]
		}
		found = append(found, next)
	}
	return found
}
