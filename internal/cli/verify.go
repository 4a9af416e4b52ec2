package cli

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/agent-loop/ralph/internal/plaintext"
	"github.com/agent-loop/ralph/internal/rundir"
)

type verifyOptions struct {
	project string
	head    string
	asJSON  bool
}

func newVerifyCommand(w World) *cobra.Command {
	var opts verifyOptions
	cmd := &cobra.Command{
		Use:   "verify [RUN]",
		Short: "Prove offline that the record of a run was not altered",
		Long: `Checks that every event follows from the one before, that iterations, checkpoints
and state are what was written, and that the money adds up; and names the first
line that does not. It needs no network, no account and no key.

Whoever can write all files of a run can forge all of them. The head that is
printed, kept elsewhere and given to --head, shows that too.

` + whichRun,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeRuns(w, &opts.project),
		RunE:              func(_ *cobra.Command, args []string) error { return runVerify(w, opts, runArgument(args)) },
	}
	projectFlag(cmd, &opts.project)
	cmd.Flags().StringVar(&opts.head, "head", "", "the head that the record must have, as it was kept elsewhere")
	cmd.Flags().BoolVar(&opts.asJSON, "json", false, "print one JSON object")
	return cmd
}

func runVerify(w World, opts verifyOptions, id string) error {
	want, err := opts.wantedHead()
	if err != nil {
		return err
	}
	place, err := findRun(w, opts.project, id)
	if err != nil {
		return err
	}
	report, err := rundir.Verify(place.root, place.id)
	report.ID = place.id
	if err == nil && opts.head != "" && report.Head != want {
		err = &rundir.BadRecordError{
			File: "logs/events.jsonl", Line: int(report.Events),
			What: fmt.Sprintf("the head is %v, not %v", report.Head, want),
		}
	}
	if opts.asJSON {
		return errors.Join(printRunJSON(w.Out, newVerified(report, err)), notVerified(err, place.id))
	}
	if err != nil {
		return notVerified(err, place.id)
	}
	printVerified(w.Out, report)
	return nil
}

func (o verifyOptions) wantedHead() (want rundir.Hash, err error) {
	if o.head == "" {
		return want, nil
	}
	if err := want.UnmarshalText([]byte(o.head)); err != nil {
		return want, usageError{fmt.Errorf("--head %q is no hash: it has 64 hexadecimal digits", o.head), "ralph verify prints the head"}
	}
	return want, nil
}

// verified is what "ralph verify --json" prints. Of a record that is bad, the
// figures are good as far as the check came.
type verified struct {
	OK            bool `json:"ok"`
	rundir.Report `json:",inline"`
	Problem       *badPlace `json:"problem"`
}

// badPlace is the first thing that is wrong with a record.
type badPlace struct {
	File string `json:"file"`
	Line int    `json:"line"` // 0: the file as a whole
	What string `json:"what"`
}

func newVerified(report rundir.Report, err error) verified {
	v := verified{OK: err == nil, Report: report}
	var bad *rundir.BadRecordError
	switch {
	case errors.As(err, &bad):
		v.Problem = &badPlace{bad.File, bad.Line, bad.What}
	case err != nil:
		v.Problem = &badPlace{What: err.Error()}
	}
	return v
}

func notVerified(err error, id string) error {
	if err == nil {
		return nil
	}
	safe := errors.New(plaintext.Line(err.Error(), maxSentence))
	var bad *rundir.BadRecordError
	if errors.As(err, &bad) {
		return hinted{safe, fmt.Sprintf("the record of run %s was damaged or changed; do not rely on it", id)}
	}
	return safe
}

func printVerified(out io.Writer, r rundir.Report) {
	fmt.Fprintf(out, "run %s is as it was written\n", r.ID)
	fmt.Fprintf(out, "  events       %d\n", r.Events)
	fmt.Fprintf(out, "  iterations   %d\n", r.Iterations)
	fmt.Fprintf(out, "  checkpoints  %d\n", r.Checkpoints)
	fmt.Fprintf(out, "  charges      %d, of %v and %d tokens\n", r.Charges, r.CostUSD, r.Tokens.Total())
	fmt.Fprintf(out, "  head         %v\n", r.Head)
	if r.Unsealed > 0 {
		fmt.Fprintf(out, "  unsealed     %d came after the state was last saved; that none was cut off behind them is not proved\n", r.Unsealed)
	}
	if r.TornBytes > 0 {
		fmt.Fprintf(out, "  unfinished   %d bytes of a last line, which its writer is at or was killed at\n", r.TornBytes)
	}
}
