package task

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func texts(changes []Change) string {
	var list []string
	for _, c := range changes {
		list = append(list, c.String())
	}
	return strings.Join(list, "\n")
}

func TestDiff(t *testing.T) {
	edit := func(pairs ...string) string { return strings.NewReplacer(pairs...).Replace(prd) }
	for _, tt := range []struct {
		name, now           string
		changes, violations string
	}{
		{"nothing", prd, "", ""},
		{"finished", edit(`"priority": 2, "passes": false`, `"priority": 2, "passes": true`), `US-001: passes: "false" -> "true"`, ""},
		{"found broken again", edit(`"passes": true`, `"passes": false`), `US-002: passes: "true" -> "false"`, ""},
		{"notes", edit(`"notes": ""`, `"notes": "half"`), `US-001: notes: "" -> "half"`, ""},
		{"review", edit(`"notes": ""`, `"reviewStatus": "approved", "reviewCount": 1`), "US-001: reviewStatus: \"null\" -> \"approved\"\nUS-001: reviewCount: \"0\" -> \"1\"", ""},
		{"easier criteria", edit(`["adds"]`, `[]`), "", `US-001: acceptanceCriteria: "\"adds\"" -> ""`},
		{"criteria run together", edit(`["adds"]`, `["adds\", \"x"]`), "", `US-001: acceptanceCriteria: "\"adds\"" -> "\"adds\\\", \\\"x\""`},
		{"other title", edit("Basket", "Nothing"), "", `US-001: title: "Basket" -> "Nothing"`},
		{"other priority", edit(`"priority": 2`, `"priority": 3`), "", `US-001: priority: "2" -> "3"`},
		{"dependency dropped", edit(`"dependsOn": ["US-001"], `, ""), "", `US-003: dependsOn: "\"US-001\"" -> ""`},
		{"passes too early", edit(`"dependsOn": ["US-001"], "passes": false`, `"dependsOn": ["US-001"], "passes": true`), `US-003: passes: "false" -> "true"`, `US-003: passes: "waits for US-001" -> "true"`},
		{"renamed", edit("US-002", "US-009"), "", "US-002: story: \"Model\" -> \"\"\nUS-009: story: \"\" -> \"Model\""},
		{"the file's own fields", edit("A shop", "A stall", "ralph/shop", "main"), "", "branchName: \"ralph/shop\" -> \"main\"\ndescription: \"A shop\" -> \"A stall\""},
		{"a command to run", edit(`"description": "A shop",`, `"description": "A shop", "verifyCommands": ["true"],`), "", `verifyCommands: "" -> "\"true\""`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			base, now := parse(t, prd), parse(t, tt.now)
			changes, violations := Diff(base, now)
			if texts(changes) != tt.changes || texts(violations) != tt.violations {
				t.Errorf("changes:\n%s\nviolations:\n%s", texts(changes), texts(violations))
			}
			if _, left := Diff(base, Merge(base, now)); len(left) > 0 {
				t.Errorf("Merge takes over violations: %s", texts(left))
			}
		})
	}
}

func TestMergeTakesBackWholeChains(t *testing.T) {
	base := parse(t, stories("A 1 no", "B 1 no A", "C 1 no B", "D 1 no"))
	now := parse(t, stories("A 1 no", "B 1 yes", "C 1 yes B", "D 1 yes"))
	merged := Merge(base, now)
	passing := fmt.Sprint(merged.passing())
	if passing != "map[A:false B:false C:false D:true]" {
		t.Errorf("passing = %s", passing)
	}
	if base.Stories[3].Passes {
		t.Error("Merge changed the base")
	}
}

func TestWatch(t *testing.T) {
	dir, root := workspace(t)
	file := filepath.Join(dir, "prd.json")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(stories("A 1 no", "B 2 no A"))
	w, err := NewWatch(root, "prd.json")
	if err != nil {
		t.Fatal(err)
	}
	next := func(want string) Update {
		t.Helper()
		u := w.Look()
		if s, _ := u.List.Next(); s.ID != want {
			t.Errorf("Next = %q, want %q (%+v)", s.ID, want, u)
		}
		return u
	}

	write(stories("A 1 yes", "B 2 no A"))
	if u := next("B"); len(u.Changes) != 1 || len(u.Violations) != 0 || u.Problem != nil {
		t.Errorf("after honest work: %+v", u)
	}
	if u := next("B"); len(u.Changes) != 0 {
		t.Errorf("the same file again: %+v", u)
	}
	write(stories("A 1 yes")) // B is gone: that is not done
	if u := next("B"); len(u.Violations) != 1 || u.List.Done() {
		t.Errorf("after a story was removed: %+v", u)
	}
	write("{")
	if u := next("B"); u.Problem == nil {
		t.Errorf("a broken file: %+v", u)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if u := next("B"); u.Problem == nil || u.Problem.Error() != "prd.json was removed" {
		t.Errorf("a removed file: %+v", u)
	}
	write(stories("A 1 yes", "B 2 yes A"))
	if u := next(""); !u.List.Done() || len(u.Violations) != 0 {
		t.Errorf("after all was mended: %+v", u)
	}
}
