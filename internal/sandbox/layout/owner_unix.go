//go:build unix

package layout

import (
	"io/fs"
	"syscall"

	"github.com/agent-loop/ralph/internal/sandbox"
)

// ownerOf is the owner of what os.Stat has seen.
func ownerOf(info fs.FileInfo) sandbox.User {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return sandbox.User{}
	}
	return sandbox.User{UID: int(stat.Uid), GID: int(stat.Gid)}
}
