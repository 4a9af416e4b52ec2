package workspace

import "io/fs"

// linkCount does not count here.
type linkCount struct{}

func (*linkCount) see(fs.FileInfo) {}
func (*linkCount) outside() int    { return 0 }
