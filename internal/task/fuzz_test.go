package task

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func FuzzParse(f *testing.F) {
	for _, seed := range []string{prd, tasksJSON, "{}", "null", "[[[[", stories("A 1 no B", "B 0 yes"), stories("A 1 no A"), `{"userStories":[{"id":"A","id":"B"}]}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := Parse(data)
		if err != nil {
			if len(err.Error()) > 64<<10 {
				t.Errorf("an error of %d bytes", len(err.Error()))
			}
			return
		}
		if _, ok := l.Next(); ok == l.Done() {
			t.Errorf("Next found a story: %v; Done: %v", ok, l.Done())
		}
		written, err := l.Encode()
		if err != nil {
			t.Fatal(err)
		}
		again := parse(t, string(written))
		if changes, violations := Diff(l, again); len(changes)+len(violations) > 0 {
			t.Errorf("after writing: %v %v", changes, violations)
		}
	})
}

// Whatever an agent makes of the file, the merged list asks for what the base
// asks for.
func FuzzMerge(f *testing.F) {
	f.Add([]byte(prd))
	f.Add([]byte(stories("US-001 1 yes", "US-003 1 yes")))
	f.Add([]byte(stories("US-003 1 yes", "X 1 no", "US-002 9 no")))
	f.Fuzz(func(t *testing.T, data []byte) {
		now, err := Parse(data)
		if err != nil {
			return
		}
		base := parse(t, prd)
		merged := Merge(base, now)
		if _, violations := Diff(base, merged); len(violations) > 0 {
			t.Errorf("violations were taken over: %v", violations)
		}
		if err := merged.check(); err != nil {
			t.Errorf("the merged list is not valid: %v", err)
		}
	})
}

func FuzzParsePrompt(f *testing.F) {
	for _, seed := range []string{StarterPrompt(), "{{task}}", `\{{task}}`, "{{{task}}}", "{{\n}}", "{{ }}", "}}{{", `\\{{task}}`} {
		f.Add(seed, "{{task}}\xff")
	}
	f.Fuzz(func(t *testing.T, text, value string) {
		p, err := ParsePrompt(text)
		if err != nil {
			return
		}
		got, err := p.Render(Values{Task: value, LastFailure: value, Progress: value})
		if err == nil && (!utf8.ValidString(got) || len(got) > maxRendered) {
			t.Errorf("Render = %q", got)
		}
		if !strings.Contains(text, "{{") && got != text {
			t.Errorf("plain text %q became %q", text, got)
		}
	})
}

func FuzzReadProgress(f *testing.F) {
	f.Add([]byte("## Codebase Patterns\n- a\n## Next\n"+strings.Repeat("line\n", 50)), 40)
	f.Add([]byte("\xff\xfe\n"), 2)
	f.Add([]byte("x\n## Codebase Patterns"), 30)
	f.Fuzz(func(t *testing.T, data []byte, limit int) {
		dir, root := workspace(t)
		if err := os.WriteFile(filepath.Join(dir, ProgressFile), data, 0o644); err != nil {
			t.Fatal(err)
		}
		limit = min(limit, 1<<16)
		got, err := ReadProgress(root, ProgressFile, limit)
		if err != nil || len(got) > max(limit, 0) || slices.ContainsFunc([]rune(got), badRune) {
			t.Errorf("ReadProgress(%d) = %q, %v", limit, got, err)
		}
	})
}
