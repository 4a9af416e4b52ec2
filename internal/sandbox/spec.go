package sandbox

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"time"
)

// Spec is everything an engine needs to know to create a sandbox. It is plain
// data but for Gate, so that it can be compared and written to a run's record.
type Spec struct {
	// Labels are kept with the sandbox and reported by Engine.List.
	Labels map[string]string `json:"labels,omitempty"`

	// Rootfs is a folder with a root file system, used read-only. Empty means
	// an almost empty root with the host's system directories, read-only.
	Rootfs string `json:"rootfs,omitempty"`

	// Image is an image that the engine itself knows, used read-only in the place
	// of Rootfs. At most one of the two is given.
	Image string `json:"image,omitempty"`

	// Mounts is the whole of the host that is visible inside, apart from the
	// system directories. The first one is the workspace.
	Mounts []Mount `json:"mounts"`

	// Own are folders of the sandbox's own file system: empty at the start,
	// writable, on no disk of the host's, and gone with the sandbox. See CheckOwn.
	Own []string `json:"own,omitempty"`

	// Env is the whole environment, as KEY=VALUE: nothing is inherited from
	// the host. See BaseEnv.
	Env []string `json:"env"`

	// User is who commands run as inside. The zero value lets the engine
	// choose an ordinary user whose files in the workspace belong to the
	// caller.
	User User `json:"user"`

	// Dir is the working directory inside; empty means the workspace.
	Dir string `json:"dir"`

	Limits  Limits  `json:"limits"`
	Network Network `json:"network"`

	// Gate serves the connections that leave the sandbox. The engine chooses
	// the transport, calls Gate once with a listener for it, and closes the
	// listener when the sandbox ends. If Gate returns an error before that, the
	// sandbox is ended. Required when Network is NetworkGate.
	Gate func(net.Listener) error `json:"-"`
}

// Mount makes a host path visible inside.
type Mount struct {
	Source   string `json:"source"`
	Target   string `json:"target"`
	ReadOnly bool   `json:"read_only"`

	// Protect names paths below a writable mount, relative to it, that are
	// read-only all the same. Neither they nor the folders above them can be
	// renamed or replaced inside. They must exist on the host; package
	// workspace sees to that.
	Protect []string `json:"protect,omitempty"`

	// Exclusive says that ralph made what is mounted for this sandbox, so that no
	// program of the host listens on a socket in it. An engine that shares the
	// host's kernel lets a sandbox have unix sockets only if all mounts are
	// exclusive: it cannot tell the host's from the sandbox's own.
	Exclusive bool `json:"exclusive,omitempty"`
}

// User is a user and group number inside the sandbox. Engines refuse root, its
// group, and ids that they need for themselves.
type User struct {
	UID int `json:"uid"`
	GID int `json:"gid"`
}

// Limits bound what a sandbox may use. Zero means no limit of that kind; what a
// user gets who says nothing is decided by the command line.
type Limits struct {
	Memory    int64         `json:"memory"`    // bytes, of everything inside together
	CPUs      float64       `json:"cpus"`      // processors' worth of time
	Processes int           `json:"processes"` // processes and threads
	Disk      int64         `json:"disk"`      // bytes written to mounts
	Time      time.Duration `json:"time"`      // from creation
}

// Network says which way out a sandbox has.
type Network string

const (
	// NetworkNone leaves loopback alone.
	NetworkNone Network = "none"
	// NetworkGate adds one door, an HTTP proxy on 127.0.0.1:3128 that ends at
	// Spec.Gate.
	NetworkGate Network = "gate"
	// NetworkOpen is the host's network; only for users who asked for it.
	NetworkOpen Network = "open"
)

// GateAddress is where programs inside find the gate.
const GateAddress = "127.0.0.1:3128"

// Cleaned is the Spec with mounts whose paths have one spelling.
func (s Spec) Cleaned() Spec {
	s.Mounts = slices.Clone(s.Mounts)
	for i, m := range s.Mounts {
		s.Mounts[i].Source, s.Mounts[i].Target = filepath.Clean(m.Source), filepath.Clean(m.Target)
	}
	return s
}

// Workspace is the host folder that the sandbox works on.
func (s Spec) Workspace() string {
	if len(s.Mounts) == 0 {
		return ""
	}
	return s.Mounts[0].Source
}

// WorkDir is the directory in which commands start unless they say otherwise.
func (s Spec) WorkDir() string {
	switch {
	case s.Dir != "":
		return s.Dir
	case len(s.Mounts) > 0:
		return s.Mounts[0].Target
	default:
		return "/"
	}
}

// CheckOwn refuses places for folders of the sandbox's own that no mount could have,
// and those that share a place with a mount or with another one: what lies in what
// would be the engine's to say. Every refusal is a *RefusedError; all are reported.
func (s Spec) CheckOwn() error {
	var errs []error
	for i, dir := range s.Own {
		why, fix := badTarget(dir)
		if why == "" {
			why, fix = s.refuseShared(i)
		}
		if why != "" {
			errs = append(errs, &RefusedError{What: fmt.Sprintf("folder %q of the sandbox's own", dir), Why: why, Fix: fix})
		}
	}
	return errors.Join(errs...)
}

// refuseShared refuses a folder of the sandbox's own that is in the way of something.
func (s Spec) refuseShared(own int) (why, fix string) {
	const elsewhere = "choose another place"
	for _, m := range s.Mounts {
		if Overlap(s.Own[own], m.Target) {
			return fmt.Sprintf("it shares a place with the mount at %s", m.Target), elsewhere
		}
	}
	for _, other := range s.Own[:own] {
		if Overlap(s.Own[own], other) {
			return fmt.Sprintf("it shares a place with %s", other), elsewhere
		}
	}
	return "", ""
}

// Fingerprint identifies what a sandbox was made from. A sandbox may be reused
// only for a Spec with the same fingerprint. JSON would not do here: it makes
// bytes that are not text the same, and variables may hold any.
func (s Spec) Fingerprint() string {
	s.Labels, s.Gate = nil, nil
	sum := sha256.Sum256(fmt.Appendf(nil, "%#v", s))
	return hex.EncodeToString(sum[:8])
}
