package container

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/agent-loop/ralph/internal/sandbox"
	"github.com/agent-loop/ralph/internal/sandbox/idmap"
	"github.com/agent-loop/ralph/internal/sandbox/keeper"
	"github.com/agent-loop/ralph/internal/sandbox/layout"
	"github.com/agent-loop/ralph/internal/sandbox/machine"
	"github.com/agent-loop/ralph/internal/sandbox/roster"
)

func (e *Engine) create(ctx context.Context, c client, entry *roster.Entry, spec sandbox.Spec, ids identity) (sandbox.Sandbox, error) {
	// The record comes before everything that would have to be cleared up.
	if err := entry.Write(entry.Status(spec), nil); err != nil {
		return nil, err
	}
	r, err := e.prepare(ctx, c, entry, spec, ids)
	if err != nil {
		return nil, err
	}
	args, err := c.flavour.arguments(r)
	if err != nil {
		return nil, err
	}
	v, conn, err := e.launch(c, entry, spec, args)
	if err != nil {
		return nil, err
	}
	box, err := keeper.Open(ctx, keeper.Start{
		ID: entry.ID, Spec: spec, Settings: c.facts.settings(spec, machine.ChooseCPUs), Vessel: v, Conn: conn,
	})
	if err != nil {
		return nil, err // not a *keeper.Box that is nil
	}
	return box, nil
}

// prepare lays the sandbox out on disk and in the engine, and returns what is
// started.
func (e *Engine) prepare(ctx context.Context, c client, entry *roster.Entry, spec sandbox.Spec, ids identity) (request, error) {
	self, err := machine.Self(e.options.Binary)
	if err != nil {
		return request{}, err
	}
	if self, err = machine.Readable(self, entry.Dir); err != nil {
		return request{}, err
	}
	root, err := entry.Folder("root")
	if err != nil {
		return request{}, err
	}
	mounts, err := layout.Build(root, spec, ids.user, self)
	if err != nil {
		return request{}, err
	}
	image, more, err := e.image(ctx, c, entry, spec, ids.user, self)
	if err != nil {
		return request{}, err
	}
	mounts = append(more, mounts...)
	if ids.clones {
		if mounts, err = cloned(entry, spec, mounts, ownKernel(c.facts.runtime)); err != nil {
			return request{}, err
		}
	}
	return request{
		id: entry.ID, state: e.state, owner: os.Geteuid(), image: image, runtime: e.options.Runtime,
		user: ids.user, userns: ids.userns, ulimits: ulimits(c.flavour.name), ipv6: hasIPv6() && !ownKernel(c.facts.runtime),
		limits: spec.Limits, mounts: owned(mounts, ids.user), facts: c.facts,
	}, nil
}

// owned gives the agent all places in memory: runtimes give them the permissions
// of what the image has there, and not all images let everybody write to /tmp.
func owned(mounts []layout.Mount, agent sandbox.User) []layout.Mount {
	for i, m := range mounts {
		if m.Kind == layout.Tmpfs {
			mounts[i].Owner = agent
		}
	}
	return mounts
}

func hasIPv6() bool {
	_, err := os.Stat("/proc/sys/net/ipv6")
	return err == nil
}

// cloned shows the user's mounts as the agent's, in the host's own mount
// namespace, where the engine finds them. They must be gone before the entry's
// folder is deleted, see discard. A kernel of the sandbox's own has a helper that
// makes the agent's files as root.
func cloned(entry *roster.Entry, spec sandbox.Spec, mounts []layout.Mount, ownKernel bool) ([]layout.Mount, error) {
	places, err := entry.Folder("mounts")
	if err != nil {
		return nil, err
	}
	// The clones are there for all who can walk to them, and show what their owner's
	// folders may hide; the engine's daemon is root.
	if err := os.Chmod(places, 0o700); err != nil {
		return nil, fmt.Errorf("closing the place of mounts: %w", err)
	}
	clones, mounts, err := layout.Clones(places, spec, mounts)
	if err != nil {
		return nil, err
	}
	nobody := idmap.IDs{UID: layout.Nobody, GID: layout.Nobody}
	for _, c := range clones {
		view := idmap.View{As: nobody, ReadOnly: c.ReadOnly, RootGives: ownKernel}
		if err := idmap.Clone(c.Source, c.Target, view); err != nil {
			return nil, err
		}
	}
	return mounts, nil
}

// discard deletes what there is of a sandbox on disk. A folder with a mount of the
// user's files in it is never deleted.
func discard(entry *roster.Entry) error {
	if err := idmap.UnmountBelow(entry.Dir); err != nil {
		entry.Release()
		return fmt.Errorf("deleting the sandbox's state: %w", err)
	}
	return entry.Remove()
}

// ulimits are needed by Podman alone: it asks for more than a root may give who is
// in a container himself. None is above our own, nor above what Podman leaves its
// helpers: as many processes as the kernel once had numbers for.
func ulimits(name Flavour) []string {
	if name != Podman {
		return nil
	}
	var args []string
	for _, l := range []struct {
		name  string
		which int
		most  uint64
	}{{"nofile", unix.RLIMIT_NOFILE, 1 << 20}, {"nproc", unix.RLIMIT_NPROC, 1 << 15}} {
		var limit unix.Rlimit
		if unix.Getrlimit(l.which, &limit) != nil {
			continue
		}
		most := min(limit.Max, l.most)
		args = append(args, "--ulimit", fmt.Sprintf("%s=%d:%d", l.name, most, most))
	}
	return args
}

// image is what the container's root is made of, and what has to be mounted on it
// because of that.
func (e *Engine) image(ctx context.Context, c client, entry *roster.Entry, spec sandbox.Spec, agent sandbox.User, self string) (string, []layout.Mount, error) {
	if spec.Image != "" {
		volumes, err := c.imageVolumes(ctx, spec.Image)
		if err != nil {
			return "", nil, err
		}
		return spec.Image, volumeMounts(volumes, spec, agent), nil
	}
	image, err := c.rootImage(ctx, entry, spec, agent, self)
	if err != nil {
		return "", nil, err
	}
	named, err := ownNames(entry, spec.Rootfs, agent, self)
	return image, named, err
}

// engineFiles are those that engines lay over an image's own unless something else
// is mounted there: theirs tell of the host.
var engineFiles = []string{"/etc/hosts", "/etc/hostname", "/etc/resolv.conf"}

// ownNames mounts the files in their place that are made up for images. A root
// file system folder with an /etc must have them: an engine cannot add them to a
// folder that is read-only.
func ownNames(entry *roster.Entry, rootfs string, agent sandbox.User, self string) ([]layout.Mount, error) {
	if missing := missingNames(rootfs); missing != "" {
		return nil, &sandbox.RefusedError{What: fmt.Sprintf("root file system %q", rootfs), Why: "it has no " + missing, Fix: "create an empty file there"}
	}
	dir, err := entry.Folder("names")
	if err != nil {
		return nil, err
	}
	madeUp, err := layout.Build(dir, sandbox.Spec{Image: "any"}, agent, self)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(madeUp, func(m layout.Mount) bool { return !slices.Contains(engineFiles, m.Target) }), nil
}

func missingNames(rootfs string) string {
	if _, err := os.Lstat(filepath.Join(rootfs, "etc")); rootfs == "" || err != nil {
		return ""
	}
	for _, name := range engineFiles {
		if _, err := os.Lstat(filepath.Join(rootfs, name)); err != nil {
			return name
		}
	}
	return ""
}
