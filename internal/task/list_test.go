package task

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const prd = `{
  "project": "shop",
  "branchName": "ralph/shop",
  "description": "A shop",
  "userStories": [
    {"id": "US-001", "title": "Basket", "description": "d", "acceptanceCriteria": ["adds"], "priority": 2, "passes": false, "notes": ""},
    {"id": "US-002", "title": "Model", "acceptanceCriteria": ["stores"], "priority": 1, "passes": true},
    {"id": "US-003", "title": "Pay", "acceptanceCriteria": ["pays"], "priority": 1, "dependsOn": ["US-001"], "passes": false}
  ]
}`

const tasksJSON = `{
  "project": "shop", "description": "A shop", "verifyCommands": ["npm test"],
  "userStories": [
    {"id": "US-001", "title": "Basket", "description": "d", "acceptanceCriteria": ["adds"], "priority": 1, "passes": false,
     "reviewStatus": null, "reviewCount": 0, "reviewFeedback": "", "notes": "", "dependsOn": []},
    {"id": "US-002", "title": "Pay", "description": "", "acceptanceCriteria": [], "priority": 2, "passes": false,
     "reviewStatus": "needs_review", "reviewCount": 1, "reviewFeedback": "no", "notes": "n", "dependsOn": ["US-001"]}
  ]
}`

func parse(t testing.TB, text string) *List {
	t.Helper()
	l, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestBothFormsAreRead(t *testing.T) {
	for _, text := range []string{prd, tasksJSON} {
		l := parse(t, text)
		if l.Project != "shop" || l.Stories[0].Acceptance[0] != "adds" {
			t.Errorf("Parse = %+v", l)
		}
		data, err := l.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if _, violations := Diff(l, parse(t, string(data))); len(violations) > 0 {
			t.Errorf("what Encode wrote differs: %v", violations)
		}
	}
}

// stories makes a file of stories written as "id priority passes? deps...".
func stories(lines ...string) string {
	var list []map[string]any
	for _, line := range lines {
		f := strings.Fields(line)
		var priority int
		fmt.Sscan(f[1], &priority)
		s := map[string]any{"id": f[0], "title": "t " + f[0], "acceptanceCriteria": []string{"works"}, "passes": f[2] == "yes", "dependsOn": f[3:]}
		if priority != 0 {
			s["priority"] = priority
		}
		list = append(list, s)
	}
	data, _ := json.Marshal(map[string]any{"userStories": list})
	return string(data)
}

func TestNext(t *testing.T) {
	for _, tt := range []struct {
		name  string
		lines []string
		want  string
	}{
		{"lowest number first", []string{"A 2 no", "B 1 no"}, "B"},
		{"file order among equals", []string{"A 1 no", "B 1 no"}, "A"},
		{"no priority is last", []string{"A 0 no", "B 9 no"}, "B"},
		{"dependencies before priority", []string{"A 1 no B", "B 5 no"}, "B"},
		{"a dependency that passes", []string{"A 1 no B", "B 5 yes", "C 2 no"}, "A"},
		{"what passes is left out", []string{"A 1 yes", "B 2 no"}, "B"},
		{"a chain", []string{"A 1 no B", "B 1 no C", "C 1 no"}, "C"},
		{"all done", []string{"A 1 yes", "B 2 yes"}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := parse(t, stories(tt.lines...))
			got, ok := l.Next()
			if got.ID != tt.want || ok != (tt.want != "") || l.Done() == ok {
				t.Errorf("Next = %q, %v; Done = %v; want %q", got.ID, ok, l.Done(), tt.want)
			}
		})
	}
}

