package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agent-loop/ralph/internal/git"
	"github.com/agent-loop/ralph/internal/plaintext"
	"github.com/agent-loop/ralph/internal/view"
)

type applyOptions struct {
	project        string
	run            string
	squash         bool
	sign           bool
	allowProtected bool
	asJSON         bool
}

func newApplyCommand(w World) *cobra.Command {
	var opts applyOptions
	cmd := &cobra.Command{
		Use:   "apply [RUN]",
		Short: "Merge what a run did into the branch that you are on",
		Long: `Merges the commits of a run into the branch that is checked out in its project: a
fast-forward where that is possible, a merge commit of yours elsewhere. What you have
not committed stays as it is. If it is in the way, or the merge has conflicts, nothing
is changed, and you are told what to do. No hooks and no filters run.

With --squash the changes are put into your files and the index, and nothing is
committed: look at them with "git diff --cached", and commit what you want.

Work that was not verified is merged as well, and you are told. Changes of files that
programs of yours would obey, such as settings of editors, need --allow-protected.

` + whichRun,
		Example: `  ralph apply
  ralph apply k3f9q2 --squash
  ralph apply k3f9q2 --allow-protected`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeRuns(w, &opts.project),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.run = runArgument(args)
			return runApply(cmd.Context(), w, opts)
		},
	}
	projectFlag(cmd, &opts.project)
	f := cmd.Flags()
	f.BoolVar(&opts.squash, "squash", false, "put the changes into files and index, and commit nothing")
	f.BoolVar(&opts.sign, "sign", false, "sign the merge commit with your own key")
	f.BoolVar(&opts.allowProtected, "allow-protected", false, "also changes of files that programs of yours would obey")
	f.BoolVar(&opts.asJSON, "json", false, "print one JSON object")
	cmd.MarkFlagsMutuallyExclusive("squash", "sign")
	return cmd
}

func runApply(ctx context.Context, w World, o applyOptions) error {
	h, err := openWork(ctx, w, o.project, o.run)
	if err != nil {
		return err
	}
	defer h.reader.Close()
	if h.inPlace() {
		return usageError{fmt.Errorf("the work of run %s is in your files already", h.reader.ID()), "look at it with git diff, and commit it with git"}
	}
	if err := h.checkWork(); err != nil {
		return err
	}
	request := git.Apply{
		Commit: h.state.Commit, Name: "run " + h.reader.ID(), Squash: o.squash,
		Protected: h.obeys, AllowProtected: o.allowProtected, Getenv: w.Getenv,
	}
	if o.sign || h.config.Git.Sign && !o.squash {
		if request.Signer, err = h.store.Repo.UserSigner(ctx, w.Getenv); err != nil {
			return err
		}
	}
	h.noteUnverified(w)
	if err := h.catchUp(ctx, w); err != nil {
		return err
	}
	applied, err := h.store.Repo.Apply(ctx, request)
	if err != nil {
		return h.notApplied(err)
	}
	return h.reportApplied(ctx, w, applied, o)
}

// checkWork refuses a run that did nothing, or whose record names no commit.
func (h *workOf) checkWork() error {
	if !view.HasWork(h.state) {
		return usageError{fmt.Errorf("run %s changed nothing", h.reader.ID()), "ralph show " + h.reader.ID() + " tells what it did"}
	}
	_, err := h.span(0)
	return err
}

// noteUnverified tells that nothing has shown that the work is good.
func (h *workOf) noteUnverified(w World) {
	if ok, why := view.Verified(h.state); !ok {
		fmt.Fprintln(w.Err, "ralph: note: not verified:", plaintext.Line(why, maxSentence))
	}
}

// notApplied names what is in conflict: the paths are what is needed to go on.
func (h *workOf) notApplied(err error) error {
	var conflict *git.ConflictError
	if !errors.As(err, &conflict) {
		return err
	}
	const most = 50
	text := fmt.Sprintf("%s does not merge into %s by itself; both changed", conflict.Name, conflict.Branch)
	for _, path := range conflict.Paths[:min(len(conflict.Paths), most)] {
		text += "\n  " + visible(path)
	}
	if more := len(conflict.Paths) - most; more > 0 {
		text += fmt.Sprintf("\n  and %d more", more)
	}
	return hinted{errors.New(text), conflict.Hint()}
}

// applyReport is what "ralph apply --json" prints.
type applyReport struct {
	Run         string `json:"run"`
	Branch      string `json:"branch"` // what it was merged into
	From        string `json:"from"`   // where that was
	To          string `json:"to"`
	Commits     int    `json:"commits"` // of the run
	Files       int    `json:"files"`
	FastForward bool   `json:"fast_forward"`
	Squashed    bool   `json:"squashed"` // and not committed
	Nothing     bool   `json:"nothing"`  // it was there already
	Verified    bool   `json:"verified"`
}

func (h *workOf) reportApplied(ctx context.Context, w World, a git.Applied, o applyOptions) error {
	commits, err := h.store.Commits(ctx, h.state.Base, h.state.Commit)
	if err != nil {
		return err
	}
	ok, _ := view.Verified(h.state)
	if o.asJSON {
		return printRunJSON(w.Out, applyReport{h.reader.ID(), a.Branch, a.From, a.To, len(commits), a.Files, a.FastForward, a.Squashed, a.Nothing, ok})
	}
	files := fmt.Sprintf("%d %s", a.Files, plural(a.Files, "file", "files"))
	switch {
	case a.Nothing:
		fmt.Fprintf(w.Out, "%s has all of run %s already\n", visible(a.Branch), h.reader.ID())
		return nil
	case a.Squashed:
		fmt.Fprintf(w.Out, "put the changes of run %s into your files on %s: %s, nothing is committed\n", h.reader.ID(), visible(a.Branch), files)
		printStat(w, a.Stat)
		fmt.Fprintln(w.Err, "ralph: hint: look at them: git diff --cached; keep them: git commit; undo them: git reset --merge")
		return nil
	}
	fmt.Fprintf(w.Out, "merged %d %s of run %s into %s: %s\n", len(commits), plural(len(commits), "commit", "commits"), h.reader.ID(), visible(a.Branch), files)
	printStat(w, a.Stat)
	fmt.Fprintln(w.Err, "ralph: hint: to undo it: git reset --keep", view.Commit(a.From))
	return nil
}

// printStat prints how much of which files was changed.
func printStat(w World, stat string) {
	for line := range strings.Lines(stat) {
		fmt.Fprintln(w.Out, visible(strings.TrimRight(line, "\n")))
	}
}
