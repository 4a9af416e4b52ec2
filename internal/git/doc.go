// Package git brings an agent's commits into the user's repository, and nothing
// else of what the agent can write.
//
// # Who runs git where
//
// The agent works on a private git directory and runs git itself, inside the
// sandbox. What it made there crosses as bytes: a bundle, whose header is read here
// and whose objects are checked in a quarantine. Only what is reachable from the
// run's own branch goes on from there.
//
// The host's git never runs in, or with the configuration of, a directory that an
// agent can write. It does not read the user's configuration either: every call goes
// to a git directory that this package made, with a configuration of its own, in an
// environment of its own ([Git]). So there is nothing that could name a hook, a
// filter, a pager or a program to run: attributes in a tree can only choose among
// drivers that a configuration defines, and none does.
//
// # The parts
//
//	Repository   the user's: found and checked, never configured from
//	view         a git directory of ours whose objects and refs are the user's
//	Store        a run's own repository: the base's objects and all that came home
//	Clone        what a sandbox gets: a private git directory and a checkout
//	Import       bundle -> quarantine -> checks -> identity -> store -> user's branch
//
// # What enters the user's repository
//
// Objects that passed fsck and are reachable from the branch's tip; names that no
// file system takes for others; files of a bounded size; commits by the identity
// that the project chose, with trailers for run and iteration. The branch is moved
// only from where this run put it, and never while somebody has it checked out.
package git
