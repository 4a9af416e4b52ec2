package gvisor

import (
	"fmt"
	"os"

	specs "github.com/opencontainers/runtime-spec/specs-go"

	"github.com/agent-loop/ralph/internal/sandbox"
)

const (
	// defaultID is the agent's user inside when ralph runs as root.
	defaultID = 1000

	// helperID is the user of ralph's own processes inside: not the agent's, so
	// that the agent has no say over them.
	helperID = 65532

	// sentryHostID and agentHostID are nobody's on the host: they lie above all
	// ranges that systems hand out, to users, to their containers (from 100000
	// on) or to services. As root, the sandbox's processes run as the first; the
	// second stands for the agent in id-mapped mounts.
	sentryHostID = 1_900_000_000
	agentHostID  = 1_900_001_000
)

// identity says who the sandbox is, inside and on the host.
type identity struct {
	root       bool
	guest      sandbox.User // the agent
	first      sandbox.User // the first process
	uids, gids []specs.LinuxIDMapping
}

// checkUser refuses users inside that would be too powerful: root, and the one
// that guards the door. The zero value is the engine's choice.
func checkUser(u sandbox.User) error {
	if u == (sandbox.User{}) {
		return nil
	}
	if u.UID <= 0 || u.GID <= 0 || u.UID == helperID || u.GID == helperID {
		return &sandbox.RefusedError{
			What: fmt.Sprintf("user %d:%d", u.UID, u.GID),
			Why:  fmt.Sprintf("root, its group and %d belong to the sandbox", helperID),
			Fix:  "choose an ordinary user, or none",
		}
	}
	return nil
}

// newIdentity chooses the ids. An ordinary user maps nobody but himself, which
// the kernel allows without privilege.
func newIdentity(asked sandbox.User) identity {
	uid, gid := os.Geteuid(), os.Getegid()
	ids := identity{root: uid == 0, guest: asked}
	if ids.guest.UID == 0 {
		ids.guest = sandbox.User{UID: uid, GID: gid}
		if ids.root {
			ids.guest = sandbox.User{UID: defaultID, GID: defaultID}
		}
	}
	if !ids.root {
		ids.first = ids.guest // gVisor becomes this user, and no other is mapped
		ids.uids = []specs.LinuxIDMapping{idMap(ids.guest.UID, uid)}
		ids.gids = []specs.LinuxIDMapping{idMap(ids.guest.GID, gid)}
		return ids
	}
	ids.first = sandbox.User{UID: helperID, GID: helperID}
	ids.uids = []specs.LinuxIDMapping{idMap(0, sentryHostID), idMap(ids.guest.UID, agentHostID)}
	ids.gids = []specs.LinuxIDMapping{idMap(0, sentryHostID), idMap(ids.guest.GID, agentHostID)}
	return ids
}

// mapped makes the owner of a user's mount appear as the agent. Only needed as
// root: an ordinary user's files are his inside as well. The sentry's own id
// stays itself, because it creates each file before it gives it away.
func (ids identity) mapped(m specs.Mount, owner sandbox.User) specs.Mount {
	if !ids.root {
		return m
	}
	m.Options = append(m.Options, "idmap")
	m.UIDMappings = []specs.LinuxIDMapping{idMap(owner.UID, agentHostID), idMap(sentryHostID, sentryHostID)}
	m.GIDMappings = []specs.LinuxIDMapping{idMap(owner.GID, agentHostID), idMap(sentryHostID, sentryHostID)}
	return m
}

func idMap(inside, host int) specs.LinuxIDMapping {
	return specs.LinuxIDMapping{ContainerID: uint32(inside), HostID: uint32(host), Size: 1}
}
