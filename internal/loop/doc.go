// Package loop runs an agent again and again on the same work until that is
// verified done, a limit ends it, or a person is needed.
//
// # An iteration
//
// Each iteration is a fresh process of the agent, in a sandbox that may outlive
// it:
//
//	render the prompt -> run the agent -> end what it left running -> tell the outcome
//	-> run the validation -> look at the task file -> save the checkpoint
//	-> record the iteration -> save the state
//
// An iteration is in the record once, whole, or not at all. One that was cut off,
// by a kill or by a person, is begun again under the same number when the run is
// resumed. An attempt that met a limit of the provider, or printed nothing, is no
// iteration: the loop waits and tries again.
//
// # Who is believed
//
// How an attempt ended is told by structure: what the loop did, what the gate
// saw, how the process ended, and last what the agent said. That the work is done
// is never taken from the agent alone: the validation command must pass, and
// every story of the task file, where there is one. Before a run ends done it passes
// once more in a new sandbox, so that nothing an agent left in its home has a say.
//
// # Time
//
// Waiting for a moment goes by the wall clock, so that a machine that slept wakes
// up in time, and never lasts longer than it would have on the clock that does
// not jump. How long a run took goes by that one.
package loop
