// Package keeper is ralph's own first process inside a sandbox that another
// program started, a container or bubblewrap, and the host's side of talking to
// it. Everything that passes between the two goes over one stream of bytes, the
// keeper's standard input and output: no socket is shown to the sandbox, no port
// is opened, and nothing depends on how an engine runs a second command.
//
//	ralph ── docker run -i ── ... ── ralph:keeper (process 1) ─┬─ a command
//	  └───────── one stream, split by package door ──┘         └─ a command
//
// The keeper starts commands, collects processes whose parents died, and listens
// where programs inside look for their proxy. It ends when the stream ends, and
// with process 1 the kernel ends everything inside: a sandbox does not outlive
// its ralph, whoever killed it.
//
// # Protocol
//
// Every stream is opened by the keeper and begins with a byte that says what it
// is for: control, once; output of a command, with the command's number, which
// carries its input the other way; its error output; or a connection for the
// gate. On the control stream both sides send messages: four bytes of length,
// then JSON. The host speaks first, with the Settings, and the keeper answers
// that they hold or why not.
//
// # Trust
//
// The keeper is the agent's own user inside, so it protects itself: as process 1
// it can be neither killed nor stopped from inside, it is not dumpable, so that
// nobody can trace it or read its descriptors, and it has threads in reserve for
// when the sandbox may start no more processes. The host believes it all the
// same no more than the agent: sizes, numbers and states are checked, and the
// first wrong word ends the sandbox.
package keeper

// Argument is what ralph is started with to be a keeper.
const Argument = "ralph:keeper"

// Path is where the engine shows this very program inside.
const Path = "/.ralph/ralph"
