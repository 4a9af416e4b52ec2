package probe

import (
	"encoding/json"
	"io"
	"os"
	"time"
)

// Kind groups probes by what they attack.
type Kind string

// The kinds, in the order in which All lists them.
const (
	Files      Kind = "files"
	Git        Kind = "git"
	Processes  Kind = "processes"
	Privileges Kind = "privileges"
	Network    Kind = "network"
	Kernel     Kind = "kernel"
	Resources  Kind = "resources"
)

// Probe is one attempt to break out, or to harm the host from inside.
type Probe struct {
	Name  string // what people and test reports call it, in kebab-case
	Tries string // one sentence: what it attempts
	Kind  Kind
	Run   func(Facts) Result
}

// Exit codes of Main. They are far from those of a program that could not be
// started, so that a missing helper is never taken for a verdict.
const (
	ExitBlocked       = 0
	ExitBreach        = 10
	ExitError         = 11
	ExitNotApplicable = 12
)

// patience is how long one probe may take before it counts as not tried.
const patience = 60 * time.Second

// All returns every probe in a fixed order. The Resources probes exhaust the
// sandbox they run in and need one of their own.
func All() []Probe { return all() }

// Main runs the probe that args names and writes its Report to out as one JSON
// line. The facts come from the environment variable FactsVariable.
func Main(args []string, out io.Writer) (exit int) {
	report := Report{Name: "none"}
	if len(args) > 0 {
		report.Name = args[0]
	}
	facts, err := ReadFacts(os.Getenv(FactsVariable))
	if err != nil {
		report.Result = failed("%v", err)
	} else {
		report.Result = run(report.Name, facts)
	}
	report.Detail = clean(report.Detail, facts)
	if err := json.NewEncoder(out).Encode(report); err != nil {
		return ExitError
	}
	return report.Verdict.exitCode()
}

func run(name string, facts Facts) Result {
	p, ok := find(name)
	if !ok {
		return failed("there is no probe of that name")
	}
	done := make(chan Result, 1)
	go func() {
		defer func() {
			if r := recover(); r != nil {
				done <- failed("the probe crashed: %v", r)
			}
		}()
		done <- p.Run(facts)
	}()
	select {
	case result := <-done:
		return result
	case <-time.After(patience):
		return failed("the probe did not finish within %s", patience)
	}
}

// find looks among the probes and their inner steps.
func find(name string) (Probe, bool) {
	for _, p := range append(all(), steps()...) {
		if p.Name == name {
			return p, true
		}
	}
	return Probe{}, false
}

func (v Verdict) exitCode() int {
	switch v {
	case Blocked:
		return ExitBlocked
	case Breach:
		return ExitBreach
	case NotApplicable:
		return ExitNotApplicable
	default:
		return ExitError
	}
}
