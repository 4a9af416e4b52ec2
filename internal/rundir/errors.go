package rundir

import (
	"fmt"
	"strings"
)

// ExistsError means that there is a run of this id already.
type ExistsError struct{ ID string }

func (e *ExistsError) Error() string { return fmt.Sprintf("run %s exists already", e.ID) }

// NotFoundError means that no run has this id, or an id like it.
type NotFoundError struct{ ID string }

func (e *NotFoundError) Error() string { return fmt.Sprintf("no run %q", e.ID) }

// AmbiguousError means that a short id fits several runs.
type AmbiguousError struct {
	Short      string
	Candidates []string // newest first, some of them
}

func (e *AmbiguousError) Error() string {
	return fmt.Sprintf("run %q is ambiguous: it may be %s", e.Short, strings.Join(e.Candidates, ", "))
}

// BusyError means that another process writes the run.
type BusyError struct {
	ID     string
	Holder Holder
}

func (e *BusyError) Error() string {
	return fmt.Sprintf("run %s is in use by %s", e.ID, e.Holder)
}

// BadRecordError names the first place where the record of a run is not what was
// written, or contradicts itself.
type BadRecordError struct {
	File string // relative to the run's folder, with slashes
	Line int    // counted from 1; 0 for the file as a whole
	What string
}

func (e *BadRecordError) Error() string {
	if e.Line == 0 {
		return e.File + ": " + e.What
	}
	return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.What)
}

func bad(file string, line int, format string, args ...any) error {
	return &BadRecordError{File: file, Line: line, What: fmt.Sprintf(format, args...)}
}
