package gvisor

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	specs "github.com/opencontainers/runtime-spec/specs-go"

	"github.com/agent-loop/ralph/internal/sandbox"
)

const (
	hostname = "ralph"

	// unlimitedTmp is what /tmp and HOME may hold when memory is not limited.
	unlimitedTmp = 1 << 30
)

// writeBundle writes what gVisor is started from: the root file system and
// config.json.
func writeBundle(dir string, spec sandbox.Spec, ids identity, helper string) error {
	k, err := newSkeleton(filepath.Join(dir, "rootfs"))
	if err != nil {
		return err
	}
	defer k.root.Close()
	mounts, err := k.rootMounts(spec, ids)
	if err != nil {
		return err
	}
	for _, add := range []func() ([]specs.Mount, error){
		func() ([]specs.Mount, error) { return k.helperMounts(helper) },
		func() ([]specs.Mount, error) { return k.privateMounts(spec, ids) },
		func() ([]specs.Mount, error) { return k.mountMap(spec, ids) },
	} {
		more, err := add()
		if err != nil {
			return err
		}
		mounts = append(mounts, more...)
	}
	return writeConfig(dir, spec, ids, mounts)
}

// helperMounts makes room for this binary and for the names it is started under.
func (k *skeleton) helperMounts(helper string) ([]specs.Mount, error) {
	errs := []error{k.mountPoint(helperPath, false)}
	for _, name := range []string{initPath, doorPath, bytesPath} {
		errs = append(errs, k.symlink(filepath.Base(helperPath), name))
	}
	return []specs.Mount{bindMount(helper, helperPath, true)}, errors.Join(errs...)
}

// rootMounts builds the root from the host's system, or from the folder that the
// user named.
func (k *skeleton) rootMounts(spec sandbox.Spec, ids identity) ([]specs.Mount, error) {
	if spec.Rootfs == "" {
		return k.buildRoot(ids.guest)
	}
	entries, err := os.ReadDir(spec.Rootfs)
	if err != nil {
		return nil, fmt.Errorf("reading the root file system: %w", err)
	}
	var mounts []specs.Mount
	for _, e := range entries {
		if skipInRootfs[e.Name()] {
			continue
		}
		mount, err := k.system(filepath.Join(spec.Rootfs, e.Name()), "/"+e.Name())
		if err != nil {
			return nil, err
		}
		mounts = append(mounts, mount...)
	}
	return mounts, nil
}

// skipInRootfs are the folders that a sandbox has of its own.
var skipInRootfs = map[string]bool{"proc": true, "sys": true, "dev": true, "tmp": true, "run": true, "home": true, ".ralph": true}

// privateMounts are the sandbox's own places. The writable ones live in its
// memory and count against its limit.
func (k *skeleton) privateMounts(spec sandbox.Spec, ids identity) ([]specs.Mount, error) {
	size := spec.Limits.Memory
	if size == 0 {
		size = unlimitedTmp
	}
	var errs []error
	for _, dir := range []string{"/tmp", "/run", sandbox.Home, "/proc", "/sys", "/dev"} {
		errs = append(errs, k.mountPoint(dir, true))
	}
	owner := []string{fmt.Sprintf("uid=%d", ids.guest.UID), fmt.Sprintf("gid=%d", ids.guest.GID), "mode=0755"}
	mounts := []specs.Mount{
		{Destination: "/proc", Type: "proc", Source: "proc"},
		tmpfsMount("/tmp", size, "mode=1777"),
		tmpfsMount("/run", size, owner...),
		tmpfsMount(sandbox.Home, size, owner...),
	}
	for _, dir := range spec.Own {
		errs = append(errs, k.mountPoint(dir, true))
		mounts = append(mounts, tmpfsMount(filepath.Clean(dir), size, owner...))
	}
	return mounts, errors.Join(errs...)
}

// mountMap is what the user shows of the host.
func (k *skeleton) mountMap(spec sandbox.Spec, ids identity) ([]specs.Mount, error) {
	var mounts []specs.Mount
	for _, m := range spec.Mounts {
		more, err := k.userMounts(m, spec, ids)
		if err != nil {
			return nil, err
		}
		mounts = append(mounts, more...)
	}
	return mounts, nil
}

