package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"

	"github.com/agent-loop/ralph/internal/git"
)

// job is a run whose agent works on the host: what is measured there is not the
// sandbox.
type job struct {
	b         *bench
	place     string
	store     *git.Store
	clone     git.Clone
	iteration int
}

func (b *bench) newJob() (*job, error) {
	place := b.place()
	store, err := git.CreateStore(b.ctx, b.options(place), true)
	if err != nil {
		return nil, err
	}
	j := &job{b: b, place: place, store: store, clone: cloneIn(place)}
	return j, store.Clone(b.ctx, j.clone, b.base, "")
}

func (j *job) remove() error { return os.RemoveAll(j.place) }

// inside leads a git on the host to the clone, as the sandbox's mounts would.
func (j *job) inside(who git.Identity) []string {
	return []string{
		"GIT_DIR=" + j.clone.GitDir, "GIT_WORK_TREE=" + j.clone.Tree, "GIT_ALTERNATE_OBJECT_DIRECTORIES=" + j.store.Objects(),
		"GIT_AUTHOR_NAME=" + who.Name, "GIT_AUTHOR_EMAIL=" + who.Email, "GIT_COMMITTER_NAME=" + who.Name, "GIT_COMMITTER_EMAIL=" + who.Email,
		"RALPH_RUN=" + j.store.Run, "RALPH_ITERATION=" + fmt.Sprint(j.iteration),
	}
}

// changes is a script for one iteration: three commits that change ten files together.
func changes(iteration int) string {
	var script strings.Builder
	for i := range 10 {
		fmt.Fprintf(&script, "echo '// iteration %d' >>%s\n", iteration, filePath((iteration*977+i*1999)%files))
		if i == 2 || i == 5 || i == 9 {
			fmt.Fprintf(&script, "git commit -qam 'Work up to %d'\n", i)
		}
	}
	return script.String()
}

// work is what the agent does.
func (j *job) work(who git.Identity) error {
	j.iteration++
	cmd := plainCommand(j.b.ctx, j.clone.Tree, "sh", "-ec", changes(j.iteration))
	cmd.Env = append(cmd.Env, j.inside(who)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("the agent's work: %w\n%s", err, out)
	}
	return nil
}

// collect brings out what the agent did.
func (j *job) collect() ([]byte, error) {
	since, err := j.store.SandboxTip(j.b.ctx)
	if err != nil {
		return nil, err
	}
	cmd := plainCommand(j.b.ctx, j.clone.Tree, j.store.Collect(since, true)...)
	cmd.Env = append(append(cmd.Env, j.inside(j.store.Identity)...), j.store.CollectEnv()...)
	cmd.Stdin = strings.NewReader(j.store.Message(j.iteration, "What the agent left", ""))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("collecting: %w\n%s", err, &stderr)
	}
	return out, nil
}

// bring imports what was collected, which must be whole.
func (j *job) bring(bundle []byte) error {
	got, err := j.store.Import(j.b.ctx, bytes.NewReader(bundle), j.iteration, func(path string) bool { return path == "ralph.toml" })
	if err == nil && (len(got.Commits) != 3 || got.Files != 10 || got.Held != "") {
		err = fmt.Errorf("not what the agent did came home: %+v", got)
	}
	return err
}
