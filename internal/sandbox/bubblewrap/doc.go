// Package bubblewrap is the engine for native speed without Docker and without
// root: namespaces made by the distribution's bwrap, and a system call filter. A
// sandbox shares the host's kernel, and Info says what that means.
//
//	ralph ── bwrap ── ralph:keeper (process 1 of its own namespaces) ── commands
//
// bwrap makes new user, process, network, IPC and host name namespaces and a root
// of read-only pieces; the keeper (package keeper) does the rest from inside.
// Each dies with its parent, so a kill -9 of ralph takes everything along.
//
// An ordinary user maps nobody but himself. Root is never mapped: a process whose
// user is root on the host may write to the kernel's settings, namespaces or not.
// So for root the user's mounts are shown, in a mount namespace of one thread's, as
// those of an id that is nobody's, and bwrap is started there as that id, as an
// ordinary user would.
package bubblewrap

// Name is the word users write in --engine.
const Name = "bubblewrap"
