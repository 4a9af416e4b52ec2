package gvisor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/agent-loop/ralph/internal/sandbox"
)

// launcher is the running process at the top of a sandbox's tree. While it
// lives, so does the sandbox.
type launcher struct {
	process *os.Process
	log     *tail
	exited  chan struct{} // closed when the process has ended
}

// launch starts the sandbox whose bundle is in dir.
func launch(binary, dir, id, cpus string) (*launcher, error) {
	logReader, logWriter, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("starting the sandbox: %w", err)
	}
	defer logWriter.Close()
	l := &launcher{log: &tail{max: 64 << 10}, exited: make(chan struct{})}
	cmd := &exec.Cmd{
		Path:        binary,
		Args:        launchArgs(dir, id),
		Env:         []string{cpusVar + "=" + cpus},
		Dir:         "/",
		Stdout:      l.log, // gVisor's and our first process's own words
		Stderr:      l.log,
		ExtraFiles:  []*os.File{logWriter}, // descriptor 3
		SysProcAttr: &unix.SysProcAttr{Setsid: true, Pdeathsig: unix.SIGKILL},
		WaitDelay:   time.Second, // the sentry holds the log open a little longer
	}
	started := make(chan error)
	go l.run(cmd, started)
	if err := <-started; err != nil {
		logReader.Close()
		return nil, fmt.Errorf("starting the sandbox: %w", err)
	}
	go func() {
		defer logReader.Close()
		_, _ = l.log.ReadFrom(logReader)
	}()
	return l, nil
}

// run starts the process and waits for it on one locked thread: the kernel
// sends the parent-death signal when the thread that forked ends, not when the
// process does.
func (l *launcher) run(cmd *exec.Cmd, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := cmd.Start(); err != nil {
		started <- err
		return
	}
	l.process = cmd.Process
	started <- nil
	_ = cmd.Wait()
	close(l.exited)
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

// kill ends the sandbox and waits until the launcher is gone. The kernel then
// ends the rest of the tree.
func (l *launcher) kill() {
	_ = l.process.Kill()
	<-l.exited
}

// startPoll is how often the sandbox is asked whether it runs yet.
const startPoll = 2 * time.Millisecond

// await waits until ready reports true, the sandbox has died or ctx ends.
func (l *launcher) await(ctx context.Context, ready func() bool) error {
	tick := time.NewTicker(startPoll)
	defer tick.Stop()
	for {
		select {
		case <-l.exited:
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

// tail keeps the last part of what is written to it.
type tail struct {
	mu  sync.Mutex
	max int
	buf bytes.Buffer
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf.Write(p)
	if over := t.buf.Len() - t.max; over > 0 {
		t.buf.Next(over)
	}
	return len(p), nil
}

// ReadFrom reads until the log ends.
func (t *tail) ReadFrom(r *os.File) (int64, error) {
	chunk := make([]byte, 8<<10)
	var total int64
	for {
		n, err := r.Read(chunk)
		_, _ = t.Write(chunk[:n])
		total += int64(n)
		if err != nil {
			return total, err
		}
	}
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.buf.String()
}
