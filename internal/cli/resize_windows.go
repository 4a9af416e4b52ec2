package cli

import (
	"context"
	"os"

	"github.com/agent-loop/ralph/internal/sandbox"
)

// watchSize never reports: Windows has no signal for it.
func watchSize(context.Context, *os.File) (sizes <-chan sandbox.TerminalSize, stop func()) {
	return nil, func() {}
}
