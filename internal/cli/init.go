package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agent-loop/ralph/internal/config"
	"github.com/agent-loop/ralph/internal/project"
	"github.com/agent-loop/ralph/internal/task"
	"github.com/agent-loop/ralph/internal/workspace"
)

type initOptions struct {
	agent  string
	asJSON bool
	dryRun bool
}

func newInitCommand(w World) *cobra.Command {
	var opts initOptions
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Write ralph.toml, the prompt and the task file for this project",
		Long: `Looks at the current folder, says what it is, and writes what a run needs:
ralph.toml with a validation command and the hosts that dependencies come from,
` + task.PromptFile + ` with a prompt for a loop of fresh sessions, and prd.json with one
example story. Files that exist are kept as they are. After an error none is left.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runInit(cmd.Context(), w, opts) },
	}
	cmd.Flags().StringVar(&opts.agent, "agent", "", "who works: claude, codex, opencode, gemini, mini or command (the configured one)")
	cmd.Flags().BoolVar(&opts.asJSON, "json", false, "print one JSON object")
	cmd.Flags().BoolVar(&opts.dryRun, "dry-run", false, "say what would be written, and write nothing")
	return cmd
}

// initReport is what "ralph init --json" prints.
type initReport struct {
	Dir        string         `json:"dir"`
	Kind       string         `json:"kind"`
	Git        project.Git    `json:"git"`
	Parts      []project.Part `json:"parts"`
	Agent      string         `json:"agent"`
	Validation string         `json:"validation"`
	Allowed    []string       `json:"allowed"`
	Packages   []string       `json:"packages"`
	DryRun     bool           `json:"dry_run"`
	Created    []string       `json:"created"`
	Kept       []string       `json:"kept"`
	Notes      []string       `json:"notes"`
	Next       []string       `json:"next"`
}

func runInit(ctx context.Context, w World, opts initOptions) error {
	dir, err := w.initDir()
	if err != nil {
		return err
	}
	cfg, err := opts.config(w, dir)
	if err != nil {
		return err
	}
	found, err := project.Look(dir)
	if err != nil {
		return err
	}
	report := newInitReport(dir, found, cfg)
	report.DryRun = opts.dryRun
	if err := report.write(ctx, found); err != nil {
		return err
	}
	report.explain(found, opts.agent != "")
	if opts.asJSON {
		return json.NewEncoder(w.Out).Encode(report)
	}
	report.print(w)
	return nil
}

// initDir is the current folder, unless it is no place for an agent: whoever
// works there could read and change all that the user has.
func (w World) initDir() (string, error) {
	dir, err := workspace.Resolve("")
	if err != nil {
		return "", err
	}
	const hint = "go to the project's own folder, as in: mkdir project && cd project && ralph init"
	if filepath.Dir(dir) == dir {
		return "", usageError{fmt.Errorf("%s is the root of a file system, not a project", dir), hint}
	}
	here, err := os.Stat(dir)
	if err != nil {
		return "", fmt.Errorf("looking at the current folder: %w", err)
	}
	home, err := filepath.EvalSymlinks(w.home())
	if err != nil {
		return dir, nil //nolint:nilerr // a home that does not exist needs no protection
	}
	for at := home; filepath.Dir(at) != at; at = filepath.Dir(at) {
		if info, err := os.Stat(at); err == nil && os.SameFile(here, info) {
			return "", usageError{fmt.Errorf("%s is or holds your home directory, not a project", dir), hint}
		}
	}
	return dir, nil
}

// config is what holds here so far. A ralph.toml that cannot be used is an error
// before anything is written.
func (o initOptions) config(w World, dir string) (config.Config, error) {
	var flags config.Layer
	if o.agent != "" {
		if err := flags.Set("--agent", "agent.name", o.agent); err != nil {
			return config.Config{}, err
		}
	}
	cfg, _, err := config.Read(dir, w.Getenv, &flags)
	return cfg, err
}

func newInitReport(dir string, found project.Project, cfg config.Config) *initReport {
	return &initReport{
		Dir: dir, Kind: found.Kind(), Git: found.Git, Parts: found.Parts,
		Agent: cfg.Agent.Name, Validation: found.Validation(), Allowed: found.Allow(), Packages: found.Packages(),
		Created: []string{}, Kept: []string{}, Notes: []string{},
	}
}

// write creates the files that are missing. Those that are there must be usable.
func (r *initReport) write(ctx context.Context, found project.Project) error {
	root, err := os.OpenRoot(r.Dir)
	if err != nil {
		return fmt.Errorf("opening the project: %w", err)
	}
	defer root.Close()
	files, err := r.missing(root, found)
	if err != nil {
		return err
	}
	if r.DryRun || ctx.Err() != nil {
		return ctx.Err()
	}
	if err := project.Create(root, files); err != nil {
		return withInitHint(err)
	}
	return nil
}

func withInitHint(err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return hinted{err, "the folder must be writable for you; nothing was written"}
	}
	return hinted{err, "nothing was written"}
}

// hinted is an error of the system, with a way on.
type hinted struct {
	error
	hint string
}

func (e hinted) Unwrap() error { return e.error }
func (e hinted) Hint() string  { return e.hint }

// missing makes the files that are not there, and notes those that are.
func (r *initReport) missing(root *os.Root, found project.Project) ([]project.File, error) {
	list, err := task.StarterList(found.Name).Encode()
	if err != nil {
		return nil, err
	}
	var files []project.File
	for _, f := range []struct {
		names []string // any of them will do; the first is what is written
		check func(name string) error
		data  []byte
	}{
		{[]string{config.ProjectFile}, noCheck, []byte(found.ConfigText(r.Agent, []string{task.PromptFile}))},
		{[]string{task.PromptFile}, func(name string) error { _, err := task.LoadPrompt(root, name); return err }, []byte(task.StarterPrompt())},
		{task.Files(), func(name string) error { _, err := task.Load(root, name); return err }, list},
	} {
		name, there, err := existing(root, f.names)
		switch {
		case err != nil:
			return nil, err
		case !there:
			r.Created = append(r.Created, name)
			files = append(files, project.File{Name: name, Data: f.data})
			continue
		}
		if err := f.check(name); err != nil {
			return nil, usageError{err, "mend it or move it away, then run ralph init again; nothing was written"}
		}
		r.Kept = append(r.Kept, name)
	}
	return files, nil
}

// noCheck is for ralph.toml, which was read before.
func noCheck(string) error { return nil }

// existing returns the first of names that is there, or else the first.
func existing(root *os.Root, names []string) (name string, there bool, err error) {
	for _, name := range names {
		_, err := root.Lstat(name)
		switch {
		case err == nil:
			return name, true, nil
		case !errors.Is(err, fs.ErrNotExist):
			return "", false, fmt.Errorf("looking for %s: %w", name, err)
		}
	}
	return names[0], false, nil
}

// explain adds what the user should know, and what to do next.
func (r *initReport) explain(found project.Project, agentGiven bool) {
	switch r.Git {
	case project.GitNone:
		r.Notes = append(r.Notes, "this folder is not in a git repository, so what an agent changes cannot be taken back; git init makes one")
	case project.GitAbove:
		r.Notes = append(r.Notes, "the git repository begins in a folder above this one")
	}
	newConfig := slices.Contains(r.Created, config.ProjectFile)
	if agentGiven && !newConfig {
		r.Notes = append(r.Notes, "ralph.toml was kept: --agent changes nothing in it")
	}
	if newConfig && r.Validation == "" {
		r.Notes = append(r.Notes, strings.Join(append([]string{"no validation command was found; set [validation] command in ralph.toml"}, found.Missing()...), ": "))
	}
	if newConfig && r.Agent == "command" {
		r.Notes = append(r.Notes, "set [agent] command in ralph.toml to your agent's program")
	}
	if r.DryRun {
		r.Next = []string{"ralph init"}
		return
	}
	if slices.Contains(r.Created, task.Files()[0]) {
		r.Next = append(r.Next, "put your own stories into "+task.Files()[0])
	}
	if r.Git != project.GitNone {
		r.Next = append(r.Next, "git add -A && git commit: an agent begins with your last commit")
	}
	r.Next = append(r.Next, "ralph run")
}

func (r *initReport) print(w World) {
	verb := "created"
	if r.DryRun {
		verb = "would create"
	}
	for _, name := range r.Created {
		fmt.Fprintln(w.Out, verb, name)
	}
	for _, name := range r.Kept {
		fmt.Fprintln(w.Out, "kept", name)
	}
	if slices.Contains(r.Created, config.ProjectFile) {
		r.printChoices(w)
	}
	for _, note := range r.Notes {
		fmt.Fprintln(w.Err, "ralph: note:", note)
	}
	for _, next := range r.Next {
		fmt.Fprintln(w.Err, "ralph: hint: next:", next)
	}
}

// printChoices says what ralph.toml was given, and why.
func (r *initReport) printChoices(w World) {
	fmt.Fprintln(w.Out)
	for _, p := range r.Parts {
		fmt.Fprintf(w.Out, "found       %s by %s, because of %s\n", p.Language, p.Tool, filepath.ToSlash(filepath.Join(p.Dir, p.Marker)))
	}
	fmt.Fprintf(w.Out, "agent       %s\n", r.Agent)
	fmt.Fprintf(w.Out, "validation  %s\n", orNone(r.Validation))
	fmt.Fprintf(w.Out, "network     the model's API, and %s\n", orNone(strings.Join(r.Allowed, ", ")))
	if len(r.Packages) > 0 {
		fmt.Fprintf(w.Out, "programs    those of %s, on this machine\n", strings.Join(r.Packages, ", "))
	}
}

func orNone(s string) string {
	if s == "" {
		return "nothing"
	}
	return s
}
