package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/agent-loop/ralph/internal/git"
	"github.com/agent-loop/ralph/internal/plaintext"
	"github.com/agent-loop/ralph/internal/rundir"
	"github.com/agent-loop/ralph/internal/view"
)

type diffOptions struct {
	project   string
	run       string
	iteration int // 0: the whole run
	stat      bool
	names     bool
	asJSON    bool
}

func newDiffCommand(w World) *cobra.Command {
	var opts diffOptions
	cmd := &cobra.Command{
		Use:   "diff [RUN [N]]",
		Short: "Show what a run changed, or one of its iterations",
		Long: `Shows what the commits of a run changed since it began, or what iteration N did. It
shows what came home: files that the agent has not committed are not part of it.

In a pipe it is a patch that "git apply" takes, byte for byte. On a terminal it has
colours, and characters that the terminal would obey are written out. Files that
programs of yours would obey, such as settings of editors, are named on standard
error if they were changed.

` + whichRun,
		Example: `  ralph diff
  ralph diff k3f9q2 3
  ralph diff k3f9q2 --stat
  ralph diff latest | git apply --check`,
		Args:              cobra.MaximumNArgs(2),
		ValidArgsFunction: completeRuns(w, &opts.project),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if opts.run = runArgument(args); len(args) > 1 {
				if opts.iteration, err = iterationArgument(args[1], 1); err != nil {
					return err
				}
			}
			return runDiff(cmd.Context(), w, opts)
		},
	}
	projectFlag(cmd, &opts.project)
	f := cmd.Flags()
	f.BoolVar(&opts.stat, "stat", false, "how much of which files was changed")
	f.BoolVar(&opts.names, "name-only", false, "the names of the files alone")
	f.BoolVar(&opts.asJSON, "json", false, "print one JSON object: commits and names of files")
	cmd.MarkFlagsMutuallyExclusive("stat", "name-only", "json")
	return cmd
}

// iterationArgument is the N of a command line.
func iterationArgument(text string, least int) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < least {
		return 0, usageError{fmt.Errorf("%q is no number of an iteration", text), fmt.Sprintf("they count from %d on; ralph show lists them", least)}
	}
	return n, nil
}

func runDiff(ctx context.Context, w World, o diffOptions) error {
	h, err := openWork(ctx, w, o.project, o.run)
	if err != nil {
		return err
	}
	defer h.reader.Close()
	span, err := h.span(o.iteration)
	if err != nil {
		return err
	}
	paths, err := h.changed(ctx, span)
	if err != nil {
		return err
	}
	if o.asJSON {
		return h.printDiffJSON(ctx, w, span, paths)
	}
	if len(paths) == 0 {
		fmt.Fprintln(w.Err, "ralph:", h.nothing(o.iteration))
		return nil
	}
	noteObeyed(w.Err, h.obeyed(paths))
	return h.printDiff(ctx, w, span, o)
}

// nothing says that there is nothing to see.
func (h *workOf) nothing(iteration int) string {
	if iteration == 0 {
		return fmt.Sprintf("run %s changed nothing", h.reader.ID())
	}
	text := fmt.Sprintf("iteration %d changed nothing", iteration)
	for e, err := range h.reader.EventsOf(rundir.EventImport) {
		var told view.Work
		if told.Take(e); err == nil && e.Iteration == iteration && told.Refused != "" {
			text = fmt.Sprintf("nothing of iteration %d came home: %s", iteration, plaintext.Line(told.Refused, maxSentence))
		}
	}
	return text
}

// noteObeyed warns of changed files that programs of the user's would obey.
func noteObeyed(out io.Writer, paths []string) {
	const most = 10
	if len(paths) == 0 {
		return
	}
	text := strings.Join(paths[:min(len(paths), most)], ", ")
	if more := len(paths) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	fmt.Fprintln(out, "ralph: note: programs of yours would obey what was changed here:", visible(text))
}

// maxNames bounds the names of changed files that are held in memory.
const maxNames = 64 << 20

// changed lists the files that a span changed.
func (h *workOf) changed(ctx context.Context, span rundir.Span) ([]string, error) {
	var out bytes.Buffer
	if span.From == span.To {
		return nil, nil
	}
	err := h.store.Diff(ctx, &capped{to: &out, left: maxNames}, span.From, span.To, git.DiffOptions{NamesOnly: true})
	if err != nil {
		return nil, fmt.Errorf("looking at the changes of run %s: %w", h.reader.ID(), err)
	}
	var paths []string
	for line := range strings.Lines(out.String()) {
		paths = append(paths, unquoted(strings.TrimSuffix(line, "\n")))
	}
	return paths, nil
}

// unquoted is a path as it is; git puts one with unusual characters in quotes.
func unquoted(path string) string {
	if !strings.HasPrefix(path, `"`) {
		return path
	}
	if plain, err := strconv.Unquote(path); err == nil {
		return plain
	}
	return path
}

// diffReport is what "ralph diff --json" prints.
type diffReport struct {
	Run       string        `json:"run"`
	From      string        `json:"from"`
	To        string        `json:"to"`
	Commits   []commitEntry `json:"commits"` // oldest first
	Files     []string      `json:"files"`
	Protected []string      `json:"protected"` // of these, those that programs of the user's would obey
}

type commitEntry struct {
	Hash    string `json:"hash"`
	Subject string `json:"subject"`
}

func (h *workOf) printDiffJSON(ctx context.Context, w World, span rundir.Span, paths []string) error {
	report := diffReport{Run: h.reader.ID(), From: span.From, To: span.To, Commits: []commitEntry{}, Files: append([]string{}, paths...), Protected: h.obeyed(paths)}
	commits, err := h.store.Commits(ctx, span.From, span.To)
	if err != nil {
		return err
	}
	for _, c := range commits {
		report.Commits = append(report.Commits, commitEntry{c.Hash, c.Subject})
	}
	return printRunJSON(w.Out, report)
}

// printDiff prints the changes: as they are, or as a terminal may get them.
func (h *workOf) printDiff(ctx context.Context, w World, span rundir.Span, o diffOptions) error {
	out := &keepsError{to: w.Out}
	var to io.Writer = out
	shown := &view.Patch{Out: out, Color: w.Getenv("NO_COLOR") == "" && w.Getenv("TERM") != "dumb" && !o.stat && !o.names}
	if _, terminal := terminalOf(w.Out); terminal {
		to = shown
	}
	err := h.store.Diff(ctx, to, span.From, span.To, git.DiffOptions{Stat: o.stat, NamesOnly: o.names})
	if err == nil {
		err = shown.Close()
	}
	if errors.Is(out.err, syscall.EPIPE) { // whoever read has seen enough
		return nil
	}
	return err
}

// keepsError remembers why the output takes no more: git only tells that it was
// ended.
type keepsError struct {
	to  io.Writer
	err error
}

func (k *keepsError) Write(data []byte) (int, error) {
	n, err := k.to.Write(data)
	if k.err == nil {
		k.err = err
	}
	return n, err
}
