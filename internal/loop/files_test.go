package loop

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/agent-loop/ralph/internal/rundir"
	"github.com/agent-loop/ralph/internal/sandbox"
	"github.com/agent-loop/ralph/internal/task"
	"github.com/agent-loop/ralph/internal/wholefile"
)

// copies is a mirror by cat, of files in a sandbox's own /work.
type copies struct {
	root  *os.Root
	fails []error // what Fetch fails with, one after the other
	calls []string
}

func (c *copies) files() []string { return []string{"prd.json", task.ProgressFile} }

func (c *copies) Fetch(ctx context.Context, box sandbox.Sandbox) error {
	c.calls = append(c.calls, "fetch")
	if len(c.fails) > 0 {
		err := c.fails[0]
		c.fails = c.fails[1:]
		return err
	}
	for _, name := range c.files() {
		var text bytes.Buffer
		code, err := box.Exec(ctx, sandbox.Command{Args: []string{"cat", name}, Stdout: &text})
		if err != nil {
			return err
		}
		if code != 0 {
			_ = c.root.Remove(name)
		} else if err := wholefile.Replace(c.root, name, text.Bytes(), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func (c *copies) Put(ctx context.Context, box sandbox.Sandbox) error {
	c.calls = append(c.calls, "put")
	for _, name := range c.files() {
		text, err := c.root.ReadFile(name)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err == nil {
			_, err = box.Exec(ctx, sandbox.Command{Args: []string{"tee", name}, Stdin: bytes.NewReader(text)})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// mirrored lets the agent of a rig have its files inside, with one story to do.
func mirrored(t *testing.T, acts ...act) (*rig, *copies) {
	t.Helper()
	r := newRig(t, acts...)
	r.write("prd.json", oneTask)
	r.write("PROMPT.md", "{{task}}|{{progress}}|")
	root, err := os.OpenRoot(t.TempDir())
	must(t, err)
	t.Cleanup(func() { root.Close() })
	m := &copies{root: root}
	r.loop.Files, r.loop.Mirror, r.loop.Tree, r.loop.Launcher = root, m, nil, insideLauncher{r}
	r.loop.Rules.Tasks, r.loop.Rules.KeepSandbox = "prd.json", true
	return r, m
}

const oneTask = `{"userStories": [{"id": "US-1", "title": "one", "passes": false}]}`

// insideLauncher starts sandboxes that see nothing of the host, and puts into them
// what the mirror has.
type insideLauncher struct{ r *rig }

func (l insideLauncher) Launch(ctx context.Context) (sandbox.Sandbox, rundir.Launch, error) {
	box, err := l.r.engine.Create(ctx, sandbox.Spec{
		Own: []string{"/work"}, Dir: "/work", Network: sandbox.NetworkNone, Env: sandbox.BaseEnv(sandbox.NetworkNone),
	})
	if err == nil {
		err = l.r.loop.Mirror.Put(ctx, box)
	}
	return box, rundir.Launch{}, err
}

// writes has an agent write a file where it is.
func writes(name, text string, then act) act {
	return func(ctx ctxt, p *process) int {
		file, err := p.Open(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
		if err != nil {
			return 9
		}
		defer file.Close()
		if _, err := io.WriteString(file, text); err != nil {
			return 9
		}
		return then(ctx, p)
	}
}

// TestMirror: the loop goes by what the agent has inside, and mends it there.
func TestMirror(t *testing.T) {
	seen := ""
	looks := func(ctx ctxt, p *process) int {
		file, err := p.Open("prd.json", os.O_RDONLY, 0)
		if err != nil {
			return 9
		}
		defer file.Close()
		text, _ := io.ReadAll(file)
		seen = string(text)
		return writes("prd.json", strings.Replace(seen, "false", "true", 1), says("done"))(ctx, p)
	}
	r, m := mirrored(t,
		writes(task.ProgressFile, "it is hard\n", writes("prd.json", `{"userStories": [{"id": "US-1", "title": "another", "passes": false}]}`, says("working"))),
		looks)
	r.expect(rundir.Done, "the one story passes", 2)
	if !strings.Contains(seen, `"one"`) {
		t.Errorf("the second iteration finds %s", seen)
	}
	if !strings.Contains(r.prompts[0], "one") || strings.Contains(r.prompts[0], "hard") || !strings.Contains(r.prompts[1], "it is hard") {
		t.Errorf("the prompts are %q", r.prompts)
	}
	if notes := events[rundir.Tasks](r, rundir.EventTask); len(notes) != 2 || len(notes[0].Violations) != 1 {
		t.Errorf("the record has %+v", notes)
	}
	if !slices.Contains(m.calls, "fetch") || m.calls[len(m.calls)-1] != "put" {
		t.Errorf("the mirror was asked for %q", m.calls)
	}
	if r.read("prd.json") != oneTask {
		t.Error("the project's own task file was written")
	}
}

// TestMirrorThatFails: the run goes on, in a new sandbox if that one is no more.
func TestMirrorThatFails(t *testing.T) {
	done := writes("prd.json", strings.Replace(oneTask, "false", "true", 1), says("done"))
	for name, fault := range map[string]struct {
		err       error
		sandboxes int
	}{
		"cannot be read": {errors.New("exit code 1"), 1},
		"gone":           {sandbox.ErrGone, 2},
		"too slow":       {&sandbox.LimitError{Limit: "time", Value: "10s"}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			r, m := mirrored(t, done)
			m.fails = []error{fault.err}
			r.expect(rundir.Done, "the one story passes", 1)
			notes := events[rundir.Note](r, rundir.EventNote)
			if len(notes) != 1 || !strings.Contains(notes[0].Text, "may be out of date: "+fault.err.Error()) {
				t.Errorf("the record has %+v", notes)
			}
			if n := len(r.engine.Specs()); n != fault.sandboxes {
				t.Errorf("%d sandboxes, want %d", n, fault.sandboxes)
			}
		})
	}
}

// TestMirrorEndsWithTheRun: who stops the run meanwhile is heard.
func TestMirrorEndsWithTheRun(t *testing.T) {
	r, m := mirrored(t, says("working"))
	ctx, cancel := context.WithCancel(t.Context())
	r.loop.Step = func(name string) {
		if name == "agent ended" {
			m.fails = []error{context.Canceled}
			cancel()
		}
	}
	if stop := r.execute(ctx); stop.Status != rundir.Stopped {
		t.Errorf("it ends %+v", stop)
	}
}
