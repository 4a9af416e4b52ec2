package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/agent-loop/ralph/internal/config"
	"github.com/agent-loop/ralph/internal/money"
	"github.com/agent-loop/ralph/internal/rundir"
)

// specVersion is that of the form of runSpec.
const specVersion = 1

// runSpec is what a run was started with, kept in its spec.json. A resumed run
// goes by it, whatever the project's files say by then. It holds no secret.
type runSpec struct {
	Version  int                 `json:"version"`
	Ralph    string              `json:"ralph"` // the version that made it
	Project  string              `json:"project"`
	Data     string              `json:"data,omitzero"` // of a run of research
	Rootfs   string              `json:"rootfs,omitzero"`
	Settings map[string][]string `json:"settings"`
	Git      *gitSpec            `json:"git,omitzero"`
	Tasks    jsontext.Value      `json:"tasks,omitzero"` // the task file as the run found it
}

// readSpec reads the spec of a run.
func readSpec(r *rundir.Reader) (runSpec, error) {
	var spec runSpec
	text, err := r.Spec()
	if err != nil {
		return spec, err
	}
	if err := json.Unmarshal(text, &spec); err != nil {
		return spec, fmt.Errorf("reading the spec of the run: %w", err)
	}
	if spec.Version != specVersion {
		return spec, fmt.Errorf("the run was made by another version of ralph, %s", spec.Ralph)
	}
	state, err := r.State()
	if err == nil && len(state.Resumes) > 0 {
		spec.takeLimits(state.Resumes[len(state.Resumes)-1].Limits)
	}
	return spec, err
}

// takeLimits puts the limits of the last resume in the place of those that the run
// was started with: who gave it more room once need not say so again.
func (s *runSpec) takeLimits(l rundir.Limits) {
	if s.Settings == nil {
		s.Settings = map[string][]string{}
	}
	s.Settings["budget.max_cost_usd"] = []string{strings.TrimPrefix(l.MaxCostUSD.String(), "$")}
	s.Settings["budget.max_tokens"] = []string{fmt.Sprint(l.MaxTokens)}
	s.Settings["budget.max_iterations"] = []string{fmt.Sprint(l.MaxIterations)}
	s.Settings["budget.max_time"] = []string{fmt.Sprintf("%ds", l.MaxTimeSeconds)}
}

// runLimits are the limits of a whole run.
func runLimits(b config.Budget) (rundir.Limits, error) {
	usd, err := money.FromFloat(b.MaxCostUSD)
	if err != nil {
		return rundir.Limits{}, fmt.Errorf("budget.max_cost_usd: %w", err)
	}
	return rundir.Limits{
		MaxCostUSD: usd, MaxTokens: b.MaxTokens, MaxIterations: b.MaxIterations,
		MaxTimeSeconds: int64(b.MaxTime.Seconds()),
	}, nil
}

// errDone means that there is nothing to resume.
var errDone = errors.New("the run is done")