// userMounts is one entry of the mount map, with its protected paths laid over
// it read-only. The folders on the way to a protected path are mounted too: the
// kernel refuses to rename a mount point, so no folder can be swapped for one
// with other contents.
func (k *skeleton) userMounts(m sandbox.Mount, spec sandbox.Spec, ids identity) ([]specs.Mount, error) {
	info, err := os.Stat(m.Source)
	if err != nil {
		return nil, fmt.Errorf("mounting %s: %w", m.Source, err)
	}
	if !insideOther(m, spec) {
		if err := k.mountPoint(m.Target, info.IsDir()); err != nil {
			return nil, err
		}
	}
	mounts := []specs.Mount{ids.mapped(bindMount(m.Source, m.Target, m.ReadOnly), info)}
	pinned := map[string]bool{}
	for _, path := range m.Protect {
		if !filepath.IsLocal(path) {
			return nil, fmt.Errorf("protecting %s: it does not lie in the mount", path)
		}
		if covered(path, m.Protect) {
			continue
		}
		for _, dir := range sandbox.FoldersAbove(path) {
			if !pinned[dir] {
				pinned[dir] = true
				mounts = append(mounts, ids.mapped(bindMount(filepath.Join(m.Source, dir), filepath.Join(m.Target, dir), m.ReadOnly), info))
			}
		}
		protected := bindMount(filepath.Join(m.Source, path), filepath.Join(m.Target, path), true)
		if !isEmpty(protected.Source) {
			protected = ids.mapped(protected, info)
		}
		mounts = append(mounts, protected)
	}
	return mounts, nil
}

// isEmpty recognises stand-ins. Nobody needs rights to what is not there, and an
// id-mapped mount takes milliseconds.
func isEmpty(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.IsDir() {
		return err == nil && info.Size() == 0
	}
	_, err = f.Readdirnames(1)
	return errors.Is(err, io.EOF)
}

// covered reports whether a folder above path is protected as a whole.
func covered(path string, protect []string) bool {
	return slices.ContainsFunc(sandbox.FoldersAbove(path), func(dir string) bool { return slices.Contains(protect, dir) })
}

// insideOther reports whether a mount lies in another one of the user's, which
// must then hold the mount point.
func insideOther(m sandbox.Mount, spec sandbox.Spec) bool {
	return slices.ContainsFunc(spec.Mounts, func(other sandbox.Mount) bool {
		return other.Target != m.Target && sandbox.Within(m.Target, other.Target)
	})
}

func writeConfig(dir string, spec sandbox.Spec, ids identity, mounts []specs.Mount) error {
	config := specs.Spec{
		Version:     specs.Version,
		Root:        &specs.Root{Path: "rootfs", Readonly: true},
		Hostname:    hostname,
		Process:     initProcess(spec, ids),
		Mounts:      mounts,
		Annotations: shareWithHost(spec, mounts),
		Linux: &specs.Linux{
			Namespaces: []specs.LinuxNamespace{
				{Type: specs.PIDNamespace}, {Type: specs.NetworkNamespace}, {Type: specs.IPCNamespace},
				{Type: specs.UTSNamespace}, {Type: specs.MountNamespace}, {Type: specs.UserNamespace},
			},
			UIDMappings: ids.uids,
			GIDMappings: ids.gids,
		},
	}
	data, err := json.Marshal(config)
	if err != nil {
		return fmt.Errorf("encoding the sandbox's configuration: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "config.json"), data, 0o600); err != nil {
		return fmt.Errorf("writing the sandbox's configuration: %w", err)
	}
	return nil
}

// initProcess is the guest's first process. Commands run later take its limits,
// but neither its user nor its environment.
func initProcess(spec sandbox.Spec, ids identity) *specs.Process {
	return &specs.Process{
		User:            specs.User{UID: uint32(ids.first.UID), GID: uint32(ids.first.GID)},
		Args:            []string{initPath},
		Cwd:             "/",
		NoNewPrivileges: true,
		Capabilities:    &specs.LinuxCapabilities{},
		Rlimits:         rlimits(spec.Limits),
	}
}

func rlimits(l sandbox.Limits) []specs.POSIXRlimit {
	const openFiles = 1 << 16
	limits := []specs.POSIXRlimit{
		{Type: "RLIMIT_CORE"},
		{Type: "RLIMIT_NOFILE", Hard: openFiles, Soft: openFiles},
	}
	if l.Processes > 0 {
		limits = append(limits, specs.POSIXRlimit{Type: "RLIMIT_NPROC", Hard: uint64(l.Processes), Soft: uint64(l.Processes)})
	}
	if l.Disk > 0 {
		limits = append(limits, specs.POSIXRlimit{Type: "RLIMIT_FSIZE", Hard: uint64(l.Disk), Soft: uint64(l.Disk)})
	}
	return limits
}

// shareWithHost marks the user's mounts as changed from outside as well. All
// others are exclusive to gVisor, which caches them and is faster for it.
func shareWithHost(spec sandbox.Spec, mounts []specs.Mount) map[string]string {
	notes := map[string]string{}
	marked := map[string]bool{} // one source may be mounted at several places
	for i, m := range mounts {
		if m.Type != "bind" || !fromUser(spec, m) || marked[m.Source] {
			continue
		}
		marked[m.Source] = true
		prefix := fmt.Sprintf("dev.gvisor.spec.mount.m%d.", i)
		notes[prefix+"source"] = m.Source
		notes[prefix+"type"] = "bind"
		notes[prefix+"share"] = "shared"
	}
	return notes
}

func fromUser(spec sandbox.Spec, m specs.Mount) bool {
	return slices.ContainsFunc(spec.Mounts, func(u sandbox.Mount) bool { return sandbox.Within(m.Source, u.Source) })
}
