package task

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// List is a task file: the stories that make up the work.
type List struct {
	Project        string   `json:"project,omitzero"`
	Branch         string   `json:"branchName,omitzero"`
	Description    string   `json:"description,omitzero"`
	VerifyCommands []string `json:"verifyCommands,omitempty"`
	Stories        []Story  `json:"userStories"`
}

// Story is one piece of work that a single iteration can finish.
type Story struct {
	ID          string   `json:"id"`
	Title       string   `json:"title"`
	Description string   `json:"description,omitzero"`
	Acceptance  []string `json:"acceptanceCriteria"`
	Priority    int      `json:"priority,omitzero"` // 1 is first; 0, not given: last
	DependsOn   []string `json:"dependsOn,omitempty"`

	// What an agent may change.
	Passes         bool    `json:"passes"`
	Notes          string  `json:"notes,omitzero"`
	ReviewStatus   *string `json:"reviewStatus,omitzero"`
	ReviewCount    int     `json:"reviewCount,omitzero"`
	ReviewFeedback string  `json:"reviewFeedback,omitzero"`
}

// Done reports whether every story passes, as the file has it. It is the
// agent's word, to be checked by the validation.
func (l *List) Done() bool {
	passing, all := l.Count()
	return passing == all
}

// Count returns how many stories pass, and how many there are.
func (l *List) Count() (passing, all int) {
	for _, s := range l.Stories {
		if s.Passes {
			passing++
		}
	}
	return passing, len(l.Stories)
}

// Next returns the story to work on: of those that do not pass and whose
// dependencies all do, the one of the lowest priority number, and of equals the
// first in the file. As there are no cycles, there is one unless all is done.
func (l *List) Next() (Story, bool) {
	passes := l.passing()
	best := -1
	for i, s := range l.Stories {
		waits := slices.ContainsFunc(s.DependsOn, func(id string) bool { return !passes[id] })
		if !s.Passes && !waits && (best < 0 || before(s, l.Stories[best])) {
			best = i
		}
	}
	if best < 0 {
		return Story{}, false
	}
	return l.Stories[best], true
}

// passing tells by id which stories pass.
func (l *List) passing() map[string]bool {
	passes := make(map[string]bool, len(l.Stories))
	for _, s := range l.Stories {
		passes[s.ID] = s.Passes
	}
	return passes
}

// before reports whether a's priority is strictly higher than b's.
func before(a, b Story) bool {
	if a.Priority == 0 || b.Priority == 0 {
		return a.Priority != 0 && b.Priority == 0
	}
	return a.Priority < b.Priority
}

// Story finds a story by its id.
func (l *List) Story(id string) (Story, bool) {
	i := slices.IndexFunc(l.Stories, func(s Story) bool { return s.ID == id })
	if i < 0 {
		return Story{}, false
	}
	return l.Stories[i], true
}

// Encode writes the list in the form that Parse reads.
func (l *List) Encode() ([]byte, error) {
	data, err := json.Marshal(l, jsontext.WithIndent("  "))
	if err != nil {
		return nil, fmt.Errorf("encoding the task list: %w", err)
	}
	return append(data, '\n'), nil
}

// Text is the story as it stands in a prompt.
func (s Story) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", s.ID, s.Title)
	if s.Description != "" {
		fmt.Fprintf(&b, "\n%s\n", s.Description)
	}
	if len(s.Acceptance) > 0 {
		b.WriteString("\nIt is done when:\n")
	}
	for _, criterion := range s.Acceptance {
		fmt.Fprintf(&b, "- %s\n", strings.ReplaceAll(criterion, "\n", "\n  "))
	}
	if s.Notes != "" {
		fmt.Fprintf(&b, "\nNotes so far:\n%s\n", s.Notes)
	}
	if s.ReviewFeedback != "" {
		fmt.Fprintf(&b, "\nA review asks for:\n%s\n", s.ReviewFeedback)
	}
	return b.String()
}
