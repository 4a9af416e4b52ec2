package bubblewrap

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/agent-loop/ralph/internal/sandbox/idmap"
	"github.com/agent-loop/ralph/internal/sandbox/layout"
)

// launchArgument is what ralph is started with to be the launcher of a sandbox for
// root.
const launchArgument = "ralph:bubblewrap"

// launchOrder is what the launcher does.
type launchOrder struct {
	Clones []layout.Clone `json:"clones"`
	Args   []string       `json:"args"`
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
