package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/agent-loop/ralph/internal/token"
)

// expiresSoon is how many days before its end a credential is worth a word.
const expiresSoon = 14

type checkTokenOptions struct {
	tokenOptions
	offline bool
	asJSON  bool
}

func newCheckTokenCommand(w World) *cobra.Command {
	var opts checkTokenOptions
	cmd := &cobra.Command{
		Use:   "check-token",
		Short: "Say whether the stored credential of an agent is valid, and for how long",
		Long: `Says whether the stored credential of an agent is valid, and for how many days.
It asks the provider; for a set-up token and a login that is a request to a model
for one token, as there is no other way. A login that is about to expire is renewed.

Exit code 0 means valid. Otherwise it is 1, with the command that mends it.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runCheckToken(cmd.Context(), w, opts) },
	}
	opts.addFlags(cmd)
	cmd.Flags().BoolVar(&opts.asJSON, "json", false, "print one JSON object")
	return cmd
}

func (o *checkTokenOptions) addFlags(cmd *cobra.Command) {
	o.addAgentFlag(cmd)
	o.addUpstreamFlag(cmd)
	cmd.Flags().BoolVar(&o.offline, "offline", false, "look only at what is stored, and ask nobody")
}

func newEnsureTokenCommand(w World) *cobra.Command {
	var opts checkTokenOptions
	cmd := &cobra.Command{
		Use:     "ensure-token",
		Aliases: []string{"ensure"},
		Short:   "Check the stored credential of an agent, and get one if it does not do",
		Long: `Does what check-token does. If there is no credential, or one that has expired or
is rejected, it goes on as store-token in a terminal; elsewhere it fails with the
command to run.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runEnsureToken(cmd.Context(), w, opts) },
	}
	opts.addFlags(cmd)
	return cmd
}

// tokenReport is what "ralph check-token --json" prints.
type tokenReport struct {
	Agent       string      `json:"agent"`
	State       token.State `json:"state"` // also "missing"
	Reason      string      `json:"reason,omitempty"`
	Kind        token.Kind  `json:"kind,omitempty"`
	Fingerprint string      `json:"fingerprint,omitempty"`
	StoredIn    string      `json:"stored_in,omitempty"`
	StoredAt    *time.Time  `json:"stored_at,omitempty"`
	ExpiresAt   *time.Time  `json:"expires_at,omitempty"`
	DaysLeft    *int        `json:"days_left,omitempty"`
}

func runCheckToken(ctx context.Context, w World, opts checkTokenOptions) error {
	wal, err := opts.open(w)
	if err != nil {
		return err
	}
	report, err := wal.check(ctx, opts.offline)
	if opts.asJSON {
		return errors.Join(err, json.NewEncoder(w.Out).Encode(report))
	}
	if err == nil {
		report.print(w, opts.offline)
	}
	return err
}

func runEnsureToken(ctx context.Context, w World, opts checkTokenOptions) error {
	wal, err := opts.open(w)
	if err != nil {
		return err
	}
	report, err := wal.check(ctx, opts.offline)
	if err == nil {
		report.print(w, opts.offline)
		return nil
	}
	var login *token.LoginError
	if _, isTerminal := terminalOf(w.In); !isTerminal || !errors.As(err, &login) {
		return err
	}
	fmt.Fprintln(w.Err, "ralph:", err)
	return runStoreToken(ctx, w, storeTokenOptions{tokenOptions: opts.tokenOptions, noCheck: opts.offline})
}

// check finds out what is known about the credential. The error is for whoever
// needs a valid one; the report says the same.
func (wal *wallet) check(ctx context.Context, offline bool) (tokenReport, error) {
	report := tokenReport{Agent: wal.agent, State: "missing"}
	record, where, err := wal.store.Load(ctx, wal.agent)
	if err != nil {
		report.Reason = err.Error()
		return report, err
	}
	status := token.Local(record, time.Now())
	if !offline && status.State == token.Valid {
		record, status, err = wal.ask(ctx, record)
	}
	report.fill(record, where, status)
	if err == nil {
		err = wal.verdict(status)
	}
	return report, err
}

// ask asks the provider, with a renewed credential if that is due or if the old
// one is rejected.
func (wal *wallet) ask(ctx context.Context, old token.Record) (token.Record, token.Status, error) {
	source := wal.store.Source(wal.agent)
	now, err := source.Token(ctx)
	if err != nil {
		return old, failedStatus(err), err
	}
	record, status := wal.askAbout(ctx, old, now)
	if status.State != token.Invalid || !old.Renewable() {
		return record, status, ctx.Err()
	}
	if now, err = source.Rejected(ctx, now); err != nil {
		return record, failedStatus(err), err
	}
	record, status = wal.askAbout(ctx, old, now)
	return record, status, ctx.Err()
}

func (wal *wallet) askAbout(ctx context.Context, old token.Record, now token.Credential) (token.Record, token.Status) {
	record, _, err := wal.store.Load(ctx, wal.agent) // it may have been renewed
	if err != nil {
		record = old
	}
	record.Kind, record.Secret = now.Kind, now.Secret
	return record, token.Check(ctx, record, nil, wal.upstreamFor(record.Kind))
}

// failedStatus is that of a credential that could not be had or renewed.
func failedStatus(err error) token.Status {
	var login *token.LoginError
	if errors.As(err, &login) {
		return token.Status{State: token.Invalid, Reason: login.Detail}
	}
	return token.Status{State: token.Unchecked, Reason: err.Error()}
}

// verdict is the error for whoever needs a valid credential.
func (wal *wallet) verdict(status token.Status) error {
	switch status.State {
	case token.Valid:
		return nil
	case token.Invalid:
		return &token.LoginError{Agent: wal.agent, Reason: token.Rejected, Detail: status.Reason, Fix: "ralph store-token --agent " + wal.agent}
	}
	return withTokenHint(fmt.Errorf("the credential for %s could not be checked: %s", wal.agent, status.Reason),
		"--offline looks only at what is stored")
}

func (r *tokenReport) fill(record token.Record, where string, status token.Status) {
	r.State, r.Reason, r.StoredIn = status.State, status.Reason, where
	r.Kind, r.Fingerprint, r.StoredAt = record.Kind, record.Secret.Fingerprint(), &record.StoredAt
	if !status.ExpiresAt.IsZero() {
		r.ExpiresAt, r.DaysLeft = &status.ExpiresAt, &status.DaysLeft
	}
}

// print says what is known about a credential that is valid.
func (r *tokenReport) print(w World, offline bool) {
	verb := "is valid"
	if offline {
		verb = "has not expired"
	}
	fmt.Fprintf(w.Out, "%s: the %s %s %s", r.Agent, r.Kind.Describe(), r.Fingerprint, verb)
	if r.DaysLeft != nil {
		fmt.Fprintf(w.Out, ", %d days left", *r.DaysLeft)
	}
	if r.Reason != "" {
		fmt.Fprintf(w.Out, "; %s", r.Reason)
	}
	fmt.Fprintln(w.Out)
	warnOfEnd(w.Err, r)
}

func warnOfEnd(out io.Writer, r *tokenReport) {
	if r.DaysLeft != nil && *r.DaysLeft < expiresSoon {
		fmt.Fprintf(out, "ralph: hint: it ends on %s; ralph store-token --agent %s gets a new one\n", r.ExpiresAt.Local().Format(time.DateOnly), r.Agent)
	}
}
