//go:build !linux

package sandboxtest

import (
	"os"
	"testing"
)

// attackAbstract says whether the host has sockets without a file.
const attackAbstract = false

// attackKey has no kernel keys to offer here.
func attackKey(*testing.T, string) string { return "" }

// attackKernelLog has no common way to the kernel's log here.
func attackKernelLog() string { return "" }

// attackLeftovers leaves it to the engine's own hook: a sandbox is a virtual
// machine here, not processes of the host.
func attackLeftovers(*testing.T, string) []string { return nil }

// attackDiskUse is the size, for want of something exact that all systems have.
func attackDiskUse(info os.FileInfo) int64 { return info.Size() }
