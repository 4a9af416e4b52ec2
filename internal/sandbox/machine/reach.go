package machine

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/agent-loop/ralph/internal/sandbox"
)

// CheckReachable refuses a state folder below one that only its owner may enter:
// for root, a sandbox's processes are nobody on the host, and must still be able
// to walk to their root file system.
func CheckReachable(engine, dir string) error {
	for p := dir; ; p = filepath.Dir(p) {
		info, err := os.Stat(p)
		if err != nil {
			return fmt.Errorf("looking at the state folder: %w", err)
		}
		if info.Mode().Perm()&0o001 == 0 {
			return &sandbox.UnavailableError{
				Engine: engine,
				Reason: fmt.Sprintf("its state folder lies in %s, which only its owner may enter", p),
				Fix:    "set RALPH_STATE_DIR to a folder that others may enter, such as /var/lib/ralph",
			}
		}
		if p == filepath.Dir(p) {
			return nil
		}
	}
}
