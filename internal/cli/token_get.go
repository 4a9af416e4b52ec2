package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
)

func newGetTokenCommand(w World) *cobra.Command {
	var opts tokenOptions
	cmd := &cobra.Command{
		Use:   "get-token",
		Short: "Print the stored credential of an agent, for another program",
		Long: `Prints the stored credential of an agent on standard output. It renews a login
that is about to expire, but does not ask the provider about the others.`,
		Example: `  ralph get-token --agent codex | other-program --key-from-stdin`,
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runGetToken(cmd.Context(), w, opts) },
	}
	opts.addAgentFlag(cmd)
	return cmd
}

func runGetToken(ctx context.Context, w World, opts tokenOptions) error {
	wal, err := opts.open(w)
	if err != nil {
		return err
	}
	credential, err := wal.store.Source(wal.agent).Token(ctx)
	if err != nil {
		return err
	}
	if _, ok := terminalOf(w.Out); ok {
		fmt.Fprintln(w.Err, "ralph: warning: this is a secret, and now it is in what your terminal remembers")
	}
	_, err = fmt.Fprintln(w.Out, credential.Secret.Reveal())
	return err
}

func newForgetTokenCommand(w World) *cobra.Command {
	var opts tokenOptions
	cmd := &cobra.Command{
		Use:   "forget-token",
		Short: "Remove the stored credential of an agent from this machine",
		Long: `Removes the stored credential of an agent from this machine. The provider still
takes it: to end it there, use the provider's own pages.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runForgetToken(cmd.Context(), w, opts) },
	}
	opts.addAgentFlag(cmd)
	return cmd
}

func runForgetToken(ctx context.Context, w World, opts tokenOptions) error {
	wal, err := opts.open(w)
	if err != nil {
		return err
	}
	from, err := wal.store.Forget(ctx, wal.agent)
	for _, where := range from {
		fmt.Fprintf(w.Out, "removed the credential for %s from %s\n", wal.agent, where)
	}
	if err == nil && len(from) == 0 {
		fmt.Fprintf(w.Err, "ralph: there is no credential for %s\n", wal.agent)
	}
	return err
}
