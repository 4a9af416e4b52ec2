// Package layout decides what the file tree of a sandbox is made of, whatever the
// engine: an almost empty root, the system's programs read-only, private places in
// memory, and the part of the host that the user shows.
//
// Build makes the root on disk and lists what is to be mounted on it. How that is
// done, and how the owner of a user's files becomes the agent inside, is the
// engine's.
package layout

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/agent-loop/ralph/internal/sandbox"
)

const (
	// Helper is where this very program is found inside.
	Helper = "/.ralph/ralph"

	// Hostname is the name of the machine inside.
	Hostname = "ralph"

	// unlimitedTmp is what a place in memory may hold when memory is not limited.
	unlimitedTmp = 1 << 30
)

// Kind says what is mounted.
type Kind int

const (
	// Bind is a file or folder of the host.
	Bind Kind = iota
	// Tmpfs is an empty folder in memory, writable.
	Tmpfs
)

// Mount is one thing to mount. Neither device files nor set-user-id bits are to
// work in any of them.
type Mount struct {
	Kind     Kind
	Source   string // of a Bind, on the host
	Target   string // inside, with slashes
	ReadOnly bool

	// User means that it comes from the user's mount map: the host may change it
	// meanwhile, and its owner is to appear as the agent.
	User bool

	// Empty marks a stand-in for a protected path of the user's that is not
	// there. Nobody needs rights to it, so its owner need not appear as anybody.
	Empty bool

	// Owner is who owns what the user mounted, on the host, and for the paths
	// below that are mounted over it the same one. It is zero where systems know
	// no such numbers. Of a Tmpfs it is the owner inside.
	Owner sandbox.User

	Size int64  // of a Tmpfs, in bytes
	Mode uint32 // of a Tmpfs, as Unix writes it: 0o1777
}

// Build prepares dir to be a sandbox's root and returns what is mounted on it, in
// order. There are mount points for all of them, and for /proc, /sys and /dev,
// which are the engine's to mount. Sources and targets of the spec's mounts must
// be clean paths. The agent is who it runs as inside, helper this very program,
// and links are more names for it, beside Helper.
//
// With an image, dir is no root but holds the few made-up files that replace the
// image's own, and the engine has to see to mount points and links.
func Build(dir string, spec sandbox.Spec, agent sandbox.User, helper string, links ...string) ([]Mount, error) {
	k, err := newSkeleton(dir)
	if err != nil {
		return nil, err
	}
	defer k.root.Close()
	root, err := k.rootMounts(dir, spec, agent)
	if err != nil {
		return nil, err
	}
	if err := checkPlaces(spec, root); err != nil {
		return nil, err
	}
	if err := k.helper(spec, links); err != nil {
		return nil, err
	}
	private, err := k.privateMounts(spec, agent)
	if err != nil {
		return nil, err
	}
	user, err := k.mountMap(spec)
	return slices.Concat(root, []Mount{readOnly(helper, Helper)}, private, user), err
}

// rootMounts is what the root consists of.
func (k *skeleton) rootMounts(dir string, spec sandbox.Spec, agent sandbox.User) ([]Mount, error) {
	switch {
	case spec.Image != "":
		return k.overImage(dir, agent)
	case spec.Rootfs != "":
		return k.fromFolder(spec.Rootfs, places(spec))
	default:
		return k.fromHost(agent)
	}
}

// helper makes room for this program and for its other names.
func (k *skeleton) helper(spec sandbox.Spec, links []string) error {
	if spec.Image != "" {
		if len(links) > 0 {
			return errors.New("preparing the root: links cannot be made in an image")
		}
		return nil
	}
	errs := []error{k.mountPoint(Helper, false)}
	for _, name := range links {
		errs = append(errs, k.symlink(path.Base(Helper), path.Join(path.Dir(Helper), name)))
	}
	return errors.Join(errs...)
}

// privateMounts are the sandbox's own places. They live in its memory and count
// against its limit.
func (k *skeleton) privateMounts(spec sandbox.Spec, agent sandbox.User) ([]Mount, error) {
	size := spec.Limits.Memory
	if size == 0 {
		size = unlimitedTmp
	}
	own := func(dir string) Mount {
		return Mount{Kind: Tmpfs, Target: path.Clean(dir), Owner: agent, Size: size, Mode: 0o755}
	}
	mounts := []Mount{{Kind: Tmpfs, Target: "/tmp", Size: size, Mode: 0o1777}, own("/run"), own(sandbox.Home)}
	for _, dir := range spec.Own {
		mounts = append(mounts, own(dir))
	}
	if spec.Image != "" {
		return mounts, nil
	}
	var errs []error
	for _, dir := range []string{"/proc", "/sys", "/dev"} {
		errs = append(errs, k.mountPoint(dir, true))
	}
	for _, m := range mounts {
		errs = append(errs, k.mountPoint(m.Target, true))
	}
	return mounts, errors.Join(errs...)
}

// readOnly is a mount of something that is not the user's.
func readOnly(source, target string) Mount {
	return Mount{Kind: Bind, Source: source, Target: target, ReadOnly: true}
}

// places is where something is mounted for the user.
func places(spec sandbox.Spec) []string {
	list := slices.Clone(spec.Own)
	for _, m := range spec.Mounts {
		list = append(list, m.Target)
	}
	return list
}

// checkPlaces refuses to mount on what is not there in a folder of the host's: some
// engines would make it, with root's rights, on the host.
func checkPlaces(spec sandbox.Spec, root []Mount) error {
	for _, place := range places(spec) {
		for _, m := range root {
			rel, err := filepath.Rel(m.Target, place)
			if err != nil || rel == "." || !filepath.IsLocal(rel) {
				continue
			}
			if _, err := os.Stat(filepath.Join(m.Source, rel)); err != nil {
				return &sandbox.RefusedError{
					What: fmt.Sprintf("mount at %q", place), Why: fmt.Sprintf("%s inside is read-only and has no such place", m.Target),
					Fix: "choose another place, such as one below /mnt",
				}
			}
		}
	}
	return nil
}
