package idmap_test

import (
	"os"
	"testing"

	"github.com/agent-loop/ralph/internal/sandbox/idmap"
)

// TestRootGives: a runtime that works as root makes files for the agent, who finds
// them his own, while on disk they are the owner's.
func TestRootGives(t *testing.T) {
	source, target := folders(t)
	clone(t, source, target, idmap.View{As: agent, RootGives: true})
	if err := os.WriteFile(target+"/made", []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, root := ids(t, source+"/made"), (idmap.IDs{}); got == root || got == owner {
		t.Errorf("before it is given, it belongs to %v on disk", got)
	}
	if err := os.Lchown(target+"/made", agent.UID, agent.GID); err != nil {
		t.Fatal(err)
	}
	if got := ids(t, source+"/made"); got != owner {
		t.Errorf("on disk it belongs to %v, want %v", got, owner)
	}
	if out, err := as(t, agent, target, "cat made"); err != nil || out != "text" {
		t.Errorf("the agent reads %q, %v", out, err)
	}
}

// TestRootGivesNothingUnasked: without it, root cannot create anything.
func TestRootGivesNothingUnasked(t *testing.T) {
	source, target := folders(t)
	clone(t, source, target, idmap.View{As: agent})
	if err := os.WriteFile(target+"/made", nil, 0o600); err == nil {
		t.Error("root made a file through a clone")
	}
}
