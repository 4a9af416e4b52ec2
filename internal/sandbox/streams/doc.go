// Package streams connects a command in a sandbox to its caller: three pipes, or
// a terminal of its own, and the copying between them and whatever the caller
// reads from and writes to.
//
// The rules are those of sandbox.Sandbox.Exec: a command that has exited is not
// held up by what it left in the background, a caller who is slow loses nothing,
// and one who takes no more is noticed.
package streams
