package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/agent-loop/ralph/internal/agent"
	"github.com/agent-loop/ralph/internal/config"
	"github.com/agent-loop/ralph/internal/git"
	"github.com/agent-loop/ralph/internal/rundir"
	"github.com/agent-loop/ralph/internal/sandbox"
	"github.com/agent-loop/ralph/internal/secret"
	"github.com/agent-loop/ralph/internal/task"
	"github.com/agent-loop/ralph/internal/workspace"
)

// plan is a run before anything of it exists: what the user asked for, checked as
// far as that can be done without leaving anything behind.
type plan struct {
	world  World
	opts   runOptions
	spec   runSpec
	config config.Config
	root   string // the folder of runs
	who    agent.Agent
	repo   *git.Repository // nil: the run has no commits of its own
	engine sandbox.Engine
	info   sandbox.Info // what the engine can do
	chosen engineChoice // how it came to be this one
	image  string       // that the sandbox starts from; empty: there is none
	limits rundir.Limits
	masker *secret.Masker
	fresh  bool  // the run does not exist yet
	models bool  // the agent gets its model API
	cover  cover // over the runs in the project
	notes  []string
}

// newPlan reads what the user wants of a new run.
func newPlan(ctx context.Context, w World, opts runOptions) (*plan, error) {
	dir, err := workspace.Resolve(opts.project)
	if err != nil {
		return nil, err
	}
	cfg, notes, err := config.Read(dir, w.Getenv, &opts.flags)
	if err != nil {
		return nil, err
	}
	p := &plan{world: w, opts: opts, config: cfg, notes: notes, fresh: true, masker: secret.NewMasker()}
	p.spec = runSpec{Version: specVersion, Ralph: currentVersion().Version, Project: dir, Rootfs: opts.rootfs}
	p.root = under(dir, cfg.Run.Folder)
	if opts.data != "" {
		if p.spec.Data, err = dataFolder(opts.data); err != nil {
			return nil, err
		}
		p.root = filepath.Join(dir, researchFolder)
	}
	if err := checkRunsFolder(p.root, dir); err != nil {
		return nil, err
	}
	if err := p.chooseWorkspace(ctx); err != nil {
		return nil, err
	}
	if err := p.settle(ctx); err != nil {
		return nil, err
	}
	if err := p.chooseCheckout(); err != nil {
		return nil, err
	}
	if p.spec.Tasks, err = p.findTasks(); err != nil {
		return nil, err
	}
	p.spec.Settings = p.config.Settings()
	return p, nil
}

// resumePlan reads what the user wants of a run that exists.
func resumePlan(ctx context.Context, w World, opts runOptions, run *rundir.Reader) (*plan, error) {
	spec, err := readSpec(run)
	if err != nil {
		return nil, err
	}
	cfg, notes, err := config.Restore(spec.Settings, w.Getenv, &opts.flags)
	if err != nil {
		return nil, err
	}
	p := &plan{world: w, opts: opts, spec: spec, config: cfg, notes: notes, root: filepath.Dir(run.Path()), masker: secret.NewMasker()}
	if err := p.resumeWorkspace(ctx); err != nil {
		return nil, err
	}
	if err := p.settle(ctx); err != nil {
		return nil, err
	}
	if state, err := run.State(); err == nil && state.Engine != p.info.Engine {
		p.notes = append(p.notes, fmt.Sprintf("the run was in %s before, and goes on in %s", state.Engine, p.info.Engine))
	}
	return p, nil
}

// dataFolder is the real path of the data of a run of research.
func dataFolder(path string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	if err == nil {
		real, err = filepath.Abs(real)
	}
	if err != nil {
		return "", usageError{fmt.Errorf("--data: %w", err), "name a folder or a file that exists"}
	}
	return real, nil
}

// settle chooses agent and engine, and checks what the loop will need.
func (p *plan) settle(ctx context.Context) (err error) {
	if err := p.chooseAgent(); err != nil {
		return err
	}
	if p.limits, err = runLimits(p.config.Budget); err != nil {
		return err
	}
	if p.cover, err = p.world.newCover(p.spec.Project, p.config, p.root); err != nil {
		return err
	}
	if err := p.checkPrompt(); err != nil {
		return err
	}
	if err := p.choosePlace(ctx); err != nil {
		return err
	}
	if !p.opts.plain { // the demonstration has words of its own
		fmt.Fprintln(p.world.Err, "ralph:", visible(p.chosen.String()))
	}
	p.noteSetup()
	return nil
}

