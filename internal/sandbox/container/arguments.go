package container

import (
	"encoding/csv"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/agent-loop/ralph/internal/sandbox"
	"github.com/agent-loop/ralph/internal/sandbox/keeper"
	"github.com/agent-loop/ralph/internal/sandbox/layout"
)

// The labels by which our containers are found again. Those of an image are
// inherited by containers, so images have another one.
const (
	labelSandbox = "io.ralph.sandbox" // its id
	labelState   = "io.ralph.state"   // whose state folder it belongs to
	labelOwner   = "io.ralph.owner"   // the user who made it
	labelImage   = "io.ralph.image"
)

// keeperThreads is how many threads the keeper may have besides the sandbox's
// processes.
const keeperThreads = 32

// unlimitedShm is what shared memory may hold when memory is not limited.
const unlimitedShm = 1 << 30

// request is a container to be started.
type request struct {
	id, state string
	owner     int // who asks, on the host
	image     string
	runtime   string // empty: the engine's choice
	user      sandbox.User
	userns    string // Podman's word for how users are mapped
	ulimits   []string
	ipv6      bool // the host has it
	limits    sandbox.Limits
	mounts    []layout.Mount
	facts     facts
}

// arguments is the engine's command line for a container, behind the global ones.
func (f flavour) arguments(r request) ([]string, error) {
	args := []string{
		"run", "--interactive", "--rm",
		"--name", r.id,
		"--label", labelSandbox + "=" + r.id,
		"--label", labelState + "=" + r.state,
		"--label", labelOwner + "=" + strconv.Itoa(r.owner),
		"--pull", "never",
		"--network", "none",
		"--ipc", "private",
		"--cgroupns", "private",
		"--hostname", layout.Hostname,
		"--user", fmt.Sprintf("%d:%d", r.user.UID, r.user.GID),
		"--workdir", "/",
		"--cap-drop", "ALL",
		"--security-opt", "no-new-privileges",
		"--read-only",
		"--init=false",         // the keeper must be the first process
		"--no-healthcheck",     // an image's would run beside the keeper
		"--log-driver", "none", // the keeper's stream is nothing for the engine's disk
		"--stop-timeout", "0",
		"--shm-size", strconv.FormatInt(shmSize(r.limits), 10),
	}
	args = append(args, r.limitArguments()...)
	args = append(args, f.run(r)...)
	args = append(args, quietGo()...)
	for _, m := range r.mounts {
		mount, err := f.mountArguments(m, r.facts)
		if err != nil {
			return nil, err
		}
		args = append(args, mount...)
	}
	return append(args, "--entrypoint", keeper.Path, r.image, keeper.Argument), nil
}

// limitArguments are those that the kernel is to keep. The keeper keeps the rest.
func (r request) limitArguments() []string {
	var args []string
	if r.limits.Memory > 0 && r.facts.limitMemory {
		memory := strconv.FormatInt(r.limits.Memory, 10)
		args = append(args, "--memory", memory, "--memory-swap", memory)
	}
	if r.limits.Processes > 0 && r.facts.limitProcesses {
		args = append(args, "--pids-limit", strconv.Itoa(r.limits.Processes+keeperThreads))
	}
	// Engines refuse more processors than there are.
	if r.limits.CPUs > 0 && r.facts.limitCPUs && r.limits.CPUs < float64(r.facts.cpus) {
		args = append(args, "--cpus", strconv.FormatFloat(max(r.limits.CPUs, 0.01), 'f', -1, 64))
	}
	return args
}

// quietGo takes back what an image might tell the keeper, which is a Go program.
func quietGo() []string {
	var args []string
	for _, name := range []string{"GODEBUG", "GOGC", "GOMEMLIMIT", "GOMAXPROCS", "GOTRACEBACK"} {
		args = append(args, "--env", name+"=")
	}
	return args
}

func shmSize(limits sandbox.Limits) int64 {
	if limits.Memory > 0 {
		return limits.Memory
	}
	return unlimitedShm
}

func (f flavour) mountArguments(m layout.Mount, known facts) ([]string, error) {
	if m.Kind == layout.Tmpfs {
		return f.tmpfsArguments(m)
	}
	fields := []string{"type=bind", "src=" + m.Source, "dst=" + m.Target, "bind-propagation=rprivate"}
	if m.ReadOnly {
		fields = append(fields, "readonly=true")
	}
	// What lies mounted below a folder of the user's is not shown: engines did not
	// always make it read-only along with the folder, and nobody named it.
	if m.User {
		fields = append(fields, f.notRecursive(known))
	}
	value, err := csvLine(fields)
	if err != nil {
		return nil, fmt.Errorf("mounting %s: %w", m.Source, err)
	}
	return []string{"--mount", value}, nil
}

// notRecursive is the option that Docker renamed in its version 25.
func (f flavour) notRecursive(known facts) string {
	if f.name == Docker && known.client != "" && !olderThan(known.client, [2]int{25, 0}) {
		return "bind-recursive=disabled"
	}
	return "bind-nonrecursive=true"
}

// tmpfsArguments has options that --mount does not: who owns it, and that
// programs in it run.
func (f flavour) tmpfsArguments(m layout.Mount) ([]string, error) {
	if strings.Contains(m.Target, ":") {
		return nil, &sandbox.RefusedError{
			What: fmt.Sprintf("folder %q of the sandbox's own", m.Target),
			Why:  "container engines take no colon in its name",
			Fix:  "choose another place",
		}
	}
	options := fmt.Sprintf("rw,nosuid,nodev,exec,size=%d,mode=%04o,%s", m.Size, m.Mode, f.tmpfs(m))
	return []string{"--tmpfs", m.Target + ":" + options}, nil
}

// csvLine is how engines read a mount: a path may hold commas and quotes, but no
// line breaks.
func csvLine(fields []string) (string, error) {
	if strings.ContainsAny(strings.Join(fields, ""), "\r\n") { // which they change
		return "", errors.New("its name holds a line break")
	}
	var line strings.Builder
	w := csv.NewWriter(&line)
	if err := w.Write(fields); err != nil {
		return "", err
	}
	w.Flush()
	return strings.TrimSuffix(line.String(), "\n"), w.Error()
}
