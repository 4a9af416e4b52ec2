package container

import (
	"fmt"
	"os"

	"github.com/agent-loop/ralph/internal/sandbox"
	"github.com/agent-loop/ralph/internal/sandbox/layout"
)

// identity says who the agent is.
type identity struct {
	user   sandbox.User // inside, and unless users are mapped on the host as well
	userns string       // Podman's word for how users are mapped
	clones bool         // the user's files are shown as the agent's
}

// newIdentity chooses who the agent is. Where no users are mapped, whoever it is
// inside it is on the host too, so it can only be the caller, or nobody.
func newIdentity(c client, asked sandbox.User) (identity, error) {
	caller := sandbox.User{UID: os.Geteuid(), GID: os.Getegid()}
	ids := identity{user: caller, userns: "host"}
	switch {
	case caller.UID == 0:
		ids.user, ids.clones = sandbox.User{UID: layout.Nobody, GID: layout.Nobody}, true
	case c.facts.rootless:
		ids.userns = "keep-id"
	}
	if asked == (sandbox.User{}) || asked == ids.user {
		return ids, nil
	}
	if asked.UID <= 0 || asked.GID <= 0 {
		return ids, refusedUser(asked, "root and its group belong to the host", "choose an ordinary user, or none")
	}
	if ids.userns != "keep-id" {
		return ids, refusedUser(asked, "whoever it is inside, it is on the host too", "choose none, or podman without root")
	}
	ids.user, ids.userns = asked, fmt.Sprintf("keep-id:uid=%d,gid=%d", asked.UID, asked.GID)
	return ids, nil
}

func refusedUser(asked sandbox.User, why, fix string) error {
	return &sandbox.RefusedError{What: fmt.Sprintf("user %d:%d", asked.UID, asked.GID), Why: why, Fix: fix}
}
