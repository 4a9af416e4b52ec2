package container

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"sync/atomic"
	"time"

	"github.com/agent-loop/ralph/internal/proc"
	"github.com/agent-loop/ralph/internal/sandbox"
	"github.com/agent-loop/ralph/internal/sandbox/idmap"
	"github.com/agent-loop/ralph/internal/sandbox/keeper"
	"github.com/agent-loop/ralph/internal/sandbox/roster"
)

const (
	// maxSaid bounds what is kept of what the client says.
	maxSaid = 16 << 10
	// grace is how long a container has to end by itself, once its stream has ended.
	grace = 3 * time.Second
	// killTime bounds how long an engine may take to end it.
	killTime = 20 * time.Second
)

// vessel is a client that runs a container. It is part of keeper.Vessel.
type vessel struct {
	engine *Engine
	client client
	entry  *roster.Entry
	limits sandbox.Limits
	run    *proc.Attached
	said   *proc.Tail
	ours   atomic.Bool // we are ending it
	gone   atomic.Bool // it has certainly ended
}

// launch starts the client and returns the way to the keeper.
func (e *Engine) launch(c client, entry *roster.Entry, spec sandbox.Spec, args []string) (*vessel, net.Conn, error) {
	in, toKeeper, err := os.Pipe()
	if err != nil {
		return nil, nil, fmt.Errorf("starting the sandbox: %w", err)
	}
	defer in.Close()
	fromKeeper, out, err := os.Pipe()
	if err != nil {
		toKeeper.Close()
		return nil, nil, fmt.Errorf("starting the sandbox: %w", err)
	}
	defer out.Close()
	v := &vessel{engine: e, client: c, entry: entry, limits: spec.Limits, said: proc.NewTail(maxSaid)}
	cmd := &exec.Cmd{
		Path: c.program.Path, Args: slices.Concat([]string{c.program.Path}, c.global, args), Env: c.program.Env, Dir: "/",
		Stdin: in, Stdout: out, Stderr: v.said, WaitDelay: time.Second,
	}
	conn := keeper.NewConn(fromKeeper, toKeeper)
	if v.run, err = proc.Attach(cmd); err != nil {
		conn.Close()
		return nil, nil, fmt.Errorf("starting the sandbox: %w", err)
	}
	return v, conn, nil
}

// Exited is part of keeper.Vessel.
func (v *vessel) Exited() <-chan struct{} { return v.run.Exited() }

// Reason is part of keeper.Vessel. The codes are the same for both engines.
func (v *vessel) Reason() error {
	if v.ours.Load() {
		return nil
	}
	const engineFailed, notAProgram, notFound, killed = 125, 126, 127, 128 + 9
	name, words := v.client.flavour.name, lastWords(v.said.String())
	switch code := v.run.ExitCode(); code {
	case engineFailed:
		return v.client.flavour.explain(words)
	case notAProgram, notFound:
		return fmt.Errorf("ralph could not be started in the container: %s", words)
	case killed:
		if v.limits.Memory > 0 && ownKernel(v.client.facts.runtime) {
			// Its kernel is a process like any other, and is killed for all of them.
			return &sandbox.LimitError{Limit: "memory", Value: fmt.Sprintf("%d MiB", v.limits.Memory>>20)}
		}
		return fmt.Errorf("the container was ended from outside, as by %s kill, or by the kernel for want of memory", name)
	case -1:
		return fmt.Errorf("the command %s was killed", name)
	default:
		return v.client.flavour.explain(words)
	}
}

func (v *vessel) ended() bool {
	select {
	case <-v.run.Exited():
		return true
	default:
		return false
	}
}

// Kill is part of keeper.Vessel. The stream has ended already, which ends the
// keeper and with it the container, and the client returns when that is removed.
// If it does not, the engine is told.
func (v *vessel) Kill() error {
	v.ours.Store(!v.ended())
	ctx, cancel := context.WithTimeout(context.Background(), killTime)
	defer cancel()
	select {
	case <-v.run.Exited():
		if code := v.run.ExitCode(); code >= 0 && code != 125 {
			v.gone.Store(true)
		}
	case <-time.After(grace):
	}
	var err error
	if !v.gone.Load() {
		err = v.engine.clear(ctx, v.client, v.entry.ID)
		v.gone.Store(err == nil)
	}
	v.run.Kill()
	v.entry.Release()
	if err != nil {
		return fmt.Errorf("ending container %s: %w; it ends by itself when it has heard nothing for a while", v.entry.ID, err)
	}
	return nil
}

// Discard is part of keeper.Vessel. What could not be ended stays on the roster,
// so that the next sandbox that is made ends it; but nothing of the user's stays
// mounted in its folder.
func (v *vessel) Discard() error {
	if v.gone.Load() {
		return discard(v.entry)
	}
	v.entry.Release()
	return idmap.UnmountBelow(v.entry.Dir)
}
