// Package rundir keeps one run of ralph on disk, so that it survives a kill at any
// byte, can be resumed, and can be proved unaltered without the help of anyone.
//
//	<root>/<id>/
//	  spec.json               the resolved spec, never changed
//	  state.json              status, counters, head of the events; replaced by rename
//	  logs/events.jsonl       everything that happened, hash-chained, one line an event
//	  logs/iterations.jsonl   one line an iteration
//	  logs/lock               who writes; the lock itself is the system's
//	  logs/request-*          what another process asks of the writer
//	  checkpoints/0001.json   what the next iteration needs
//	  work/                   the run's own workspace, where it has one
//
// # The chain
//
// Each event names the SHA-256 of the line before it, the first that of spec.json.
// The other files hang on the chain: an [EventIteration] holds the hash of its line
// in iterations.jsonl, an [EventCheckpoint] that of its file, an [EventState] that
// of state.json without its events_head, and events_head says how many events there
// were and the hash of the last, so that a log cut short is noticed. Whoever can
// write all files can still forge all of them: the chain shows tampering with a
// part, and the head, kept elsewhere, with the whole.
//
// # Money
//
// Spend enters by [EventCharge] alone. Every charge belongs to the next iteration
// that is recorded; counters in state.json and in iterations.jsonl are added up
// here and not taken from callers, so they cannot disagree with the charges.
//
// # Hostile content
//
// An agent may write in a run's folder. Sizes are capped, links are not followed,
// and what must be believed lies in logs/, which no sandbox may write.
package rundir
