package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agent-loop/ralph/internal/config"
	"github.com/agent-loop/ralph/internal/git"
	"github.com/agent-loop/ralph/internal/rundir"
	"github.com/agent-loop/ralph/internal/sandbox"
)

// runGit brings the commits of a run home.
type runGit struct {
	plan  *plan
	run   *rundir.Run
	store *git.Store
	box   *box
	gates *runGates

	inside *inside // nil: the agent's files are in a folder
	broken bool    // the agent's git directory, which no sandbox uses now
}

// openGit opens the store of a run and lays out what the agent works on, where that
// is not there yet.
func (p *plan) openGit(ctx context.Context, run *rundir.Run) (*runGit, error) {
	if p.spec.Git == nil {
		return nil, nil
	}
	g := &runGit{plan: p, run: run}
	o := storeOptions(run.Path(), run.ID(), p.repo, *p.spec.Git, p.config)
	var err error
	if p.config.Git.Sign {
		if o.Sign, err = p.repo.UserSigner(ctx, p.world.Getenv); err != nil {
			return nil, err
		}
	}
	if p.fresh {
		g.store, err = git.CreateStore(ctx, o, p.config.Git.Objects == config.ObjectsShare)
	} else {
		g.store, err = git.OpenStore(ctx, o)
		removeIncoming(o.Dir)
	}
	if err != nil {
		return nil, err
	}
	return g, g.layOut(ctx)
}

// removeIncoming removes what was coming in when ralph was killed.
func removeIncoming(store string) {
	left, _ := filepath.Glob(filepath.Join(store, "incoming-*"))
	for _, path := range left {
		_ = os.RemoveAll(path)
	}
}

// clone is what the agent works on.
func (g *runGit) clone() git.Clone {
	c := git.Clone{GitDir: filepath.Join(g.run.Path(), privateFolder), Tree: filepath.Join(g.run.Path(), workFolder)}
	if g.plan.inPlace() || g.plan.inside() {
		c.Tree = ""
	}
	return c
}

// layOut makes the clone, once: what the agent left in it is there when the run goes
// on. The git directory comes last; without one there is no clone.
func (g *runGit) layOut(ctx context.Context) error {
	c := g.clone()
	if _, err := os.Lstat(c.GitDir); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if c.Tree != "" {
		if err := removeTree(c.Tree); err != nil { // half of one
			return err
		}
	}
	return g.layOutGitDir(ctx, c, c.Tree)
}

// layOutGitDir makes the agent's git directory, under another name first, so that
// half of one is never taken for it, and its files where tree is not empty.
func (g *runGit) layOutGitDir(ctx context.Context, c git.Clone, tree string) error {
	tip, err := g.store.Tip(ctx)
	if err != nil {
		return err
	}
	draft := git.Clone{GitDir: c.GitDir + ".new", Tree: tree}
	if draft.Exclude, err = g.excluded(ctx, tip); err != nil {
		return err
	}
	if err := removeTree(draft.GitDir); err != nil {
		return err
	}
	if err := g.store.Clone(ctx, draft, tip, ""); err != nil {
		return err
	}
	return os.Rename(draft.GitDir, c.GitDir)
}

// mend makes the agent's git directory anew, if it is broken. The files stay as they
// are, and are committed with what comes next.
func (g *runGit) mend(ctx context.Context) error {
	if !g.broken {
		return nil
	}
	if err := removeTree(g.clone().GitDir); err != nil {
		return err
	}
	g.broken = false
	return g.layOutGitDir(ctx, g.clone(), "")
}

// excluded are files that are no part of the work: in the project's own folder those
// that stand in for what is protected and those that the user has not committed yet,
// and a task file that the project does not have in git.
// They are those of the run's beginning: what is untracked later may be the agent's.
func (g *runGit) excluded(ctx context.Context, tip string) ([]string, error) {
	file := filepath.Join(g.store.Dir, "excluded")
	text, err := os.ReadFile(file)
	if err == nil {
		return strings.Split(string(text), "\x00"), nil
	}
	paths, err := g.findExcluded(ctx, tip)
	if err != nil {
		return nil, err
	}
	return paths, os.WriteFile(file, []byte(strings.Join(paths, "\x00")), 0o600)
}

func (g *runGit) findExcluded(ctx context.Context, tip string) ([]string, error) {
	var paths []string
	if g.plan.inPlace() {
		untracked, err := g.plan.repo.Untracked(ctx)
		if err != nil {
			return nil, err
		}
		paths = slices.Concat(standInNames(), g.plan.config.Sandbox.Protect, untracked)
	}
	tracked, err := g.tracksTasks(ctx, tip)
	if err == nil && !tracked {
		paths = append(paths, g.inRepository(g.plan.config.Loop.Tasks))
	}
	return paths, err
}

// tracksTasks tells whether the task file is part of a commit, or there is none.
func (g *runGit) tracksTasks(ctx context.Context, commit string) (bool, error) {
	name := g.plan.config.Loop.Tasks
	if name == "" {
		return true, nil
	}
	return g.store.Has(ctx, commit, g.inRepository(name))
}

// inRepository is a path of the project, from the top of the repository.
func (g *runGit) inRepository(name string) string {
	return path.Join(g.plan.repo.Prefix, filepath.ToSlash(name))
}

// mounts are what a sandbox gets to see of a clone, at the place of the repository.
// Files that are inside are not mounted.
func (g *runGit) mounts(c git.Clone) []sandbox.Mount {
	top := g.plan.repo.Top
	objects := sandbox.Mount{Source: g.store.Objects(), Target: git.InsideObjects, ReadOnly: true, Exclusive: true}
	private := sandbox.Mount{Source: c.GitDir, Target: git.InsideGitDir, Exclusive: true}
	if c.Tree == "" {
		return []sandbox.Mount{private, objects}
	}
	return []sandbox.Mount{{Source: c.Tree, Target: top, Protect: []string{".git"}, Exclusive: true}, private, objects}
}

// deliver ends the work on a run that is done: the branch is pushed where the user
// asked for it, and what the agent worked on is removed. All of it that counts is in
// commits.
func (x *execution) deliver(ctx context.Context) error {
	if x.work == nil {
		return nil
	}
	var err error
	if x.plan.config.Git.Push {
		err = errors.Join(x.plan.world.pushRun(ctx, x.run, x.work.store, x.plan.spec, x.plan.config.Git), x.run.SaveState(x.loop.State))
	}
	return errors.Join(err, removeClone(x.run.Path()))
}

// openStore opens what came home of a run that has ended, or goes on.
func (w World) openStore(ctx context.Context, reader *rundir.Reader) (*git.Store, runSpec, error) {
	spec, err := readSpec(reader)
	if err != nil {
		return nil, spec, err
	}
	// Its repository is one that git obeys, and a folder that looks like a run can
	// come with a download.
	if err := checkKnown(w, reader, false); err != nil {
		return nil, spec, err
	}
	if spec.Git == nil {
		return nil, spec, usageError{fmt.Errorf("run %s has no commits of its own: it worked on the files as they are", reader.ID()), "ralph show " + reader.ID()}
	}
	cfg, _, err := config.Restore(spec.Settings, w.Getenv, nil)
	if err != nil {
		return nil, spec, err
	}
	program, err := git.Find()
	if err != nil {
		return nil, spec, err
	}
	repo, err := git.Open(ctx, program, spec.Project)
	if err != nil {
		return nil, spec, fmt.Errorf("opening the repository of run %s: %w", reader.ID(), err)
	}
	store, err := git.OpenStore(ctx, storeOptions(reader.Path(), reader.ID(), repo, *spec.Git, cfg))
	return store, spec, err
}
