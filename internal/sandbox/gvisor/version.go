package gvisor

import "runtime/debug"

// Version is that of the gVisor that is linked in, or "" where there is none or
// the binary does not tell.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, dep := range info.Deps {
		if dep.Path == "gvisor.dev/gvisor" {
			return dep.Version
		}
	}
	return ""
}
