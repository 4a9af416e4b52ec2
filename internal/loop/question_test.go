package loop

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-loop/ralph/internal/rundir"
)

const ask = "<promise>DECIDE: red or blue?\x1b[2J\n---\nreally?</promise>"

// A question ends the run; what a person writes below it is in the next prompt,
// whether that has a place for it or not, and in all that follow.
func TestAskingAPerson(t *testing.T) {
	for name, prompt := range map[string]string{
		"with a place":    "n {{iteration}}: {{answers}}",
		"without a place": "n {{iteration}}",
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, says("<promise>BLOCKED: no key</promise>"), says("more"), says(ask), says("more"), says(complete))
			r.write("PROMPT.md", prompt)
			r.expect(rundir.NeedsAttention, "the agent is blocked: no key", 1)
			text := r.question()
			if !strings.HasPrefix(text, "no key\n") || !strings.HasSuffix(text, "\n---\n") {
				t.Errorf("the question file is %q", text)
			}
			if q := events[rundir.Question](r, rundir.EventQuestion); len(q) != 1 || q[0].Kind != "blocked" || q[0].Text != "no key" {
				t.Errorf("asked: %+v", q)
			}

			r.resume()
			must(t, WriteAnswer(r.loop.Run.Path(), "use another\nkey"), WriteAnswer(r.loop.Run.Path(), "use the other key"))
			r.expect(rundir.NeedsAttention, "the agent asks: red or blue?", 3)
			if text := r.question(); strings.Contains(text, "key") || strings.Contains(text, "\x1b") || strings.Count(text, "---") != 1 {
				t.Errorf("the second question file is %q", text)
			}

			r.resume()
			must(t, WriteAnswer(r.loop.Run.Path(), "blue"))
			if got, err := ReadAnswer(r.loop.Run.Path()); got != "blue" || err != nil {
				t.Errorf("read %q, %v", got, err)
			}
			r.expect(rundir.Done, "", 5)
			for i, want := range []int{0, 1, 1, 2, 2} {
				if got := strings.Count(r.prompts[i], "Answer: "); got != want || want > 0 && !strings.Contains(r.prompts[i], "Question: no key\nAnswer: use the other key") {
					t.Errorf("prompt %d has %d answers, want %d: %q", i+1, got, want, r.prompts[i])
				}
			}
			if r.question() != "" {
				t.Error("an answered question is left")
			}
			if a := events[rundir.Answer](r, rundir.EventAnswer); len(a) != 2 || a[1].Answer != "blue" {
				t.Errorf("answers: %+v", a)
			}
		})
	}
}

func (r *rig) question() string {
	text, _ := os.ReadFile(filepath.Join(r.loop.Run.Path(), filepath.FromSlash(questionFile)))
	return string(text)
}

// Who takes a run up without an answer means the agent to go on.
func TestNoAnswer(t *testing.T) {
	r := newRig(t, says(ask), says(complete))
	r.expect(rundir.NeedsAttention, "", 1)
	r.resume()
	r.expect(rundir.Done, "", 2)
}

func TestReadAnswer(t *testing.T) {
	for name, tt := range map[string]struct{ text, want string }{
		"no file":          {"", ""},
		"no answer":        {"question" + howToAnswer + "\n---\n", ""},
		"blank":            {"question" + howToAnswer + "\n---\n \n\t\n", ""},
		"one line":         {"question" + howToAnswer + "\n---\nyes\n", "yes"},
		"several":          {"question" + howToAnswer + "\n---\n\nyes\n\n---\nno\n", "yes\n\n---\nno"},
		"from Windows":     {"question\r\n\r\n---\r\nyes\r\nno\r\n", "yes\nno"},
		"without the line": {"question\nyes\n", ""},
	} {
		run := t.TempDir()
		must(t, os.Mkdir(filepath.Join(run, "logs"), 0o755))
		if tt.text != "" {
			must(t, os.WriteFile(filepath.Join(run, filepath.FromSlash(questionFile)), []byte(tt.text), 0o600))
		}
		if got, err := ReadAnswer(run); got != tt.want || err != nil {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// A kill at any step loses neither question nor answer, and tells no answer twice.
func TestKilledWhileAsking(t *testing.T) {
	r := newRig(t)
	r.write("PROMPT.md", "n {{iteration}}")
	r.script(askTwice)
	r.expect(rundir.NeedsAttention, "first?", 1)
	r.resume()
	must(t, WriteAnswer(r.loop.Run.Path(), "one"))
	for _, k := range r.kills(func() { r.expect(rundir.NeedsAttention, "second?", 2) }) {
		t.Run(k.name, func(t *testing.T) {
			if strings.HasSuffix(k.name, "ended") {
				t.Skip("the run was over: who takes it up without an answer means the agent to go on")
			}
			c := k.revive(t, r)
			c.script(askTwice)
			c.expect(rundir.NeedsAttention, "second?", 2)
			if !strings.HasPrefix(c.question(), "second?") {
				t.Errorf("the question file is %q", c.question())
			}
			c.resume()
			must(t, WriteAnswer(c.loop.Run.Path(), "two"))
			c.expect(rundir.Done, "", 3)
			last := c.prompts[len(c.prompts)-1]
			if strings.Count(last, "Answer: ") != 2 || !strings.Contains(last, "Question: first?\nAnswer: one") || !strings.Contains(last, "Question: second?\nAnswer: two") {
				t.Errorf("the last prompt is %q", last)
			}
		})
	}
}

// askTwice asks in iterations 1 and 2.
func askTwice(ctx context.Context, p *process) int {
	prompt := p.Getenv("PROMPT")
	switch {
	case strings.HasPrefix(prompt, "n 1"):
		return says("<decide>first?</decide>")(ctx, p)
	case strings.HasPrefix(prompt, "n 2"):
		return says("<decide>second?</decide>")(ctx, p)
	}
	return says(complete)(ctx, p)
}
