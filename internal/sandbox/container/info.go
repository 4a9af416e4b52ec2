package container

import (
	"fmt"

	"github.com/agent-loop/ralph/internal/sandbox"
	"github.com/agent-loop/ralph/internal/sandbox/keeper"
)

// check refuses engines that could not keep what a sandbox promises.
func (f flavour) check(known facts) error {
	name := string(f.name)
	unavailable := func(reason, fix string) error {
		return &sandbox.UnavailableError{Engine: name, Reason: reason, Fix: fix}
	}
	switch {
	case known.remote:
		return unavailable("it runs on another machine, or in a virtual one, and cannot see this one's folders",
			"use an engine on this machine: unset DOCKER_HOST or CONTAINER_HOST, or docker context use default")
	case olderThan(known.version, f.oldest):
		return unavailable("version "+known.version+" is too old", fmt.Sprintf("install %s %d.%d or later", name, f.oldest[0], f.oldest[1]))
	case known.remapped:
		return unavailable("its daemon maps all users to others (userns-remap), so files in the workspace would not be yours",
			"use podman or another engine, or take userns-remap out of /etc/docker/daemon.json")
	case known.rootless && f.name == Docker:
		return unavailable("without root it can show your files to its own root only, and nobody may be root in a sandbox",
			"use podman, which maps you to yourself, or another engine")
	case known.rootless && !known.mapped:
		return unavailable("there are no users to map: newuidmap or your ranges in /etc/subuid are missing", subordinateFix)
	}
	return nil
}

// describe is what a caller wants to know of an engine.
func (f flavour) describe(known facts) sandbox.Info {
	// The keeper's limit on processes counts all of the user's on the host, unless
	// the users inside are counted apart.
	countsProcesses := known.limitProcesses || known.rootless
	return sandbox.Info{
		Engine:         string(f.name),
		Version:        known.version,
		Boundary:       fmt.Sprintf("container (%s, %s)", f.name, known.runtime),
		Rootless:       known.rootless,
		Runtime:        known.runtime,
		Runtimes:       known.runtimes,
		Cgroups:        known.cgroups,
		Lacks:          known.lacks(f.name),
		Networks:       []sandbox.Network{sandbox.NetworkNone, sandbox.NetworkGate},
		Helper:         keeper.Path,
		Isolated:       true,
		ProtectedPaths: true,
		Rootfs:         true,
		Image:          true,
		Terminal:       true,
		LimitMemory:    true, // watched by the keeper where the kernel does not
		LimitCPUs:      true,
		FractionalCPUs: known.limitCPUs,
		LimitProcesses: countsProcesses,
		LimitDisk:      true,
		OwnFiles:       true,
	}
}

func (f facts) lacks(name Flavour) []string {
	var lacks []string
	if !ownKernel(f.runtime) {
		lacks = append(lacks, keeper.LacksKernel, keeper.LacksSockets)
		if !f.filtered {
			lacks = append(lacks, "the engine's system call filter, which is switched off: ralph's alone holds")
		}
	}
	if name == Docker && ownKernel(f.runtime) {
		lacks = append(lacks, "IPv6 on loopback: docker switches it off, and this kernel cannot have it back")
	}
	if f.limitMemory {
		lacks = append(lacks, "a limit of the kernel's on disk: it is watched from outside, and a sandbox may be a moment over it")
	} else {
		lacks = append(lacks, keeper.LacksLimits)
	}
	if !f.rootless {
		lacks = append(lacks, fmt.Sprintf("a start without root: %s makes the boundary with root's rights", name))
	}
	return lacks
}

// settings are what the keeper is to hold: whatever the kernel does not.
func (f facts) settings(spec sandbox.Spec, chooseCPUs func(float64) []int) keeper.Settings {
	s := keeper.Settings{
		Gate:        spec.Network == sandbox.NetworkGate,
		OwnKernel:   ownKernel(f.runtime),
		UnixSockets: keeper.UnixSockets(spec) || ownKernel(f.runtime),
		FileSize:    spec.Limits.Disk,
		MemoryGroup: f.limitMemory && spec.Limits.Memory > 0,
	}
	if !f.limitProcesses {
		s.Processes = spec.Limits.Processes
	}
	if !f.limitMemory {
		s.Memory = spec.Limits.Memory
	}
	if !f.limitCPUs {
		s.CPUs = chooseCPUs(spec.Limits.CPUs)
	}
	return s
}
