package gvisor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/google/subcommands"
	"github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"
	"gvisor.dev/gvisor/runsc/cmd"
	"gvisor.dev/gvisor/runsc/cmd/util"
	"gvisor.dev/gvisor/runsc/config"
	"gvisor.dev/gvisor/runsc/container"
	"gvisor.dev/gvisor/runsc/flag"

	"github.com/agent-loop/ralph/internal/sandbox/callfilter"
)

// RuntimeName is the name under which the binary is an OCI runtime: a copy
// called so is what Docker and Podman are given as `runsc`.
const RuntimeName = "runsc"

// runtimeFlags come before the flags that Docker or Podman give, each with its
// reason. What an administrator writes into the engine's configuration comes
// later on the command line, and so wins.
func runtimeFlags() []string {
	return []string{
		"--platform=systrap",
		"--host-uds=none",               // no socket of the host, wherever it lies
		"--overlay2=none",               // writes belong into the engine's own layer
		"--file-access-mounts=shared",   // the host may write to a workspace at the same time
		"--gofer-network-namespace=new", // the default pins one with a mount that stays behind
		"--host-settings=ignore",        // this machine's settings are not ours to change
	}
}

// runtimeCommands are what containerd's shim for runc and Podman's conmon call.
// Checkpoints are left out, and so is all of runsc that is for its developers.
func runtimeCommands() map[util.SubCommand]string {
	return map[util.SubCommand]string{
		&create{}:         "",
		&start{}:          "",
		new(cmd.State):    "",
		&kill{}:           "",
		new(cmd.Delete):   "",
		new(cmd.Exec):     "",
		new(cmd.PS):       "",
		new(cmd.Events):   "",
		new(cmd.Pause):    "",
		new(cmd.Resume):   "",
		new(cmd.Update):   "",
		new(cmd.List):     "",
		new(cmd.Features): "",
	}
}

// becomeRuntime prepares this process for its work as an OCI runtime. What it
// sets is inherited by the sandbox, as in the engine of our own; which processes
// die first and on which processors they run is the calling engine's affair.
func becomeRuntime() error {
	os.Args = append(append([]string{os.Args[0]}, runtimeFlags()...), os.Args[1:]...)
	return errors.Join(raiseFileLimit(), callfilter.InstallForFiles())
}

// create and start are gVisor's commands, with the settings fitted to the
// container that is asked for. Each reads its own: create's are not kept.
type (
	create struct{ cmd.Create }
	start  struct{ cmd.Start }
)

// FetchSpec is part of gVisor's util.SubCommand interface.
func (c *create) FetchSpec(conf *config.Config, f *flag.FlagSet) (string, *specs.Spec, error) {
	id, spec, err := c.Create.FetchSpec(conf, f)
	if err != nil {
		return id, nil, err
	}
	return id, spec, fit(conf, spec)
}

// FetchSpec is part of gVisor's util.SubCommand interface.
func (s *start) FetchSpec(conf *config.Config, f *flag.FlagSet) (string, *specs.Spec, error) {
	id, spec, err := s.Start.FetchSpec(conf, f)
	if err != nil {
		return id, nil, err
	}
	return id, spec, fit(conf, spec)
}

// fit sets what depends on the container and on who calls.
func fit(conf *config.Config, spec *specs.Spec) error {
	if err := checkAnnotations(spec.Annotations); err != nil {
		return err
	}
	if loopbackOnly(spec) {
		conf.Network = config.NetworkNone
	}
	if inUserNamespace() && !limited(spec) {
		conf.IgnoreCgroups = true
	}
	return nil
}

// annotationPrefix marks the annotations by which gVisor lets a container
// change how it is confined.
const annotationPrefix = "dev.gvisor."

// checkAnnotations refuses a container that would loosen its own sandbox: Podman
// takes annotations from the image, and gVisor opens the host's sockets to one.
func checkAnnotations(annotations map[string]string) error {
	for name := range annotations {
		if strings.HasPrefix(name, annotationPrefix) {
			return fmt.Errorf("the annotation %q is refused: a container may not change its own sandbox", name)
		}
	}
	return nil
}

// loopbackOnly says whether the container gets a new network that nobody will
// furnish. gVisor shows what it finds there, and Podman leaves even the loopback
// device down; without a network gVisor makes a loopback device of its own.
func loopbackOnly(spec *specs.Spec) bool {
	if spec.Linux == nil || spec.Hooks != nil {
		return false
	}
	return slices.Contains(spec.Linux.Namespaces, specs.LinuxNamespace{Type: specs.NetworkNamespace})
}

// limited says whether the container is to be held by limits that need cgroups.
func limited(spec *specs.Spec) bool {
	if spec.Linux == nil || spec.Linux.Resources == nil {
		return false
	}
	r := spec.Linux.Resources
	return r.Memory != nil || r.CPU != nil || r.Pids != nil || r.BlockIO != nil || r.HugepageLimits != nil || r.Unified != nil
}

// inUserNamespace says whether an ordinary user's engine called us: it has
// cgroups only where the system delegates them, and there it also sets limits.
func inUserNamespace() bool {
	uids, err := os.ReadFile("/proc/self/uid_map")
	return err != nil || !slices.Equal(strings.Fields(string(uids)), []string{"0", "0", "4294967295"})
}

// kill is gVisor's command, except that SIGKILL also ends a paused container,
// as it does with other runtimes: gVisor refuses, and Docker then waits for ten
// seconds before it removes one.
type kill struct{ cmd.Kill }

// Execute is part of gVisor's util.SubCommand interface.
func (k *kill) Execute(ctx context.Context, f *flag.FlagSet, args ...any) subcommands.ExitStatus {
	if isSIGKILL(f.Arg(1)) {
		conf := args[0].(*config.Config)
		if err := killPaused(conf.RootDir, f.Arg(0)); err == nil {
			return subcommands.ExitSuccess
		}
	}
	return k.Kill.Execute(ctx, f, args...)
}

func isSIGKILL(signal string) bool {
	name := strings.TrimPrefix(strings.ToUpper(signal), "SIG")
	return name == "KILL" || name == "9"
}

// killPaused ends a paused container. The signal is there before the container
// goes on, so that no process of it takes another step.
func killPaused(root, id string) error {
	c, err := container.Load(root, container.FullID{ContainerID: id}, container.LoadOpts{})
	if err != nil {
		return err
	}
	if c.Status != container.Paused {
		return fmt.Errorf("the container is not paused: %s", c.Status)
	}
	if err := c.Sandbox.SignalContainer(c.ID, unix.SIGKILL, true); err != nil {
		return err
	}
	return c.Resume()
}
