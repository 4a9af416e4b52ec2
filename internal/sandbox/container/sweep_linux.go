package container

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agent-loop/ralph/internal/sandbox/idmap"
	"github.com/agent-loop/ralph/internal/sandbox/roster"
)

// held is a container of ours, by the engine's id and by our own.
type held struct{ container, sandbox string }

// containers lists those of this state folder and this user, running or not, all
// or those of one sandbox. It goes by labels: a name could be anybody's.
func (e *Engine) containers(ctx context.Context, c client, id string) ([]held, error) {
	label := labelSandbox
	if id != "" {
		label += "=" + id
	}
	out, err := c.ask(ctx, "ps", "--all", "--no-trunc",
		"--filter", "label="+label,
		"--filter", "label="+labelState+"="+e.state,
		"--filter", "label="+labelOwner+"="+strconv.Itoa(os.Geteuid()),
		"--format", c.flavour.containers)
	if err != nil {
		return nil, err
	}
	var list []held
	for line := range strings.Lines(out) {
		if fields := strings.Fields(line); len(fields) == 2 {
			list = append(list, held{fields[0], fields[1]})
		}
	}
	return list, nil
}

// clear ends what the engine has of a sandbox, and what of the user's is mounted
// in its folder.
func (e *Engine) clear(ctx context.Context, c client, id string) error {
	list, err := e.containers(ctx, c, id)
	if err != nil {
		return err
	}
	for _, h := range list {
		if err := e.removeContainer(ctx, c, h); err != nil {
			return err
		}
	}
	return idmap.UnmountBelow(filepath.Join(e.options.StateDir, e.Name(), id))
}

// removeContainer ends a container and makes sure of it. An engine that is removing
// it already says so with an error, and is waited for.
func (e *Engine) removeContainer(ctx context.Context, c client, h held) error {
	ctx, cancel := context.WithTimeout(ctx, killTime)
	defer cancel()
	const shortest, longest = 20 * time.Millisecond, 500 * time.Millisecond
	for pause := shortest; ; pause = min(2*pause, longest) {
		_, err := c.output(ctx, killTime, append(slices.Clone(c.flavour.remove), h.container)...)
		if err == nil {
			return nil
		}
		left, listErr := e.containers(ctx, c, h.sandbox)
		if listErr != nil {
			return errors.Join(listErr, err)
		}
		if !slices.Contains(left, h) {
			return nil
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return errors.Join(errors.New("it is still there"), err)
		}
	}
}

// sweep ends what dead ralphs left: containers of stale sandboxes, and those that
// are on no roster any more. An engine that does not answer is left alone; what
// it has is swept the next time.
func (e *Engine) sweep(ctx context.Context, c client) {
	list, err := e.containers(ctx, c, "") // before the roster: an entry is older than its container
	if err != nil {
		return
	}
	for _, h := range list {
		if _, err := e.roster.Get(h.sandbox); errors.Is(err, os.ErrNotExist) {
			_ = e.removeContainer(ctx, c, h)
		}
	}
	e.roster.Sweep(func(r roster.Record) error { return e.clear(ctx, c, r.ID) })
}
