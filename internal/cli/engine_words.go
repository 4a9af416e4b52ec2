package cli

import (
	"fmt"
	"strings"

	"github.com/agent-loop/ralph/internal/rundir"
)

// String is one line about the engine, why it was chosen, and what was not.
func (c engineChoice) String() string {
	name := runtimeName(strings.TrimSpace(c.info.Engine+" "+c.info.Version), c.info.Runtime)
	line := fmt.Sprintf("engine %s: %s", name, c.info.Boundary)
	if len(c.passed) > 0 {
		line += "; passed over: " + strings.Join(c.passed, "; ")
	}
	return line
}

// lacks is what the user should know of the boundary, or "".
func (c engineChoice) lacks() string {
	if len(c.info.Lacks) == 0 {
		return ""
	}
	return fmt.Sprintf("%s lacks: %s", c.info.Engine, strings.Join(c.info.Lacks, "; "))
}

// tell says which engine was chosen, and what it lacks if a user cannot know: who
// has named an engine does.
func (c engineChoice) tell(w World, verbose bool) {
	if verbose {
		fmt.Fprintln(w.Err, "ralph:", visible(c.String()))
	}
	if lacks := c.lacks(); lacks != "" && (verbose || c.auto) {
		fmt.Fprintln(w.Err, "ralph: note:", visible(lacks))
	}
}

// record writes the choice into the audit of a sandbox.
func (c engineChoice) record(audit *rundir.Launch) {
	audit.Engine, audit.Version, audit.Boundary = c.info.Engine, c.info.Version, c.info.Boundary
	audit.Runtime, audit.Lacks = c.info.Runtime, c.info.Lacks
	audit.Reason, audit.PassedOver = c.reason, c.passed
}

// runtimeName is an engine with its runtime, if it has one.
func runtimeName(engine, runtime string) string {
	if runtime == "" {
		return engine
	}
	return engine + " with " + runtime
}
