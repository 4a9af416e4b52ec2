package notify

import (
	"strconv"
	"strings"
)

// title says in a few words what happened. It begins with "ralph" whatever the
// message holds, so that no program takes it for an option.
func (m Message) title() string {
	return strings.Join(filled("ralph", m.Status, m.Project), ": ")
}

// details say the rest: first what ralph knows, then what the agent says. In this
// order, what the agent says can neither push the command to go on out of sight
// nor stand before it as another one.
func (m Message) details() []string {
	return filled(
		m.facts(),
		labelled("next: ", m.Next),
		labelled("reason: ", m.Reason),
		labelled("question: ", m.Question),
	)
}

func (m Message) facts() string {
	iteration := ""
	if m.Iteration > 0 {
		iteration = "iteration " + strconv.Itoa(m.Iteration)
	}
	return strings.Join(filled(labelled("run ", m.Run), m.Agent, iteration, labelled("$", m.CostUSD)), ", ")
}

// labelled puts a label before a text, if there is one.
func labelled(label, text string) string {
	if text == "" {
		return ""
	}
	return label + text
}

// filled leaves out what is empty.
func filled(texts ...string) []string {
	var kept []string
	for _, text := range texts {
		if text != "" {
			kept = append(kept, text)
		}
	}
	return kept
}
