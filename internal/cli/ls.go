package cli

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/agent-loop/ralph/internal/money"
	"github.com/agent-loop/ralph/internal/rundir"
	"github.com/agent-loop/ralph/internal/suggest"
	"github.com/agent-loop/ralph/internal/view"
)

// tableRuns is how many runs a table shows unless the user says otherwise.
const tableRuns = 30

type listOptions struct {
	project  string
	statuses []string
	limit    int
	all      bool
	asJSON   bool
}

func newListCommand(w World) *cobra.Command {
	var opts listOptions
	cmd := &cobra.Command{
		Use:     "ls",
		Aliases: []string{"list"},
		Short:   "List runs, newest first",
		Long: fmt.Sprintf(`Lists the runs of this project, newest first. A run that says it is running while
no process writes it was interrupted. Runs that cannot be read come first.

The project is the current folder, or the nearest above it that has runs. The
table shows the newest %d, --json all; -n says otherwise.`, tableRuns),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch limited := cmd.Flags().Changed("limit"); {
			case limited && opts.all:
				return usageError{errors.New("--all and -n contradict each other"), "leave one of them out"}
			case !limited && !opts.all && !opts.asJSON:
				opts.limit = tableRuns
			}
			return runList(w, opts)
		},
	}
	projectFlag(cmd, &opts.project)
	cmd.Flags().StringSliceVar(&opts.statuses, "status", nil, "only runs that are one of: "+strings.Join(statusWords(), ", "))
	cmd.Flags().IntVarP(&opts.limit, "limit", "n", 0, "at most so many; 0 for all")
	cmd.Flags().BoolVar(&opts.all, "all", false, "all of them")
	cmd.Flags().BoolVar(&opts.asJSON, "json", false, "print a JSON array")
	return cmd
}

func runList(w World, opts listOptions) error {
	if err := opts.check(); err != nil {
		return err
	}
	roots, err := runsRoots(w, opts.project)
	if err != nil {
		return err
	}
	found, err := listRuns(roots, opts.look())
	if err != nil {
		return err
	}
	there := len(found)
	found = slices.DeleteFunc(found, func(s listedRun) bool { return !opts.wants(s.Summary) })
	fitting := len(found)
	if opts.limit > 0 {
		found = found[:min(opts.limit, fitting)]
	}
	if opts.asJSON {
		return printRunJSON(w.Out, entries(found))
	}
	switch {
	case there == 0:
		fmt.Fprintf(w.Err, "ralph: there are no runs in %s\n", visible(roots[0].path))
		fmt.Fprintln(w.Err, "ralph: hint:", noRunsHint)
		return nil
	case fitting == 0:
		fmt.Fprintf(w.Err, "ralph: none of %d runs is %s\n", there, strings.Join(opts.statuses, " or "))
		return nil
	}
	if err := view.List(w.Out, summaries(found), time.Now(), w.screenWidth()); err != nil {
		return err
	}
	if fitting > len(found) {
		fmt.Fprintln(w.Err, "ralph: hint: there are more: ralph ls --all")
	}
	return nil
}

// look is how many runs must be looked at; 0 for all. One more than is shown tells
// that there are more.
func (o listOptions) look() int {
	if o.limit == 0 || len(o.statuses) > 0 {
		return 0
	}
	return o.limit + 1
}

func (o listOptions) check() error {
	if o.limit < 0 {
		return usageError{fmt.Errorf("-n %d is no number of runs", o.limit), "0 lists all"}
	}
	words := statusWords()
	for _, status := range o.statuses {
		if slices.Contains(words, status) {
			continue
		}
		hint := "it can be " + strings.Join(words, ", ")
		if meant := suggest.Nearest(status, words); meant != "" {
			hint = "did you mean " + meant + "?"
		}
		return usageError{fmt.Errorf("--status: a run is never %q", status), hint}
	}
	return nil
}

func (o listOptions) wants(s rundir.Summary) bool {
	return len(o.statuses) == 0 || slices.Contains(o.statuses, string(view.StatusOf(s)))
}

func statusWords() []string {
	var words []string
	for _, status := range view.Statuses() {
		words = append(words, string(status))
	}
	return words
}

func summaries(found []listedRun) []rundir.Summary {
	list := make([]rundir.Summary, 0, len(found))
	for _, s := range found {
		list = append(list, s.Summary)
	}
	return list
}

// runEntry is a run as "ralph ls --json" and "ralph show --json" print it. Of one
// that is broken only id, status, broken and path mean anything.
type runEntry struct {
	ID             string          `json:"id"`
	Status         rundir.Status   `json:"status"`
	Live           bool            `json:"live"`
	Agent          string          `json:"agent"`
	Engine         string          `json:"engine"`
	Model          string          `json:"model"`
	Iteration      int             `json:"iteration"`
	Current        int             `json:"current_iteration"`
	CostUSD        money.USD       `json:"cost_usd"`
	Tokens         rundir.Tokens   `json:"tokens"`
	Limits         rundir.Limits   `json:"limits"`
	StartedAt      time.Time       `json:"started_at"`
	UpdatedAt      time.Time       `json:"updated_at"`
	EndedAt        *time.Time      `json:"ended_at"`
	ElapsedSeconds int64           `json:"elapsed_seconds"`
	StopReason     string          `json:"stop_reason"`
	Resumes        []rundir.Resume `json:"resumes"`
	Workspace      string          `json:"workspace"`
	Branch         string          `json:"branch"`
	Base           string          `json:"base"`
	Commit         string          `json:"commit"`
	Path           string          `json:"path"`
	Broken         string          `json:"broken,omitzero"`

	Verification *rundir.Verification `json:"verification"`
}

func newRunEntry(s rundir.Summary, path string) runEntry {
	return runEntry{
		ID: s.ID, Status: view.StatusOf(s), Live: s.Live, Agent: s.Agent, Engine: s.Engine, Model: s.Model,
		Iteration: s.Iteration, Current: s.Current, CostUSD: s.CostUSD, Tokens: s.Tokens, Limits: s.Limits,
		StartedAt: s.StartedAt, UpdatedAt: s.UpdatedAt, EndedAt: s.EndedAt, ElapsedSeconds: s.ElapsedSeconds,
		StopReason: s.StopReason, Resumes: s.Resumes, Workspace: s.Workspace, Branch: s.Branch, Base: s.Base, Commit: s.Commit,
		Path: path, Broken: s.Broken, Verification: s.Verification,
	}
}

func entries(found []listedRun) []runEntry {
	list := make([]runEntry, 0, len(found))
	for _, s := range found {
		list = append(list, newRunEntry(s.Summary, filepath.Join(s.root, s.ID)))
	}
	return list
}

// printRunJSON prints a value of a run's record. What a terminal might obey is
// escaped, as JSON allows: the reader of the JSON gets it as it was.
func printRunJSON(out io.Writer, value any) error {
	text, err := view.JSON(value)
	if err != nil {
		return fmt.Errorf("encoding the output: %w", err)
	}
	_, err = out.Write(text)
	return err
}