// chooseAgent finds out who works.
func (p *plan) chooseAgent() (err error) {
	if p.config.OnHost() {
		return usageError{errors.New("the sandbox is turned off, and this ralph runs no agent without one"), "pass --engine auto"}
	}
	if p.who, err = agent.Find(p.config.Agent.Name); err != nil {
		return usageError{err, ""}
	}
	if p.who.Name == "command" && len(p.config.Agent.Command) == 0 {
		return usageError{errors.New("the agent \"command\" has no command"), `set it in ralph.toml: [agent] command = ["my-agent", "--flag"]`}
	}
	return nil
}

// needsModels tells whether the agent gets a model API. One that ralph knows does;
// a command of the user's does where there is a credential for it.
func (p *plan) needsModels(ctx context.Context) (bool, error) {
	if p.who.Name != "command" || p.opts.tapes.replay != "" {
		return true, nil
	}
	source, err := credentialSource(p.world, p.config.Agent.Credential, p.who.Token)
	if err == nil {
		_, err = source.Token(ctx)
	}
	if err == nil {
		return true, nil
	}
	if p.config.Agent.Credential != "" {
		return false, err
	}
	p.notes = append(p.notes, "the command gets no model API: no credential is stored for it")
	return false, nil
}

// checkPrompt reads the prompt once, so that a run does not begin without one.
func (p *plan) checkPrompt() error {
	root, err := os.OpenRoot(p.spec.Project)
	if err != nil {
		return fmt.Errorf("opening the project: %w", err)
	}
	defer root.Close()
	_, err = task.LoadPrompt(root, p.config.Loop.Prompt)
	if errors.Is(err, fs.ErrNotExist) {
		return usageError{fmt.Errorf("there is no prompt: %s does not exist", p.config.Loop.Prompt), "ralph init writes one, or name another with --prompt FILE"}
	}
	if err != nil {
		return usageError{err, "the prompt is what the agent is told in each iteration"}
	}
	return nil
}

// findTasks finds the task file of a new run and returns what it holds. Runs of
// research have none: the agent could not reach it.
func (p *plan) findTasks() (jsontext.Value, error) {
	if p.spec.Data != "" {
		p.config.Loop.Tasks = ""
		return nil, nil
	}
	root, err := os.OpenRoot(p.spec.Project)
	if err != nil {
		return nil, fmt.Errorf("opening the project: %w", err)
	}
	defer root.Close()
	for _, name := range p.taskFiles() {
		list, err := task.Load(root, name)
		if errors.Is(err, fs.ErrNotExist) && p.config.Loop.Tasks == "" {
			continue
		}
		if err != nil {
			return nil, usageError{err, "mend the task file, or move it away"}
		}
		if list.Done() {
			return nil, usageError{fmt.Errorf("every story of %s passes already", name), "add a story, or set passes to false"}
		}
		p.config.Loop.Tasks = name
		text, err := list.Encode()
		return text, err
	}
	return nil, nil
}

func (p *plan) taskFiles() []string {
	if p.config.Loop.Tasks != "" {
		return []string{p.config.Loop.Tasks}
	}
	return task.Files()
}

// noteSetup says what a user may not expect.
func (p *plan) noteSetup() {
	if lacks := p.chosen.lacks(); lacks != "" {
		p.notes = append(p.notes, lacks)
	}
	if p.config.Validation.Command == "" {
		p.notes = append(p.notes, "there is no validation command, so that done is the agent's word; set one in ralph.toml: [validation] command = \"...\"")
	}
}

// options are how the run's record is written.
func (p *plan) options() rundir.Options {
	return rundir.Options{Mask: p.masker.Mask, Command: "ralph run"}
}

// firstState is that of a new run.
func (p *plan) firstState(id string) rundir.State {
	state := rundir.State{
		ID: id, Agent: p.who.Name, Engine: p.info.Engine, Model: p.model(), Limits: p.limits, Workspace: p.spec.Project,
	}
	if g := p.spec.Git; g != nil {
		state.Branch, state.Base, state.Commit = g.Branch, g.Base, g.Base
		state.InPlace = p.inPlace()
	}
	return state
}

func (p *plan) model() string {
	if p.config.Agent.Model != "" {
		return p.config.Agent.Model
	}
	return p.who.Model
}

// checkRunsFolder refuses a folder of runs in the project that is a link, or lies
// behind one: a repository can bring it, and runs would be written elsewhere.
func checkRunsFolder(root, project string) error {
	if !sandbox.Within(root, project) {
		return nil
	}
	for at := root; at != project; at = filepath.Dir(at) {
		if info, err := os.Lstat(at); err == nil && !info.IsDir() {
			return usageError{fmt.Errorf("runs cannot be kept in %s: it is a link or no folder", at), "move it away, or name another place in your own configuration: [run] folder"}
		}
	}
	return nil
}
