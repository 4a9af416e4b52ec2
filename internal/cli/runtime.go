package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/agent-loop/ralph/internal/ociruntime"
)

type runtimeOptions struct {
	place  ociruntime.Place
	force  bool
	asJSON bool
}

func newRuntimeCommand(w World) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "runtime",
		Short: "Give Docker and Podman the gVisor in this program as the runtime runsc",
		Long: `Gives Docker and Podman the gVisor that is in this program, as the OCI runtime
runsc: containers then have a kernel of their own, as with the engine gvisor.

Podman needs no entry; it takes the path of the runtime.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newRuntimeInstallCommand(w), newRuntimeStatusCommand(w), newRuntimeRemoveCommand(w))
	return cmd
}

// addFlags adds what all the runtime commands take.
func (o *runtimeOptions) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.place.Dir, "dir", "/usr/local/lib/ralph", "the folder of the runtime")
	f.StringVar(&o.place.DockerConfig, "docker-config", "/etc/docker/daemon.json", "Docker's configuration; empty: leave Docker alone")
	f.BoolVar(&o.asJSON, "json", false, "print one JSON object")
}

func newRuntimeInstallCommand(w World) *cobra.Command {
	var opts runtimeOptions
	cmd := &cobra.Command{
		Use:   "install",
		Short: "Copy this program to be the runtime runsc, and name it in Docker's configuration",
		Long: `Copies this program to be the runtime runsc, and names it in Docker's
configuration, of which everything else stays as it is; what it was before the
first change is kept beside it as daemon.json.before-ralph. Docker learns of it
when its configuration is loaded again.

The copy does not follow this program: install it again after an update.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return runRuntimeInstall(w, opts) },
	}
	opts.addFlags(cmd)
	cmd.Flags().BoolVar(&opts.force, "force", false, "replace a runtime runsc that is not ralph's")
	return cmd
}

func newRuntimeStatusCommand(w World) *cobra.Command {
	var opts runtimeOptions
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Tell whether the runtime is installed, current, and named in Docker's configuration",
		Args:  cobra.NoArgs,
		RunE:  func(*cobra.Command, []string) error { return runRuntimeStatus(w, opts) },
	}
	opts.addFlags(cmd)
	return cmd
}

func newRuntimeRemoveCommand(w World) *cobra.Command {
	var opts runtimeOptions
	cmd := &cobra.Command{
		Use:     "remove",
		Aliases: []string{"rm"},
		Short:   "Take the runtime out of Docker's configuration and delete it",
		Long: `Takes the runtime out of Docker's configuration and deletes it. Remove the
containers that use it first: nothing could stop them afterwards.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return runRuntimeRemove(w, opts) },
	}
	opts.addFlags(cmd)
	return cmd
}

func runRuntimeInstall(w World, opts runtimeOptions) error {
	if err := mayInstall(); err != nil {
		return err
	}
	change, err := ociruntime.Install(opts.place, thisProgram, opts.force)
	if err != nil {
		return runtimeFailure(err)
	}
	if opts.asJSON {
		return json.NewEncoder(w.Out).Encode(change)
	}
	t := newRuntimeTable(w.Out)
	t.row("runtime", change.Path, changedWords(change.Binary, "installed"))
	if change.DockerConfig != "" {
		t.row("docker", change.DockerConfig, changedWords(change.Config, "names it "+ociruntime.Name))
		t.row("next", "systemctl reload docker", "then docker run --runtime "+ociruntime.Name)
	}
	t.row("podman", "podman --runtime "+change.Path, "needs no entry")
	return t.Flush()
}

func runRuntimeStatus(w World, opts runtimeOptions) error {
	if err := onLinux(); err != nil {
		return err
	}
	state, err := ociruntime.Look(opts.place, thisProgram)
	if err != nil {
		return err
	}
	if opts.asJSON {
		return json.NewEncoder(w.Out).Encode(state)
	}
	t := newRuntimeTable(w.Out)
	t.row("runtime", state.Path, binaryWords(state))
	if state.DockerConfig != "" {
		t.row("docker", state.DockerConfig, dockerWords(state))
	}
	return t.Flush()
}

func runRuntimeRemove(w World, opts runtimeOptions) error {
	if err := mayInstall(); err != nil {
		return err
	}
	change, err := ociruntime.Remove(opts.place)
	if err != nil {
		return runtimeFailure(err)
	}
	if opts.asJSON {
		return json.NewEncoder(w.Out).Encode(change)
	}
	t := newRuntimeTable(w.Out)
	t.row("runtime", change.Path, removedWords(change.Binary))
	if change.DockerConfig != "" {
		t.row("docker", change.DockerConfig, removedWords(change.Config))
	}
	if change.Config {
		t.row("next", "systemctl reload docker", "")
	}
	return t.Flush()
}

// thisProgram is the running program, even where an update has replaced its file.
const thisProgram = "/proc/self/exe"

func onLinux() error {
	if runtime.GOOS != "linux" {
		return usageError{errors.New("the runtime is for Linux"), "Docker Desktop has a kernel of its own: use its containers, or docker-sandbox"}
	}
	return nil
}

// mayInstall refuses whom the files do not let: better than half of the work.
func mayInstall() error {
	if err := onLinux(); err != nil {
		return err
	}
	if os.Geteuid() != 0 {
		return usageError{errors.New("installing a runtime needs root: Docker runs it as root"), "sudo ralph runtime install"}
	}
	return nil
}

// runtimeFailure adds the way on where there is one.
func runtimeFailure(err error) error {
	var there *ociruntime.ExistsError
	if errors.As(err, &there) {
		return usageError{err, "--force replaces it; --dir chooses another folder"}
	}
	return err
}

func changedWords(yes bool, what string) string {
	if yes {
		return what
	}
	return what + " already"
}

func removedWords(yes bool) string {
	if yes {
		return "removed"
	}
	return "nothing of ours was there"
}

func binaryWords(s ociruntime.State) string {
	switch {
	case s.Current:
		return "installed"
	case s.Installed:
		return "installed, another version: ralph runtime install updates it"
	default:
		return "not installed"
	}
}

func dockerWords(s ociruntime.State) string {
	switch {
	case s.Named:
		return "names it " + ociruntime.Name
	case s.Docker != "":
		return "names another one: " + s.Docker
	default:
		return "does not name it"
	}
}

// runtimeTable prints what, where and how it is.
type runtimeTable struct{ *tabwriter.Writer }

func newRuntimeTable(out io.Writer) runtimeTable {
	return runtimeTable{tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)}
}

func (t runtimeTable) row(what, where, how string) {
	fmt.Fprintf(t, "%s\t%s\t%s\n", what, where, how)
}
