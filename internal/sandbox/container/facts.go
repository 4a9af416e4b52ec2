package container

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// facts are what an engine says of itself, whichever it is.
type facts struct {
	version string // of what starts the containers
	client  string // of the command; empty: it is the same program, or does not tell
	system  string // what the engine runs on

	remote   bool // on another machine, or in a virtual one
	rootless bool
	remapped bool // all users are others on the host
	mapped   bool // rootless: there are users to map

	runtime       string // by the engine's name
	runtimePath   string // Podman
	runtimes      []string
	cgroupManager string // Podman
	conmon        string // Podman

	cgroups                                int
	limitMemory, limitProcesses, limitCPUs bool
	cpus                                   int

	filtered bool // a system call filter is the default
}

// dockerInfo is the part of "docker info" that matters.
type dockerInfo struct {
	ServerVersion   string
	OperatingSystem string
	OSType          string
	CgroupVersion   string
	DefaultRuntime  string
	MemoryLimit     bool
	PidsLimit       bool
	CPUCfsQuota     bool `json:"CpuCfsQuota"`
	NCPU            int
	Runtimes        map[string]json.RawMessage
	SecurityOptions []string
	ServerErrors    []string
	ClientInfo      struct{ Version string }
}

func parseDocker(text string) (facts, error) {
	var info dockerInfo
	if err := json.Unmarshal([]byte(text), &info); err != nil {
		return facts{}, fmt.Errorf("reading what docker says of itself: %w", err)
	}
	if len(info.ServerErrors) > 0 {
		return facts{}, errors.New(oneLine(info.ServerErrors[0]))
	}
	if info.ServerVersion == "" || info.DefaultRuntime == "" {
		return facts{}, errors.New("reading what docker says of itself: there is no version or no runtime")
	}
	f := facts{
		version: oneLine(info.ServerVersion), client: oneLine(info.ClientInfo.Version), system: oneLine(info.OperatingSystem),
		remote:  strings.Contains(info.OperatingSystem, "Docker Desktop") || info.OSType != "linux",
		runtime: oneLine(info.DefaultRuntime), runtimes: slices.Sorted(maps.Keys(info.Runtimes)),
		limitMemory: info.MemoryLimit, limitProcesses: info.PidsLimit, limitCPUs: info.CPUCfsQuota,
		cpus: info.NCPU,
	}
	f.cgroups = map[string]int{"1": 1, "2": 2}[info.CgroupVersion]
	for _, option := range info.SecurityOptions {
		f.learn(option)
	}
	return f, nil
}

// learn reads an option such as "name=seccomp,profile=builtin".
func (f *facts) learn(option string) {
	parts := strings.Split(option, ",")
	switch parts[0] {
	case "name=rootless":
		f.rootless, f.mapped = true, true
	case "name=userns":
		f.remapped = true
	case "name=seccomp":
		f.filtered = !slices.Contains(parts, "profile=unconfined")
	}
}

// podmanInfo is the part of "podman info" that matters.
type podmanInfo struct {
	Host struct {
		OS                string   `json:"os"`
		CPUs              int      `json:"cpus"`
		CgroupManager     string   `json:"cgroupManager"`
		CgroupVersion     string   `json:"cgroupVersion"`
		CgroupControllers []string `json:"cgroupControllers"`
		Conmon            struct {
			Path string `json:"path"`
		} `json:"conmon"`
		Distribution struct {
			Distribution string `json:"distribution"`
		} `json:"distribution"`
		IDMappings struct {
			UIDMap []idRange `json:"uidmap"`
		} `json:"idMappings"`
		OCIRuntime struct {
			Name string `json:"name"`
			Path string `json:"path"`
		} `json:"ociRuntime"`
		ServiceIsRemote bool `json:"serviceIsRemote"`
		Security        struct {
			Rootless       bool `json:"rootless"`
			SeccompEnabled bool `json:"seccompEnabled"`
		} `json:"security"`
	} `json:"host"`
	Version struct {
		Version string
	} `json:"version"`
}

type idRange struct {
	Size int64 `json:"size"`
}

func parsePodman(text string) (facts, error) {
	var info podmanInfo
	if err := json.Unmarshal([]byte(text), &info); err != nil {
		return facts{}, fmt.Errorf("reading what podman says of itself: %w", err)
	}
	host := info.Host
	if info.Version.Version == "" || host.OCIRuntime.Name == "" {
		return facts{}, errors.New("reading what podman says of itself: there is no version or no runtime")
	}
	name := oneLine(path.Base(host.OCIRuntime.Name)) // it may have been chosen by its path
	has := func(controller string) bool { return slices.Contains(host.CgroupControllers, controller) }
	f := facts{
		version: oneLine(info.Version.Version), system: oneLine(host.Distribution.Distribution),
		remote: host.ServiceIsRemote || host.OS != "linux", rootless: host.Security.Rootless,
		runtime: name, runtimePath: absolute(host.OCIRuntime.Path), runtimes: []string{name},
		cgroupManager: oneLine(host.CgroupManager), conmon: absolute(host.Conmon.Path),
		limitMemory: has("memory"), limitProcesses: has("pids"), limitCPUs: has("cpu"),
		cpus: host.CPUs, filtered: host.Security.SeccompEnabled,
	}
	f.cgroups = map[string]int{"v1": 1, "v2": 2}[host.CgroupVersion]
	if f.rootless && f.cgroups != 2 {
		f.limitMemory, f.limitProcesses, f.limitCPUs = false, false, false // they would be ignored
	}
	for _, r := range host.IDMappings.UIDMap {
		f.mapped = f.mapped || r.Size > 1
	}
	return f, nil
}

// absolute drops what is no path of a program.
func absolute(name string) string {
	if !path.IsAbs(name) {
		return ""
	}
	return name
}

// oneLine bounds what an engine says about itself, for people to read.
func oneLine(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > 300 {
		text = text[:300]
	}
	return strings.ToValidUTF8(text, "?")
}

// ownKernel tells whether a runtime gives each container a kernel of its own. It
// goes by the name, as administrators do.
func ownKernel(runtime string) bool {
	name := path.Base(runtime)
	return strings.HasPrefix(name, "runsc") || strings.HasPrefix(name, "kata") ||
		strings.HasPrefix(name, "io.containerd.runsc.") || strings.HasPrefix(name, "io.containerd.kata")
}
