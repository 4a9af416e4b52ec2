//go:build !linux

package usage

import (
	"io/fs"
	"time"
)

func freeOf(string) freeSpace { return freeSpace{} }

func changedBlocks(fs.FileInfo, time.Time) int64 { return 0 }

// Unlinked is known on Linux alone.
func Unlinked(int) int64 { return 0 }
