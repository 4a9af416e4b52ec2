package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/agent-loop/ralph/internal/config"
	"github.com/agent-loop/ralph/internal/sandbox"
	"github.com/agent-loop/ralph/internal/sandbox/gvisor"
)

// engines is the only list of engines, the strongest boundary first.
func engines(stateDir string) []sandbox.Engine {
	return []sandbox.Engine{
		gvisor.New(stateDir, ""),
	}
}

// chooseEngine returns the engine that the user named, or with "auto" the first
// that works here. An engine is never swapped for another one silently: a named
// one that cannot run is an error.
func chooseEngine(ctx context.Context, list []sandbox.Engine, name string) (sandbox.Engine, sandbox.Info, error) {
	var names []string
	var failures []error
	for _, e := range list {
		names = append(names, e.Name())
		if name != config.EngineAuto && name != e.Name() {
			continue
		}
		info, err := e.Probe(ctx)
		if err == nil {
			return e, info, nil
		}
		failures = append(failures, err)
	}
	if len(failures) > 0 {
		return nil, sandbox.Info{}, errors.Join(failures...)
	}
	return nil, sandbox.Info{}, usageError{
		fmt.Errorf("engine %q is not part of this ralph", name),
		"use one of: " + strings.Join(names, ", "),
	}
}