func TestMistakesAreNamed(t *testing.T) {
	story := func(fields string) string {
		return `{"userStories":[{"id":"A","title":"t","acceptanceCriteria":["c"],"passes":false` + fields + `}]}`
	}
	for _, tt := range []struct{ name, text, want string }{
		{"no JSON", "# tasks", "line 1: invalid character"},
		{"cut off", "{\n\"userStories\": [", "line 2: "},
		{"two documents", stories("A 1 no") + "{}", "line 1: "},
		{"unknown name", "{\n\"userstories\": []}", `line 2: unknown name "userstories"; did you mean "userStories"?`},
		{"unknown name in a story", story(`,"pases":true`), `unknown name "pases"; did you mean "passes"?`},
		{"another case", story(`,"Passes":true`), `unknown name "Passes"; did you mean "passes"?`},
		{"a name twice", story(`,"passes":true`), "duplicate"},
		{"wrong type", story(`,"priority":"high"`), "/userStories/0/priority cannot be a string"},
		{"not whole", story(`,"priority":1.5`), "/userStories/0/priority"},
		{"negative", story(`,"priority":-1`), "story A: priority -1"},
		{"no stories", `{"project":"x","userStories":[]}`, "userStories is missing or empty"},
		{"null", `null`, "userStories is missing or empty"},
		{"bad id", stories("../x 1 no"), `userStories[0]: id "../x" is not`},
		{"no title", strings.Replace(story(""), `"t"`, `" "`, 1), "story A: title is empty"},
		{"title of two lines", strings.Replace(story(""), `"t"`, `"a\nb"`, 1), "more than one line"},
		{"escape sequence", strings.Replace(story(""), `"t"`, `"\u001b[2J"`, 1), "control or an invisible"},
		{"broken UTF-8", strings.Replace(story(""), `"t"`, "\"\xff\"", 1), "invalid UTF-8"},
		{"empty criterion", strings.Replace(story(""), `"c"`, `""`, 1), "acceptanceCriteria[0] is empty"},
		{"long text", story(`,"notes":"` + strings.Repeat("x", maxText+1) + `"`), "notes is longer than"},
		{"review word", story(`,"reviewStatus":"fine"`), `reviewStatus "fine" is not`},
		{"same id", stories("A 1 no", "B 1 no", "A 2 no"), "story A: userStories[0] and userStories[2] have the same id"},
		{"missing dependency", stories("A 1 no B"), `story A: depends on "B", which does not exist`},
		{"itself", stories("A 1 no A"), "circle: A -> A"},
		{"circle", stories("X 1 no A", "A 1 no B", "B 1 no C", "C 1 no A"), "circle: A -> B -> C -> A"},
		{"too many", stories(many(maxStories + 1)...), "at most 1000"},
		{"too large", strings.Repeat(" ", maxList+1), "larger than"},
		{"deep", strings.Repeat("[", 100_000), "line 1: "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse([]byte(tt.text))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Parse: %v; want %q", err, tt.want)
			}
			if err != nil && len(err.Error()) > 4096 {
				t.Errorf("the error has %d bytes", len(err.Error()))
			}
		})
	}
}

func many(n int) []string {
	var lines []string
	for i := range n {
		lines = append(lines, fmt.Sprintf("S%d 1 no", i))
	}
	return lines
}

func TestALongChainIsFollowed(t *testing.T) {
	lines := []string{"S0 1 no"}
	for i := 1; i < maxStories; i++ {
		lines = append(lines, fmt.Sprintf("S%d 1 no S%d", i, i-1))
	}
	if got, _ := parse(t, stories(lines...)).Next(); got.ID != "S0" {
		t.Errorf("Next = %s", got.ID)
	}
}

func TestLoadTakesAByteOrderMark(t *testing.T) {
	dir, root := workspace(t)
	if err := os.WriteFile(filepath.Join(dir, "prd.json"), []byte("\uFEFF"+prd), 0o644); err != nil {
		t.Fatal(err)
	}
	if l, err := Load(root, "prd.json"); err != nil || len(l.Stories) != 3 {
		t.Errorf("Load = %+v, %v", l, err)
	}
}

func TestLoadIsBounded(t *testing.T) {
	dir, root := workspace(t)
	f, err := os.Create(filepath.Join(dir, "prd.json"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(1 << 36); err != nil {
		t.Skip("no sparse files here:", err)
	}
	if _, err := Load(root, "prd.json"); err == nil || !strings.Contains(err.Error(), "larger than 1024 KiB") {
		t.Errorf("Load of 64 GiB: %v", err)
	}
}

func TestStoryText(t *testing.T) {
	got := Story{ID: "A", Title: "Pay", Description: "By card.", Acceptance: []string{"one", "two\nlines"}, Notes: "half", ReviewFeedback: "more tests"}.Text()
	want := "A: Pay\n\nBy card.\n\nIt is done when:\n- one\n- two\n  lines\n\nNotes so far:\nhalf\n\nA review asks for:\nmore tests\n"
	if got != want {
		t.Errorf("Text = %q", got)
	}
}

func TestStarterListIsValid(t *testing.T) {
	data, err := StarterList("shop").Encode()
	if err != nil {
		t.Fatal(err)
	}
	l := parse(t, string(data))
	if s, ok := l.Next(); !ok || s.ID != "US-001" || l.Project != "shop" {
		t.Errorf("Next = %+v, %v", s, ok)
	}
	if !strings.Contains(string(data), `"passes": false`) {
		t.Errorf("a user cannot see what to write: %s", data)
	}
}
