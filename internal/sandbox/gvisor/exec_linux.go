package gvisor

import (
	"context"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sys/unix"
	"gvisor.dev/gvisor/pkg/sentry/control"
	"gvisor.dev/gvisor/pkg/sentry/kernel/auth"

	"github.com/agent-loop/ralph/internal/sandbox"
	"github.com/agent-loop/ralph/internal/sandbox/lifetime"
	"github.com/agent-loop/ralph/internal/sandbox/streams"
)

// Exec is part of the sandbox.Sandbox interface.
func (b *box) Exec(ctx context.Context, cmd sandbox.Command) (int, error) {
	if err := b.Admit(ctx, cmd); err != nil {
		return 0, err
	}
	began := time.Now()
	pipes, err := streams.Open(cmd)
	if err != nil {
		return 0, err
	}
	defer pipes.Close()
	pid, err := b.control.execute(b.execArgs(cmd, pipes))
	pipes.Started()
	if err != nil {
		return 0, b.startError(cmd, err)
	}
	pipes.Attend(cmd, func(signal unix.Signal) { _ = b.control.signalForeground(pid, signal) })
	code, err := b.await(ctx, pid, began)
	// A caller who takes no output can still stop the wait for the rest of it.
	stop := context.AfterFunc(ctx, func() { b.End(lifetime.CauseOf(ctx, began)) })
	defer stop()
	outputErr := pipes.Finish(b.Ended())
	if err == nil && code == 0 {
		err = outputErr
	}
	return code, err
}

func (b *box) execArgs(cmd sandbox.Command, pipes *streams.Streams) *control.ExecArgs {
	dir := cmd.Dir
	if dir == "" {
		dir = b.spec.WorkDir()
	}
	env := sandbox.MergeEnv(b.spec.Env, cmd.Env)
	if cmd.Terminal != nil {
		env = sandbox.MergeEnv([]string{"TERM=xterm-256color"}, env)
	}
	argv, env := asText(cmd.Args, env)
	return &control.ExecArgs{
		Argv:             argv,
		Envv:             env,
		WorkingDirectory: dir + "/.", // gVisor would take a file for a folder
		KUID:             auth.KUID(b.ids.guest.UID),
		KGID:             auth.KGID(b.ids.guest.GID),
		Capabilities:     &auth.TaskCapabilities{},
		NoNewPrivileges:  true,
		StdioIsPty:       cmd.Terminal != nil,
		FilePayload:      control.NewFilePayload(pipes.Guest(), nil),
	}
}

// await waits for a process, or ends the whole sandbox when ctx ends first.
func (b *box) await(ctx context.Context, pid int32, began time.Time) (int, error) {
	type result struct {
		code int
		err  error
	}
	done := make(chan result, 1)
	go func() {
		code, err := b.control.wait(pid)
		done <- result{code, err}
	}()
	select {
	case r := <-done:
		if r.err == nil && b.dying(r.code) {
			r.err = sandbox.ErrGone
		}
		if r.err != nil {
			return 0, b.Lost(fmt.Errorf("waiting for the command: %w", r.err))
		}
		return r.code, nil
	case <-b.Ended():
		return 0, b.Cause()
	case <-ctx.Done():
		b.End(lifetime.CauseOf(ctx, began))
		return 0, b.Cause()
	}
}

// dying reports whether a command failed only because the sandbox is being
// ended: its processes go one after the other, and the sentry may live long
// enough to report the code of one.
func (b *box) dying(code int) bool {
	return code != 0 && (b.Ending() || !b.control.running())
}

// startError tells a command that cannot be started from a sandbox that does
// not answer. The sentry's errors reach us as text.
func (b *box) startError(cmd sandbox.Command, err error) error {
	if b.Over() {
		return b.Gone()
	}
	text := err.Error()
	reason := text[strings.LastIndex(text, ": ")+1:]
	failed := &sandbox.StartError{Program: cmd.Args[0], Reason: strings.TrimSpace(reason)}
	switch {
	case strings.Contains(text, "no such file"), strings.Contains(text, "not found"):
		failed.Code = 127
	case strings.Contains(text, "permission denied"), strings.Contains(text, "exec format"), strings.Contains(text, "not a directory"):
		failed.Code = 126
	default:
		return b.Lost(fmt.Errorf("starting %s: %w", cmd.Args[0], err))
	}
	return failed
}
