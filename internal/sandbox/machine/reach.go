package machine

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/agent-loop/ralph/internal/sandbox"
)

// CheckReachable refuses a folder below one that only its owner may enter: for
// root, a sandbox's processes are nobody on the host, and must still be able to
// walk to what they are made of. what names the folder.
func CheckReachable(engine, what, dir string) error {
	for p := dir; ; p = filepath.Dir(p) {
		info, err := os.Stat(p)
		if err != nil {
			return fmt.Errorf("looking at the %s: %w", what, err)
		}
		if info.Mode().Perm()&0o001 == 0 {
			return &sandbox.UnavailableError{
				Engine: engine,
				Reason: fmt.Sprintf("its %s lies in %s, which only its owner may enter", what, p),
				Fix:    "let others enter that folder, or use another; RALPH_STATE_DIR sets where the state folder is",
			}
		}
		if p == filepath.Dir(p) {
			return nil
		}
	}
}
