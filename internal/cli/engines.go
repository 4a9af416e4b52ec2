package cli

import (
	"slices"

	"github.com/agent-loop/ralph/internal/sandbox"
	"github.com/agent-loop/ralph/internal/sandbox/bubblewrap"
	"github.com/agent-loop/ralph/internal/sandbox/container"
	"github.com/agent-loop/ralph/internal/sandbox/gvisor"
)

// engines is the only list of engines. One that has several OCI runtimes is listed
// once for each, the one with its own choice of a runtime first; all of them see
// the same sandboxes.
func engines(stateDir string) []sandbox.Engine {
	list := []sandbox.Engine{gvisor.New(stateDir, ""), bubblewrap.New(stateDir, "")}
	for _, flavour := range []container.Flavour{container.Docker, container.Podman} {
		for _, runtime := range []string{"", "runsc", "kata", "crun", "runc"} {
			list = append(list, container.New(container.Options{Flavour: flavour, StateDir: stateDir, Runtime: runtime}))
		}
	}
	return list
}

// differentEngines is a list with one engine of each name.
func differentEngines(list []sandbox.Engine) []sandbox.Engine {
	var different []sandbox.Engine
	for _, e := range list {
		if !slices.ContainsFunc(different, func(other sandbox.Engine) bool { return other.Name() == e.Name() }) {
			different = append(different, e)
		}
	}
	return different
}

// engineNames are the names of the engines of a list.
func engineNames(list []sandbox.Engine) []string {
	var names []string
	for _, e := range differentEngines(list) {
		names = append(names, e.Name())
	}
	return names
}
