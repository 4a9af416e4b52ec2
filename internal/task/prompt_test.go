package task

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestPromptVariables(t *testing.T) {
	values := Values{Iteration: 3, MaxIterations: 20, Limits: "$4 left", Task: "US-1: go", LastFailure: "exit 1", Answers: "yes", Progress: "did it", Validation: "go test ./..."}
	for _, tt := range []struct{ name, prompt, want string }{
		{"plain text stays", "do {it} }} {\n", "do {it} }} {\n"},
		{"counters", "{{iteration}} of {{max_iterations}}", "3 of 20"},
		{"the seeds' spelling", "{{RALPH_ITERATION}}/{{RALPH_MAX_ITERATIONS}}", "3/20"},
		{"spaces inside", "{{ task }}", "US-1: go"},
		{"all texts", "{{limits}}|{{last_failure}}|{{answers}}|{{progress}}|{{validation}}", "$4 left|exit 1|yes|did it|go test ./..."},
		{"escaped braces", `use \{{task}} for {{task}}`, "use {{task}} for US-1: go"},
		{"a third brace is text", "{ {{iteration}} }", "{ 3 }"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, err := ParsePrompt(tt.prompt)
			if err != nil {
				t.Fatal(err)
			}
			got, err := p.Render(values)
			if err != nil || got != tt.want {
				t.Errorf("Render = %q, %v; want %q", got, err, tt.want)
			}
		})
	}
}

func TestNoLimitOfIterations(t *testing.T) {
	p, err := ParsePrompt("{{max_iterations}}")
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := p.Render(Values{}); got != "unlimited" {
		t.Errorf("Render = %q", got)
	}
}

func TestPromptMistakes(t *testing.T) {
	for _, tt := range []struct {
		name, prompt string
		want         []string
	}{
		{"misspelt", "a\nb {{iteratoin}}", []string{`line 2: unknown variable "iteratoin"; did you mean "iteration"?`}},
		{"all at once", "{{tsk}}\n{{iteration}}\n{{progres}}", []string{`line 1: unknown variable "tsk"`, `line 3: unknown variable "progres"`}},
		{"nothing near", "{{password}}", []string{`unknown variable "password"; there are iteration, `}},
		{"no code", `{{ .Env "HOME" }}`, []string{`unknown variable ".Env \"HOME\""`, `\{{`}},
		{"not closed", "one\n{{task\n}}", []string{`line 2: "{{" without "}}"`}},
		{"empty", " \n", []string{"is empty"}},
		{"not text", "a\xffb", []string{"is not UTF-8"}},
		{"NUL", "a\x00b", []string{"NUL"}},
		{"too large", strings.Repeat("x", maxPrompt+1), []string{"larger than 256 KiB"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ParsePrompt(tt.prompt)
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q does not say %q", err, want)
				}
			}
		})
	}
}

// What an agent or a failing test left behind is text, whatever it looks like.
func TestValuesAreNotExpanded(t *testing.T) {
	p, err := ParsePrompt("{{last_failure}}{{task}}")
	if err != nil {
		t.Fatal(err)
	}
	got, err := p.Render(Values{LastFailure: "{{task}} \x1b[2J\u202e\xff{", Task: "{limits}}", Limits: "secret"})
	if want := "{{task}} [2J?{{limits}}"; err != nil || got != want {
		t.Errorf("Render = %q, %v; want %q", got, err, want)
	}
}

func TestLongValuesLoseTheirMiddle(t *testing.T) {
	p, err := ParsePrompt("{{last_failure}}")
	if err != nil {
		t.Fatal(err)
	}
	got, err := p.Render(Values{LastFailure: "FIRST" + strings.Repeat("ä", maxValue) + "LAST"})
	if err != nil || len(got) > maxValue || !utf8.ValidString(got) {
		t.Fatalf("Render: %d bytes, %v", len(got), err)
	}
	if !strings.HasPrefix(got, "FIRST") || !strings.HasSuffix(got, "LAST") || !strings.Contains(got, "bytes left out") {
		t.Errorf("Render = %.20q ... %q", got, got[len(got)-20:])
	}
}

func TestRenderedPromptIsBounded(t *testing.T) {
	p, err := ParsePrompt(strings.Repeat("{{progress}}", 100))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Render(Values{Progress: strings.Repeat("x", maxValue)}); err == nil {
		t.Error("a prompt of 6 MiB was rendered")
	}
}

func TestStarterPromptUsesWhatTheLoopKnows(t *testing.T) {
	p, err := ParsePrompt(StarterPrompt())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"iteration", "task", "validation", "last_failure", "answers", "progress"} {
		if !p.Uses(name) {
			t.Errorf("the starter prompt does not use %s", name)
		}
	}
	for _, tag := range []string{CompleteTag, BlockedPrefix, DecidePrefix} {
		if !strings.Contains(StarterPrompt(), tag) {
			t.Errorf("the starter prompt does not explain %s", tag)
		}
	}
}

func TestLoadPromptRefusesWhatIsNoFile(t *testing.T) {
	dir, root := workspace(t)
	if err := os.WriteFile(filepath.Join(dir, "real.md"), []byte("{{task}}"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadPrompt(root, "real.md"); err != nil {
		t.Errorf("a plain file: %v", err)
	}
	if err := os.Mkdir(filepath.Join(dir, "folder.md"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("real.md", filepath.Join(dir, "link.md")); err != nil {
		t.Skip("no symbolic links here:", err)
	}
	for name, want := range map[string]string{"link.md": "symbolic link", "folder.md": "not a regular file", "none.md": "none.md", "../x": "../x"} {
		if _, err := LoadPrompt(root, name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("LoadPrompt(%s): %v, want %q", name, err, want)
		}
	}
}

// workspace is an empty folder that an agent could write to.
func workspace(t testing.TB) (string, *os.Root) {
	t.Helper()
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return dir, root
}
