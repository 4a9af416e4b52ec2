package gvisor

import "path/filepath"

// Besides what package roster keeps there, a sandbox's folder holds
//
//	bundle/      what gVisor was started from
//	runsc/       gVisor's own state, with the control socket
const (
	bundleName = "bundle"
	runscName  = "runsc"
)

func bundleDir(dir string) string { return filepath.Join(dir, bundleName) }
func runscDir(dir string) string  { return filepath.Join(dir, runscName) }

// processRecord is how another ralph finds the sandbox's processes.
type processRecord struct {
	Launcher int `json:"launcher"`
}
