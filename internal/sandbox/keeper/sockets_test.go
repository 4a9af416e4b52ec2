package keeper

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/agent-loop/ralph/internal/sandbox"
)

// A sandbox on the host's kernel may have unix sockets only where no program of
// the host can have any.
func TestUnixSockets(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	own, others := sandbox.Mount{Source: dir, Exclusive: true}, sandbox.Mount{Source: dir, ReadOnly: true}
	plain, gone := sandbox.Mount{Source: file}, sandbox.Mount{Source: filepath.Join(dir, "gone")}
	for name, tt := range map[string]struct {
		mounts []sandbox.Mount
		want   bool
	}{
		"nothing":         {nil, true},
		"our own":         {[]sandbox.Mount{own, own}, true},
		"a plain file":    {[]sandbox.Mount{own, plain}, true},
		"somebody else's": {[]sandbox.Mount{own, others}, false},
		"not there":       {[]sandbox.Mount{gone}, false},
	} {
		if got := UnixSockets(sandbox.Spec{Mounts: tt.mounts}); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
