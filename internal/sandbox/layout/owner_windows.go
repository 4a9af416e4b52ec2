package layout

import (
	"io/fs"

	"github.com/agent-loop/ralph/internal/sandbox"
)

// ownerOf knows no numbers here.
func ownerOf(fs.FileInfo) sandbox.User { return sandbox.User{} }
