// Package sandbox is the contract between ralph and the engines that isolate
// an agent: what an engine promises, what a caller may ask for, and the checks
// that hold for all of them.
//
// Everything inside a sandbox is hostile. An engine either keeps the invariants
// of docs/architecture.md or says in its Info which it cannot keep, and Info.Check
// then refuses the Spec before anything is created.
package sandbox

import (
	"context"
	"io"
	"time"
)

// Engine starts sandboxes on this machine. An Engine holds no connection and no
// lock between calls; its methods may be called from several goroutines.
type Engine interface {
	// Name is the word users write in --engine.
	Name() string

	// Probe reports what the engine can do here, quickly and without leaving
	// anything behind. When the engine cannot run, the error is usually an
	// *UnavailableError that says how to mend it.
	Probe(ctx context.Context) (Info, error)

	// Create starts a sandbox and returns once its boundary stands and commands
	// can run. The caller has passed the mounts through CheckMounts and the Spec
	// through Info.Check. On failure nothing is left behind. ctx bounds the
	// start only.
	Create(ctx context.Context, spec Spec) (Sandbox, error)

	// List returns this user's sandboxes of this engine, oldest first, stale
	// ones included.
	List(ctx context.Context) ([]Status, error)

	// Remove ends a sandbox and everything in it and deletes its state. It
	// touches only objects that the engine itself made, and removing what does
	// not exist is not an error.
	Remove(ctx context.Context, id string) error
}

// Sandbox is one running sandbox. It lives no longer than the process that
// created it: when that process dies, by whatever signal, so does everything
// inside.
type Sandbox interface {
	// ID names the sandbox to Engine.Remove and to people.
	ID() string

	// Exec runs one command and waits for it. Several may run at once.
	//
	// The exit code is the command's own, or 128 plus the signal that ended it;
	// it means nothing when there is an error. There is one only when there is
	// no exit code to report: the command could not be started (*StartError,
	// also for a missing Dir), the sandbox hit a limit (*LimitError), or it is
	// gone (ErrGone, also for every command after one that met a limit).
	//
	// When ctx ends first, the whole sandbox is ended, not just the process:
	// whatever the command left in the background must not outlive it. The
	// error is then a *LimitError for a deadline, and ctx.Err() otherwise.
	//
	// Exec returns soon after the command has exited, even when something it
	// left in the background still holds its output open. A command that
	// succeeded but whose output could not be written is an error, too.
	Exec(ctx context.Context, cmd Command) (exitCode int, err error)

	// Close ends every process inside and deletes the sandbox's state. It is
	// safe to call more than once.
	Close() error
}

// Command is one command to run in a sandbox.
type Command struct {
	// Args is the program and its arguments. A program without a slash is
	// looked up in the sandbox's PATH.
	Args []string

	// Env is added to the sandbox's environment, as KEY=VALUE.
	Env []string

	// Dir is the working directory; empty means Spec.Dir.
	Dir string

	// Stdin is passed on until it ends or the command takes no more; nil is an
	// empty input. Some of it may be read that the command never sees.
	Stdin io.Reader

	// Stdout and Stderr receive the output; nil discards it. With a Terminal
	// both streams arrive on Stdout, as they do on any terminal.
	Stdout, Stderr io.Writer

	// Terminal gives the command a terminal of its own. It is never the
	// caller's: a guest that holds the host's terminal can type into it.
	Terminal *Terminal
}

// Terminal describes a command's terminal.
type Terminal struct {
	Size TerminalSize

	// Resize delivers later sizes until the command ends; it may be nil.
	Resize <-chan TerminalSize
}

// TerminalSize is a terminal's size in characters.
type TerminalSize struct{ Rows, Cols uint16 }

// State says whether a sandbox is of use.
type State string

const (
	// Running means that the process that created the sandbox is alive.
	Running State = "running"
	// Stale means that only leftovers on disk remain; prune deletes them.
	Stale State = "stale"
)

// Status describes an existing sandbox.
type Status struct {
	ID        string            `json:"id"`
	Engine    string            `json:"engine"`
	State     State             `json:"state"`
	Workspace string            `json:"workspace"`
	PID       int               `json:"pid"` // of the ralph process that created it
	CreatedAt time.Time         `json:"created_at"`
	Labels    map[string]string `json:"labels,omitempty"`
	// Fingerprint is Spec.Fingerprint of what it was created from.
	Fingerprint string `json:"fingerprint"`
}
