package keeper

import (
	"os"
	"slices"

	"github.com/agent-loop/ralph/internal/sandbox"
)

// UnixSockets tells whether programs may have unix sockets although the sandbox
// shares the host's kernel: only if no program of the host can have one where they
// could reach it. A folder as root file system may be in use elsewhere.
func UnixSockets(spec sandbox.Spec) bool {
	return spec.Rootfs == "" && !slices.ContainsFunc(spec.Mounts, mayHoldSockets)
}

// mayHoldSockets tells whether somebody else may listen on a socket in a mount. A
// plain file is not one, whoever made it.
func mayHoldSockets(m sandbox.Mount) bool {
	if m.Exclusive {
		return false
	}
	info, err := os.Stat(m.Source)
	return err != nil || !info.Mode().IsRegular()
}
