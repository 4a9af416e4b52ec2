//go:build unix

package cli

import (
	"os"
	"strings"
	"testing"
)

// Root cleans up in the state folder what sandboxes left: it must not be somebody
// else's, who could have put anything there.
func TestStateFolderOfAnotherIsRefused(t *testing.T) {
	dir := t.TempDir()
	w := World{Getenv: func(name string) string {
		if name == "RALPH_STATE_DIR" {
			return dir
		}
		return ""
	}}
	if got, err := w.stateDir(); err != nil || got != dir {
		t.Errorf("our own: %q, %v", got, err)
	}
	if os.Geteuid() != 0 {
		t.Skip("only root can give a folder away")
	}
	if err := os.Chown(dir, 54321, 54321); err != nil {
		t.Fatal(err)
	}
	if _, err := w.stateDir(); err == nil || !strings.Contains(err.Error(), "belongs to another user") {
		t.Errorf("somebody else's: %v", err)
	}
}
