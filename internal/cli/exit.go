package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"github.com/agent-loop/ralph/internal/config"
	"github.com/agent-loop/ralph/internal/sandbox"
)

// How ralph speaks: results go to standard output; everything else goes to
// standard error as "ralph: ..." in lower case without a full stop, followed by
// "ralph: hint: ..." with what to do next. This file is the one place where an
// error becomes words and an exit code.

// The exit codes of all commands.
const (
	exitOK          = 0
	exitFailure     = 1
	exitUsage       = 2
	exitLimit       = 3
	exitAttention   = 4
	exitBoundary    = 5
	exitInterrupted = 130
)

// usageError is a mistake in what the user wrote.
type usageError struct {
	error
	hint string
}

func (e usageError) Unwrap() error { return e.error }
func (e usageError) Hint() string  { return e.hint }

// boundaryError means that the sandbox could not be set up. Nothing ran.
type boundaryError struct{ error }

func (e boundaryError) Unwrap() error { return e.error }

// commandExit carries the exit code of a command that ran in a sandbox.
type commandExit int

func (e commandExit) Error() string { return fmt.Sprintf("the command exited with %d", int(e)) }

// report prints an error and returns the exit code that goes with it. What went
// wrong beside a command's own failure, as in cleaning up, is printed too.
func report(w io.Writer, err error) int {
	if err == nil {
		return exitOK
	}
	all := parts(err)
	for _, e := range all {
		var exited commandExit
		if !errors.As(e, &exited) {
			say(w, e)
		}
	}
	return exitCode(all[0]) // what came first; the rest is cleaning up
}

// parts are the errors that errors.Join has put together.
func parts(err error) []error {
	joined, ok := err.(interface{ Unwrap() []error }) //nolint:errorlint // only the top is of interest
	if !ok {
		return []error{err}
	}
	if err.Error() != errors.Join(joined.Unwrap()...).Error() {
		return []error{err} // it has words of its own
	}
	var all []error
	for _, e := range joined.Unwrap() {
		all = append(all, parts(e)...)
	}
	return all
}

func say(w io.Writer, err error) {
	text := err.Error()
	if errors.Is(err, context.Canceled) {
		text = "interrupted"
	}
	for line := range strings.SplitSeq(text, "\n") {
		fmt.Fprintln(w, "ralph:", visible(line))
	}
	for _, hint := range slices.Compact(hints(err)) {
		fmt.Fprintln(w, "ralph: hint:", visible(hint))
	}
}

// visible is a line without what a terminal would obey: errors name files, and a
// repository can have any names.
func visible(line string) string {
	return strings.Map(func(r rune) rune {
		if r != '\t' && !unicode.IsPrint(r) {
			return unicode.ReplacementChar
		}
		return r
	}, line)
}

func exitCode(err error) int {
	var (
		exited      commandExit
		usage       usageError
		badConfig   *config.Error
		refused     *sandbox.RefusedError
		limit       *sandbox.LimitError
		start       *sandbox.StartError
		unavailable *sandbox.UnavailableError
		boundary    boundaryError
	)
	switch {
	case errors.As(err, &exited):
		return int(exited)
	case errors.As(err, &usage), errors.As(err, &badConfig), errors.As(err, &refused):
		return exitUsage
	case errors.As(err, &limit):
		return exitLimit
	case errors.As(err, &start):
		return start.Code
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	case errors.As(err, &unavailable), errors.As(err, &boundary):
		return exitBoundary
	case strings.HasPrefix(err.Error(), "unknown command"), strings.HasPrefix(err.Error(), "accepts "), strings.HasPrefix(err.Error(), "requires "):
		return exitUsage // cobra has no types for these
	default:
		return exitFailure
	}
}

// hints collects what the errors in the tree have to say about the way on.
func hints(err error) []string {
	var found []string
	if h, ok := err.(interface{ Hint() string }); ok && h.Hint() != "" {
		found = append(found, h.Hint())
	}
	switch wrapped := err.(type) { //nolint:errorlint // this walks the tree itself
	case interface{ Unwrap() error }:
		if inner := wrapped.Unwrap(); inner != nil {
			found = append(found, hints(inner)...)
		}
	case interface{ Unwrap() []error }:
		for _, inner := range wrapped.Unwrap() {
			found = append(found, hints(inner)...)
		}
	}
	return found
}
