// Package proc starts programs of this machine that ralph depends on: short ones,
// whose output is the answer, and one that lasts, which must not outlive ralph.
//
// What they print is bounded, and an error says which program it was, with what
// arguments, and the last of what it said.
package proc
