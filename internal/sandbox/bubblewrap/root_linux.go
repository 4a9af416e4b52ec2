package bubblewrap

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/agent-loop/ralph/internal/sandbox"
	"github.com/agent-loop/ralph/internal/sandbox/idmap"
	"github.com/agent-loop/ralph/internal/sandbox/layout"
	"github.com/agent-loop/ralph/internal/sandbox/machine"
)

// launchArgument is what ralph is started with to be the launcher of a sandbox for
// root.
const launchArgument = "ralph:bubblewrap"

// launchOrder is what the launcher does.
type launchOrder struct {
	Clones []layout.Clone `json:"clones"`
	Binds  []bind         `json:"binds"`
	Args   []string       `json:"args"`
}

// bind shows a file or folder at a place where nobody can reach it, too.
type bind struct {
	Source string `json:"source"`
	Target string `json:"target"`
}

// makeReachable plans a bind for all that lies where only root may go: bwrap is
// nobody when it looks for it. That may be ralph itself, or a root file system.
func makeReachable(places string, mounts []layout.Mount) ([]bind, []layout.Mount, error) {
	var binds []bind
	reachable := slices.Clone(mounts)
	for i := range reachable {
		m := &reachable[i]
		if m.Kind != layout.Bind || sandbox.Within(m.Source, places) || machine.CheckReachable(Name, "", filepath.Dir(m.Source)) == nil {
			continue
		}
		place, err := layout.Place(places, m.Source, "r"+strconv.Itoa(i))
		if err != nil {
			return nil, nil, err
		}
		binds = append(binds, bind{m.Source, place})
		m.Source = place
	}
	return binds, reachable, nil
}

// Reexec must be among the first calls in main. When this process was started as
// a launcher it does that work and becomes bwrap; otherwise it does nothing.
func Reexec() {
	if len(os.Args) != 3 || os.Args[1] != launchArgument {
		return
	}
	fmt.Fprintln(os.Stderr, "ralph:", becomeBwrap(os.Args[2]))
	os.Exit(1)
}

// becomeBwrap returns only with an error.
func becomeBwrap(file string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("reading the launch order: %w", err)
	}
	var order launchOrder
	if err := json.Unmarshal(data, &order); err != nil {
		return fmt.Errorf("reading the launch order: %w", err)
	}
	agent := idmap.IDs{UID: layout.Nobody, GID: layout.Nobody}
	for _, c := range order.Clones {
		if err := idmap.Clone(c.Source, c.Target, idmap.View{As: agent, ReadOnly: c.ReadOnly}); err != nil {
			return err
		}
	}
	for _, b := range order.Binds {
		if err := unix.Mount(b.Source, b.Target, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
			return fmt.Errorf("mounting %s: %w", b.Source, err)
		}
	}
	if err := becomeNobody(); err != nil {
		return err
	}
	return fmt.Errorf("starting bwrap: %w", unix.Exec(order.Args[0], order.Args, []string{}))
}

// becomeNobody gives up root for good. That also undoes the promise to die with
// ralph, which is renewed.
func becomeNobody() error {
	parent := os.Getppid()
	err := errors.Join(
		unix.Setgroups(nil),
		unix.Setresgid(layout.Nobody, layout.Nobody, layout.Nobody),
		unix.Setresuid(layout.Nobody, layout.Nobody, layout.Nobody),
		unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0),
	)
	if err != nil {
		return fmt.Errorf("giving up root: %w", err)
	}
	if os.Getppid() != parent {
		return errors.New("ralph is gone")
	}
	return nil
}
