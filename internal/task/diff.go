package task

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Change is one difference between two versions of a task file.
type Change struct {
	Story string `json:"story,omitzero"` // empty: of the file as a whole
	Field string `json:"field"`          // as the file spells it; "story" for a whole one
	From  string `json:"from"`
	To    string `json:"to"`
}

// String says what happened, in one short line.
func (c Change) String() string {
	what := c.Field
	if c.Story != "" {
		what = c.Story + ": " + c.Field
	}
	return fmt.Sprintf("%s: %s -> %s", what, brief(c.From), brief(c.To))
}

func brief(s string) string {
	const shown = 60
	if len(s) > shown {
		s = strings.ToValidUTF8(s[:shown], "") + "..."
	}
	return strconv.Quote(s)
}

// Diff compares a task file with the version that the run started with. Changes
// are those an agent may make: passes, notes and the review fields. Violations
// are all others: a story that is gone or new, another text, criterion,
// priority or dependency, or a story that passes before one it depends on. The
// order of stories does not matter.
func Diff(base, now *List) (changes, violations []Change) {
	violations = append(violations, fileChanges(base, now)...)
	passing := now.passing()
	for _, was := range base.Stories {
		is, ok := now.Story(was.ID)
		if !ok {
			violations = append(violations, Change{was.ID, "story", was.Title, ""})
			continue
		}
		violations = append(violations, fixedChanges(was, is)...)
		changes = append(changes, freeChanges(was, is)...)
		if is.Passes && !was.Passes {
			violations = append(violations, early(is, passing)...)
		}
	}
	for _, is := range now.Stories {
		if _, ok := base.Story(is.ID); !ok {
			violations = append(violations, Change{is.ID, "story", "", is.Title})
		}
	}
	return changes, violations
}

// changed makes a Change for each field of pairs whose two texts differ.
func changed(story string, pairs ...[3]string) []Change {
	var found []Change
	for _, p := range pairs {
		if p[1] != p[2] {
			found = append(found, Change{story, p[0], p[1], p[2]})
		}
	}
	return found
}

func fileChanges(was, is *List) []Change {
	return changed("",
		[3]string{"project", was.Project, is.Project},
		[3]string{"branchName", was.Branch, is.Branch},
		[3]string{"description", was.Description, is.Description},
		[3]string{"verifyCommands", joined(was.VerifyCommands), joined(is.VerifyCommands)},
	)
}

func fixedChanges(was, is Story) []Change {
	return changed(was.ID,
		[3]string{"title", was.Title, is.Title},
		[3]string{"description", was.Description, is.Description},
		[3]string{"acceptanceCriteria", joined(was.Acceptance), joined(is.Acceptance)},
		[3]string{"priority", strconv.Itoa(was.Priority), strconv.Itoa(is.Priority)},
		[3]string{"dependsOn", joined(was.DependsOn), joined(is.DependsOn)},
	)
}

func freeChanges(was, is Story) []Change {
	return changed(was.ID,
		[3]string{"passes", strconv.FormatBool(was.Passes), strconv.FormatBool(is.Passes)},
		[3]string{"notes", was.Notes, is.Notes},
		[3]string{"reviewStatus", status(was.ReviewStatus), status(is.ReviewStatus)},
		[3]string{"reviewCount", strconv.Itoa(was.ReviewCount), strconv.Itoa(is.ReviewCount)},
		[3]string{"reviewFeedback", was.ReviewFeedback, is.ReviewFeedback},
	)
}

// early tells of a story that passes although one it depends on does not.
func early(s Story, passing map[string]bool) []Change {
	for _, id := range s.DependsOn {
		if !passing[id] {
			return []Change{{s.ID, "passes", "waits for " + id, "true"}}
		}
	}
	return nil
}

// joined is a list as one text that no other list has.
func joined(list []string) string {
	quoted := make([]string, len(list))
	for i, s := range list {
		quoted[i] = strconv.Quote(s)
	}
	return strings.Join(quoted, ", ")
}

func status(s *string) string {
	if s == nil {
		return "null"
	}
	return *s
}

// Merge is base with what an agent may change taken from now. Stories that now
// lacks stay as they were in base, its new ones are left out, and one that passes
// too early does not pass.
func Merge(base, now *List) *List {
	merged := *base
	merged.Stories = slices.Clone(base.Stories)
	for i := range merged.Stories {
		to := &merged.Stories[i]
		from, ok := now.Story(to.ID)
		if !ok {
			continue
		}
		to.Passes, to.Notes = from.Passes, from.Notes
		to.ReviewStatus, to.ReviewCount, to.ReviewFeedback = from.ReviewStatus, from.ReviewCount, from.ReviewFeedback
	}
	for merged.holdBack(base) {
	}
	return &merged
}

// holdBack takes back what newly passes too early, by the dependencies of the
// base, and reports whether there was such a story: others may depend on it.
func (l *List) holdBack(base *List) (again bool) {
	passing := l.passing()
	for i := range l.Stories {
		s := &l.Stories[i]
		if s.Passes && !base.Stories[i].Passes && len(early(*s, passing)) > 0 {
			s.Passes, again = false, true
		}
	}
	return again
}
