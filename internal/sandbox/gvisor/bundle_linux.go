package gvisor

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	specs "github.com/opencontainers/runtime-spec/specs-go"

	"github.com/agent-loop/ralph/internal/sandbox"
	"github.com/agent-loop/ralph/internal/sandbox/layout"
)

// The links beside our program whose names say what it is to do.
const (
	initPath  = "/.ralph/" + initName
	doorPath  = "/.ralph/" + doorName
	bytesPath = "/.ralph/" + bytesName
)

// writeBundle writes what gVisor is started from: the root file system and
// config.json.
func writeBundle(dir string, spec sandbox.Spec, ids identity, helper string) error {
	tree, err := layout.Build(filepath.Join(dir, "rootfs"), spec, ids.guest, helper, initName, doorName, bytesName)
	if err != nil {
		return err
	}
	mounts := []specs.Mount{{Destination: "/proc", Type: "proc", Source: "proc"}}
	for _, m := range tree {
		mounts = append(mounts, ociMount(m, ids))
	}
	return writeConfig(dir, spec, ids, mounts)
}

// ociMount says the same in gVisor's words.
func ociMount(m layout.Mount, ids identity) specs.Mount {
	if m.Kind == layout.Tmpfs {
		return tmpfsMount(m)
	}
	bind := bindMount(m.Source, m.Target, m.ReadOnly)
	if m.User && !m.Empty { // an id-mapped mount takes milliseconds
		bind = ids.mapped(bind, m.Owner)
	}
	return bind
}

func bindMount(source, target string, readOnly bool) specs.Mount {
	mode := "rw"
	if readOnly {
		mode = "ro"
	}
	return specs.Mount{
		Destination: target,
		Type:        "bind",
		Source:      source,
		Options:     []string{"rbind", mode, "nosuid", "nodev"},
	}
}

func tmpfsMount(m layout.Mount) specs.Mount {
	options := []string{"nosuid", "nodev", fmt.Sprintf("size=%d", m.Size)}
	if m.Owner != (sandbox.User{}) {
		options = append(options, fmt.Sprintf("uid=%d", m.Owner.UID), fmt.Sprintf("gid=%d", m.Owner.GID))
	}
	options = append(options, fmt.Sprintf("mode=%04o", m.Mode))
	return specs.Mount{Destination: m.Target, Type: "tmpfs", Source: "tmpfs", Options: options}
}

func writeConfig(dir string, spec sandbox.Spec, ids identity, mounts []specs.Mount) error {
	config := specs.Spec{
		Version:     specs.Version,
		Root:        &specs.Root{Path: "rootfs", Readonly: true},
		Hostname:    layout.Hostname,
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
