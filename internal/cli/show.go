package cli

import (
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"github.com/agent-loop/ralph/internal/plaintext"
	"github.com/agent-loop/ralph/internal/rundir"
	"github.com/agent-loop/ralph/internal/view"
)

const whichRun = `RUN is a run's id, its first characters, or what follows its last dash. No RUN, or
"latest", is the newest run.`

func newShowCommand(w World) *cobra.Command {
	var project string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show [RUN]",
		Short: "Show what a run did, used and needs",
		Long: `Shows who works where, the limits and what is used of them, every iteration, how
the last validation failed, what the agent asks, and the command that goes on.

` + whichRun,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeRuns(w, &project),
		RunE: func(_ *cobra.Command, args []string) error {
			return runShow(w, project, runArgument(args), asJSON)
		},
	}
	projectFlag(cmd, &project)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

// runArgument is the RUN of a command line; "" where there is none.
func runArgument(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}

// completeRuns offers ids for a RUN.
func completeRuns(w World, project *string) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		var ids []string
		if roots, err := runsRoots(w, *project); err == nil && len(args) == 0 {
			found, _ := listRuns(roots, tableRuns)
			for _, s := range found {
				ids = append(ids, s.ID)
			}
		}
		return ids, cobra.ShellCompDirectiveNoFileComp
	}
}

func runShow(w World, project, id string, asJSON bool) error {
	reader, err := openRun(w, project, id)
	if err != nil {
		return err
	}
	defer reader.Close()
	r, err := readRun(reader)
	if err != nil {
		return badRecord(err, reader.ID())
	}
	if !asJSON {
		return view.Detail(w.Out, r, time.Now(), w.screenWidth())
	}
	spec, _ := reader.Spec() // a broken one is for ralph verify
	return printRunJSON(w.Out, newRunDetail(r, spec))
}

// readRun reads all that is shown of a run. Without its state there is nothing to
// show; what else cannot be read is named among the problems.
func readRun(reader *rundir.Reader) (view.Run, error) {
	state, err := reader.State()
	if err != nil {
		return view.Run{}, err
	}
	state.ID = reader.ID()
	r := view.Run{Summary: rundir.Summary{State: state}, Path: reader.Path()}
	holder, held, err := reader.Holder()
	r.Note(err)
	if held {
		r.Live, r.Holder = true, &holder
	}
	for it, err := range reader.Iterations() {
		if r.Note(err); err == nil {
			r.Iterations = append(r.Iterations, it)
		}
	}
	_, r.Checkpoint, err = reader.LastCheckpoint()
	r.Note(err)
	for e, err := range reader.EventsOf(view.WorkEvents()...) {
		if r.Note(err); err == nil {
			r.Work.Take(e)
		}
	}
	if state.Status == rundir.NeedsAttention {
		r.AnswerFile, err = answerFile(reader, r.Iterations)
		r.Note(err)
	}
	return r, nil
}

// answerFile finds where the last question may be answered. It was asked during
// or after the last iteration, so that what lies before need not be parsed.
func answerFile(reader *rundir.Reader, its []rundir.Iteration) (file string, err error) {
	from := int64(1)
	if len(its) > 1 {
		from = its[len(its)-2].EventsHead.Count
	}
	for e, err := range reader.Events(from) {
		if err != nil {
			return file, err
		}
		var q rundir.Question
		if e.Type == rundir.EventQuestion && json.Unmarshal(e.Data, &q) == nil {
			file = q.File
		}
	}
	return file, nil
}

// runDetail is what "ralph show --json" prints.
type runDetail struct {
	runEntry     `json:",inline"`
	Holder       *rundir.Holder     `json:"holder"`
	EventsHead   rundir.Head        `json:"events_head"`
	Iterations   []rundir.Iteration `json:"iterations"`
	Checkpoint   rundir.Checkpoint  `json:"checkpoint"`
	Work         view.Work          `json:"work"`
	AnswerFile   string             `json:"answer_file"`
	AgentDiffers bool               `json:"agent_cost_differs"` // by more than a cent
	Next         []string           `json:"next"`
	Problems     []string           `json:"problems"`
	Spec         jsontext.Value     `json:"spec,omitzero"`
}

func newRunDetail(r view.Run, spec jsontext.Value) runDetail {
	_, _, differs := view.AgentDiffers(r.Iterations)
	return runDetail{
		runEntry: newRunEntry(r.Summary, r.Path), Holder: r.Holder, EventsHead: r.EventsHead,
		Iterations: r.Iterations, Checkpoint: r.Checkpoint, Work: r.Work, AnswerFile: r.AnswerFile,
		AgentDiffers: differs, Next: view.Next(r.Summary, r.Checkpoint.Question), Problems: r.Problems, Spec: spec,
	}
}

// badRecord makes an error about a record fit to be printed: what it quotes was
// written by others.
func badRecord(err error, id string) error {
	const most = 1000
	safe := errors.New(plaintext.Line(err.Error(), most))
	var bad *rundir.BadRecordError
	if errors.As(err, &bad) {
		return hinted{safe, fmt.Sprintf("the record of run %s was damaged or changed; ralph verify %s checks all of it", id, id)}
	}
	return safe
}
