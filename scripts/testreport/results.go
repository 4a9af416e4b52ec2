package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

const module = "github.com/agent-loop/ralph/"

// event is a line of go test -json; see go doc test2json.
type event struct {
	Action      string
	Package     string
	Test        string
	Output      string
	Elapsed     float64
	ImportPath  string // what a build event is about
	FailedBuild string // the ImportPath that made a package fail
}

// outcome is how a test or a package ended. What did not end has failed: its
// process was killed, or called os.Exit.
type outcome int

const (
	failed outcome = iota
	passed
	skipped
)

// result is a test, or a whole package, which has no test name.
type result struct {
	pkg, test string
	outcome   outcome
	output    clip
}

func (one *result) name() string { return strings.TrimSuffix(one.pkg+" "+one.test, " ") }

type results struct {
	noSkip []string
	byName map[string]*result
	order  []*result
	builds map[string]*clip
}

// read takes events until the input ends and prints a line for each package that
// ends. What is not an event is printed as it is.
func (r *results) read(in io.Reader, out io.Writer) error {
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		var e event
		if json.Unmarshal(line, &e) == nil && e.Action != "" {
			r.take(e, out)
		} else if len(line) > 0 {
			fmt.Fprintf(out, "%s\n", strings.TrimSuffix(string(line), "\n"))
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (r *results) take(e event, out io.Writer) {
	if e.ImportPath != "" {
		r.takeBuild(e)
		return
	}
	one := r.find(strings.TrimPrefix(e.Package, module), e.Test)
	switch e.Action {
	case "output":
		one.output.add(e.Output)
		return
	case "pass":
		r.pass(one)
	case "skip":
		r.skip(one)
	case "fail":
		one.outcome = failed
		if build := r.builds[e.FailedBuild]; build != nil {
			one.output = *build
		}
	default: // start, run, pause, cont
		return
	}
	if e.Test == "" {
		printPackage(out, one, e.Elapsed)
	}
}

func (r *results) takeBuild(e event) {
	if r.builds[e.ImportPath] == nil {
		r.builds[e.ImportPath] = &clip{}
	}
	if e.Action == "build-output" {
		r.builds[e.ImportPath].add(e.Output)
	}
}

// pass does not hold for what holds a test that must not be skipped.
func (r *results) pass(one *result) {
	one.output = clip{}
	for below := range r.below(one) {
		if below.outcome == failed {
			return
		}
	}
	one.outcome = passed
}

// skip is also how a package ends that has no tests.
func (r *results) skip(one *result) {
	if one.test != "" && slices.Contains(r.noSkip, one.pkg) {
		one.output.add("this test must not be skipped here\n")
		return
	}
	one.outcome = skipped
}

func (r *results) find(pkg, test string) *result {
	key := pkg + " " + test
	one := r.byName[key]
	if one == nil {
		one = &result{pkg: pkg, test: test}
		r.byName[key] = one
		r.order = append(r.order, one)
	}
	return one
}

// count counts tests that have no tests of their own. A test that has some
// counts only if it ended as none of them did, and not well.
func (r *results) count() map[outcome]int {
	n := map[outcome]int{}
	for _, one := range r.order {
		if one.test != "" && r.counts(one) {
			n[one.outcome]++
		}
	}
	return n
}

func (r *results) counts(one *result) bool {
	leaf := true
	for below := range r.below(one) {
		leaf = false
		if below.outcome == one.outcome {
			return false
		}
	}
	return leaf || one.outcome != passed
}
