package main

import (
	"fmt"
	"io"
	"iter"
	"regexp"
	"strings"
)

// printPackage prints nothing for a package without tests.
func printPackage(out io.Writer, p *result, seconds float64) {
	switch p.outcome {
	case passed:
		fmt.Fprintf(out, "ok    %s  %.1f s\n", p.pkg, seconds)
	case failed:
		fmt.Fprintf(out, "FAIL  %s  %.1f s\n", p.pkg, seconds)
	}
}

// printFailures prints everything that failed, with its output. It returns
// whether there was any.
func (r *results) printFailures(out io.Writer) bool {
	found := false
	for _, one := range r.order {
		if one.outcome != failed {
			continue
		}
		found = true
		lines := one.output.lines()
		if len(lines) == 0 && !r.counts(one) {
			continue // its subtests say it all
		}
		fmt.Fprintf(out, "\nfailed: %s\n", one.name())
		for _, line := range lines {
			fmt.Fprintln(out, line)
		}
	}
	return found
}

// printSkipped lists tests with their reasons, then the notes.
func (r *results) printSkipped(out io.Writer, notes []string) {
	fmt.Fprintln(out, "\nskipped:")
	for _, one := range r.order {
		if one.test != "" && one.outcome == skipped {
			fmt.Fprintf(out, "  %s: %s\n", one.name(), reason(one.output.lines()))
		}
	}
	for _, note := range notes {
		fmt.Fprintf(out, "  %s\n", note)
	}
}

var logged = regexp.MustCompile(`^ *([^ :]+\.go):[0-9]+: `)

// reason is what a test logged last, which is what it gave to Skip, on one line.
// A script's own log, which follows that, is passed over.
func reason(lines []string) string {
	var words []string
	script := false
	for _, line := range lines {
		if prefix := logged.FindStringSubmatch(line); prefix != nil {
			if script = prefix[1] == "testscript.go"; !script {
				words, line = nil, strings.TrimPrefix(line, prefix[0])
			}
		}
		if line = strings.TrimSpace(line); line != "" && !script {
			words = append(words, line)
		}
	}
	if len(words) == 0 {
		return "no reason given"
	}
	return strings.Join(words, " ")
}

// below yields the subtests of a test, and the tests of a package.
func (r *results) below(one *result) iter.Seq[*result] {
	prefix := one.test + "/"
	return func(yield func(*result) bool) {
		for _, other := range r.order {
			in := other.pkg == one.pkg && other != one && (one.test == "" || strings.HasPrefix(other.test, prefix))
			if in && !yield(other) {
				return
			}
		}
	}
}
