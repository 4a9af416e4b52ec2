package sandbox

import (
	"errors"
	"fmt"
)

// ErrGone means that the sandbox has ended, by Close, Remove or a crash.
var ErrGone = errors.New("the sandbox is gone")

// UnavailableError means that an engine cannot run on this machine.
type UnavailableError struct {
	Engine string
	Reason string
	Fix    string // what the user can do about it
}

func (e *UnavailableError) Error() string {
	return fmt.Sprintf("engine %s cannot run here: %s", e.Engine, e.Reason)
}

// Hint is what to do next.
func (e *UnavailableError) Hint() string { return e.Fix }

// RefusedError means that what the user asked for would weaken or cannot pass
// the boundary. Nothing was created.
type RefusedError struct {
	What string // the part of the request, as the user wrote it
	Why  string
	Fix  string
}

func (e *RefusedError) Error() string { return fmt.Sprintf("%s refused: %s", e.What, e.Why) }

// Hint is what to do next.
func (e *RefusedError) Hint() string { return e.Fix }

// LimitError means that the sandbox was ended because it reached a limit.
type LimitError struct {
	Limit string // "memory", "disk" or "time"
	Value string // the limit, as people write it
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("the sandbox was ended: it reached its %s limit of %s", e.Limit, e.Value)
}

// StartError means that a command could not be started: it is not there, or
// not a program. Code is what a shell would return, 127 or 126.
type StartError struct {
	Program string
	Code    int
	Reason  string
}

func (e *StartError) Error() string { return fmt.Sprintf("starting %s: %s", e.Program, e.Reason) }
