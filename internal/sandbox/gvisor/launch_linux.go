package gvisor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"time"

	"github.com/agent-loop/ralph/internal/proc"
	"github.com/agent-loop/ralph/internal/sandbox"
	"github.com/agent-loop/ralph/internal/sandbox/machine"
)

// launcher is the running process at the top of a sandbox's tree. While it
// lives, so does the sandbox.
type launcher struct {
	*proc.Attached
	log *proc.Tail
}

// maxLog bounds what is kept of gVisor's log.
const maxLog = 64 << 10

// launch starts the sandbox whose bundle is in dir.
func launch(binary, dir, id string, cpus []int) (*launcher, error) {
	logReader, logWriter, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("starting the sandbox: %w", err)
	}
	defer logWriter.Close()
	l := &launcher{log: proc.NewTail(maxLog)}
	l.Attached, err = proc.Attach(&exec.Cmd{
		Path:       binary,
		Args:       launchArgs(dir, id),
		Env:        []string{cpusVar + "=" + machine.FormatCPUs(cpus)},
		Dir:        "/",
		Stdout:     l.log, // gVisor's and our first process's own words
		Stderr:     l.log,
		ExtraFiles: []*os.File{logWriter}, // descriptor 3
		WaitDelay:  time.Second,           // the sentry holds the log open a little longer
	})
	if err != nil {
		logReader.Close()
		return nil, fmt.Errorf("starting the sandbox: %w", err)
	}
	go func() {
		defer logReader.Close()
		_, _ = io.Copy(l.log, logReader)
	}()
	return l, nil
}

// launchArgs is gVisor's command line, each flag with its reason.
func launchArgs(dir, id string) []string {
	return []string{
		launcherName,
		"--root=" + runscDir(dir),
		"--platform=systrap",
		"--network=none",                 // loopback only
		"--host-uds=none",                // no socket of the host, wherever it lies
		"--gofer-network-namespace=new",  // the default pins one with a mount that stays behind
		"--overlay2=none",                // writes to the workspace are meant
		"--file-access-mounts=exclusive", // fast; the user's mounts are marked shared one by one
		"--ignore-cgroups",               // limits are kept by ralph, with or without root
		"--host-settings=ignore",         // this machine's settings are not ours to change
		"--debug-log=/proc/self/fd/3",    // a pipe: a guest cannot fill the disk with our log
		"run",
		"-bundle=" + bundleDir(dir),
		id,
	}
}

// startPoll is how often the sandbox is asked whether it runs yet.
const startPoll = 2 * time.Millisecond

// await waits until ready reports true, the sandbox has died or ctx ends.
func (l *launcher) await(ctx context.Context, ready func() bool) error {
	tick := time.NewTicker(startPoll)
	defer tick.Stop()
	for {
		select {
		case <-l.Exited():
			return startFailure(l.log.String())
		case <-ctx.Done():
			return fmt.Errorf("starting the sandbox: %w", ctx.Err())
		case <-tick.C:
			if ready() {
				return nil
			}
		}
	}
}

// fatalLine finds the cause in gVisor's log: the message on standard error is
// always the same.
var fatalLine = regexp.MustCompile(`(?m)FATAL ERROR: (.*)$`)

// knownFailures are those that a user can do something about.
var knownFailures = []struct{ sign, reason, fix string }{
	{
		"mount_setattr",
		"as root it needs id-mapped mounts, which the workspace's file system does not have",
		"run ralph as the owner of the workspace, or work on another file system",
	},
	{
		"we don't have CAP_SYS_ADMIN",
		"as root it needs CAP_SYS_ADMIN, which this container does not give",
		"run ralph as an ordinary user in the container, or give the container that capability",
	},
}

// startFailure turns gVisor's log into an error that names the cause.
func startFailure(log string) error {
	matches := fatalLine.FindAllStringSubmatch(log, -1)
	for _, m := range matches {
		for _, k := range knownFailures {
			if strings.Contains(m[1], k.sign) {
				return &sandbox.UnavailableError{Engine: Name, Reason: k.reason, Fix: k.fix}
			}
		}
		if !strings.Contains(m[1], "cannot read client sync file") && !strings.Contains(m[1], "reading mounts file") {
			return fmt.Errorf("starting the sandbox: %s", m[1])
		}
	}
	if last := strings.TrimSpace(log); last != "" {
		return fmt.Errorf("starting the sandbox: %s", last[strings.LastIndexByte(last, '\n')+1:])
	}
	return errors.New("starting the sandbox: it ended without a word")
}
