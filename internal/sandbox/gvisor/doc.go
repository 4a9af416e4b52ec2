// Package gvisor is the engine that needs nothing installed: gVisor's user-space
// kernel, linked into this binary. It is the only package that imports gVisor.
//
// A sandbox is a tree of processes under the one that created it:
//
//	ralph ── runsc-launch ─┬─ runsc-sandbox   the kernel ("sentry"), seccomp, no files, no network
//	                       └─ runsc-gofer     opens files for it, sees only the mounts
//
// all of them this very binary, started again under another name; Reexec, the
// first call in main, tells them apart. Each dies with its parent, so a kill -9
// of ralph takes everything along.
//
// Inside, ralph is there twice more: the first process ("ralph-init") reaps
// orphans, and the guard of the door ("ralph-door") forwards connections to the
// host over the one descriptor it was given. The guard runs as a user that
// exists only inside, so that the agent can neither signal nor trace it.
//
// An ordinary user gets a user namespace that maps that user alone. For root it
// maps two ids that are nobody's on the host, and the user's mounts, and only
// they, are id-mapped, so that the sandbox holds no power over root's other
// files.
package gvisor

// Name is the word users write in --engine.
const Name = "gvisor"
