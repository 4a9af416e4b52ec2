package sandbox

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Info is what an engine can do on this machine. It is data, so that a Spec is
// checked against it before anything is created.
type Info struct {
	Engine   string `json:"engine"`
	Version  string `json:"version"`
	Boundary string `json:"boundary"` // what stands between guest and host, in a few words
	Rootless bool   `json:"rootless"`

	// Runtime is the OCI runtime that starts containers, Runtimes are all that
	// the engine knows, and Cgroups is the version of the control groups that
	// keep the limits. They are empty where an engine has no such thing.
	Runtime  string   `json:"runtime,omitempty"`
	Runtimes []string `json:"runtimes,omitempty"`
	Cgroups  int      `json:"cgroups,omitempty"`

	// Lacks says what this boundary does not hold that a stronger one would, each
	// in a few words, for people who choose.
	Lacks []string `json:"lacks,omitempty"`

	Networks []Network `json:"networks"`

	// Helper is where this very program is found inside, read-only.
	Helper string `json:"helper"`

	Isolated       bool `json:"isolated"` // false: commands run on the host
	ProtectedPaths bool `json:"protected_paths"`
	Rootfs         bool `json:"rootfs"`
	Image          bool `json:"image"`
	Terminal       bool `json:"terminal"`
	LimitMemory    bool `json:"limit_memory"`
	LimitCPUs      bool `json:"limit_cpus"`
	FractionalCPUs bool `json:"fractional_cpus"`
	LimitProcesses bool `json:"limit_processes"`
	LimitDisk      bool `json:"limit_disk"`

	// OwnFiles means that a sandbox can have folders of its own file system, see
	// Spec.Own; PrefersOwnFiles that they are faster than mounts and cost nothing
	// that a user would miss.
	OwnFiles        bool `json:"own_files"`
	PrefersOwnFiles bool `json:"prefers_own_files"`
}

// Check refuses a Spec that the engine cannot keep. It names every reason, not
// just the first.
func (i Info) Check(s Spec) error {
	var missing []string
	need := func(asked, can bool, what string) {
		if asked && !can {
			missing = append(missing, what)
		}
	}
	need(!slices.Contains(i.Networks, s.Network), false, fmt.Sprintf("enforce network %q", s.Network))
	need(s.Network == NetworkGate && s.Gate == nil, false, "open a door without a gate behind it")
	need(slices.ContainsFunc(s.Mounts, func(m Mount) bool { return len(m.Protect) > 0 }), i.ProtectedPaths, "keep paths read-only inside a writable mount")
	need(s.Rootfs != "", i.Rootfs, "use a root file system folder")
	need(s.Image != "", i.Image, "start from an image")
	need(s.Image != "" && s.Rootfs != "", false, "start from an image and a root file system folder at once")
	need(len(s.Own) > 0, i.OwnFiles, "give a sandbox folders of its own")
	need(s.Limits.Memory > 0, i.LimitMemory, "limit memory")
	need(s.Limits.CPUs > 0, i.LimitCPUs, "limit CPUs")
	need(s.Limits.CPUs != math.Trunc(s.Limits.CPUs), i.FractionalCPUs, "limit CPUs to a fraction")
	need(s.Limits.Processes > 0, i.LimitProcesses, "limit processes")
	need(s.Limits.Disk > 0, i.LimitDisk, "limit the disk written")
	if len(missing) == 0 {
		return nil
	}
	return &RefusedError{
		What: "engine " + i.Engine,
		Why:  "it cannot " + strings.Join(missing, ", nor "),
		Fix:  "choose another engine with --engine, or ask for less",
	}
}
