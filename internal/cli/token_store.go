package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/agent-loop/ralph/internal/token"
)

type storeTokenOptions struct {
	tokenOptions
	kind     string
	noCheck  bool
	imported bool
}

func newStoreTokenCommand(w World) *cobra.Command {
	var opts storeTokenOptions
	cmd := &cobra.Command{
		Use:   "store-token",
		Short: "Store a credential for an agent, on this machine and outside every sandbox",
		Long: `Stores a credential for an agent in the keyring of this system or, where there
is none, in a file that only you can read. It never enters a sandbox.

In a terminal, it gets a Claude token with "claude setup-token", and asks for
every other one. Otherwise it reads it from standard input. It asks the provider
whether the credential is valid before it replaces an older one.`,
		Example: `  ralph store-token
  ralph store-token --agent codex < key.txt
  ralph store-token --kind bearer --upstream https://gateway.example.com < key.txt
  ralph store-token --import`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runStoreToken(cmd.Context(), w, opts) },
	}
	opts.addAgentFlag(cmd)
	opts.addUpstreamFlag(cmd)
	f := cmd.Flags()
	f.StringVar(&opts.kind, "kind", "", "what it is: setup-token, anthropic-key, openai-key, gemini-key, bearer (its beginning tells)")
	f.BoolVar(&opts.noCheck, "no-check", false, "store it without asking the provider")
	f.BoolVar(&opts.imported, "import", false, "take over the login of Claude Code, with its refresh token")
	return cmd
}

func runStoreToken(ctx context.Context, w World, opts storeTokenOptions) error {
	wal, err := opts.open(w)
	if err != nil {
		return err
	}
	kind := token.Kind("")
	if opts.kind != "" {
		if kind, err = token.ParseKind(opts.kind); err != nil {
			return usageError{err, ""}
		}
	}
	if err := checkAgent(wal.agent, kind); err != nil {
		return err
	}
	record, err := opts.obtain(ctx, w, wal, kind)
	if err != nil {
		return err
	}
	if !opts.noCheck {
		if err := checkNew(ctx, wal, record); err != nil {
			return err
		}
	}
	where, err := wal.store.Save(ctx, record)
	if err != nil {
		return err
	}
	fmt.Fprintf(w.Out, "stored the %s %s for %s in %s\n", record.Kind.Describe(), record.Secret.Fingerprint(), wal.agent, where)
	return nil
}

// obtain gets the credential from wherever it is.
func (o *storeTokenOptions) obtain(ctx context.Context, w World, wal *wallet, kind token.Kind) (token.Record, error) {
	if o.imported {
		return o.takeOver(w, wal, kind)
	}
	in, isTerminal := terminalOf(w.In)
	var text string
	var err error
	switch {
	case isTerminal && wal.agent == "claude" && (kind == "" || kind == token.SetupToken):
		text, err = setUpClaude(ctx, w, in)
	case isTerminal:
		text, err = promptSecret(ctx, w, in, "paste the credential for "+wal.agent)
	default:
		text, err = readSecret(ctx, w.In)
	}
	if err != nil {
		return token.Record{}, err
	}
	return token.Parse(wal.agent, kind, text, time.Now())
}

// readSecret reads to the end of in, unless an interrupt comes first: whoever
// writes into a pipe may never end it. It reads more than a credential can have,
// so that one that is too long is not cut off.
func readSecret(ctx context.Context, in io.Reader) (string, error) {
	type answer struct {
		data []byte
		err  error
	}
	answered := make(chan answer, 1)
	go func() {
		data, err := io.ReadAll(io.LimitReader(in, 2*token.MaxSize))
		answered <- answer{data, err}
	}()
	select {
	case <-ctx.Done(): // reading goes on until ralph ends
		return "", ctx.Err()
	case a := <-answered:
		if a.err != nil {
			return "", fmt.Errorf("reading the credential: %w", a.err)
		}
		if strings.TrimSpace(string(a.data)) == "" {
			return "", usageError{errors.New("there is no credential on standard input"), "ralph store-token < FILE, or run it in a terminal"}
		}
		return string(a.data), nil
	}
}

// takeOver reads the login of Claude Code.
func (o *storeTokenOptions) takeOver(w World, wal *wallet, kind token.Kind) (token.Record, error) {
	if wal.agent != "claude" || (kind != "" && kind != token.ClaudeLogin) {
		return token.Record{}, usageError{errors.New("--import takes over a login of Claude Code, and nothing else"), "leave out --agent and --kind"}
	}
	dir := w.Getenv("CLAUDE_CONFIG_DIR")
	if dir == "" {
		dir = filepath.Join(w.home(), ".claude")
	}
	path := filepath.Join(dir, ".credentials.json")
	record, err := token.ReadClaudeLogin(path, time.Now())
	if err != nil {
		return token.Record{}, err
	}
	if !o.noCheck && !record.ExpiresAt.IsZero() && time.Now().After(record.ExpiresAt) {
		return token.Record{}, withTokenHint(errors.New("the login of Claude Code has expired and cannot be checked"),
			`start "claude" once, which renews it, and import it again`)
	}
	fmt.Fprintf(w.Err, "ralph: note: the login is ralph's from now on: its refresh token works once, so when ralph renews the login, the copy in %s ends, and Claude Code asks you to log in again\n", path)
	fmt.Fprintln(w.Err, "ralph: note: ralph store-token without --import gets a token that is ralph's own")
	return record, nil
}

// checkNew asks the provider about a credential that is to be stored.
func checkNew(ctx context.Context, wal *wallet, record token.Record) error {
	status := token.Check(ctx, record, nil, wal.upstreamFor(record.Kind))
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case status.State == token.Valid:
		return nil
	case status.State == token.Unchecked:
		return withTokenHint(fmt.Errorf("the credential could not be checked and was not stored: %s", status.Reason),
			"--no-check stores it without asking the provider, --upstream URL asks another one")
	}
	return withTokenHint(fmt.Errorf("the credential is not valid and was not stored: %s", status.Reason),
		"copy it again, or get a new one")
}

// tokenError is an error with the way on.
type tokenError struct {
	error
	hint string
}

func withTokenHint(err error, hint string) error { return tokenError{err, hint} }

func (e tokenError) Unwrap() error { return e.error }
func (e tokenError) Hint() string  { return e.hint }
