// Package probe holds the attacks that an agent gone bad would try from inside
// a sandbox. Each one is a small real attempt, made with the system calls an
// attacker would use, that reports whether the boundary held.
//
// The probes are part of the product: the program is mounted read-only in every
// sandbox and is called there as "<helper> probe NAME". The test suite of the
// engines, the self-test and the demo all run the same ones.
//
// What the host prepared for the attempt (a secret in a home directory, a
// listener on its loopback, another run) arrives as Facts in one environment
// variable. Without it nothing is tried, and no probe harms a machine on which
// it succeeds: it creates files with new names rather than overwriting, opens
// for writing without writing, and calls the kernel with arguments that are
// refused after the permission check rather than carried out.
package probe
