// Package stream shows a run as it goes by: as plain lines, for logs and pipes,
// and as a few lines at the bottom of a terminal that are redrawn in place.
//
// It reads the record of the run and nothing else, so that live and finished runs
// look the same, and whoever writes the record never waits for whoever looks.
//
// All text in a record is hostile: an agent chose it, or what it read did. Every
// line that leaves this package went through [agent.Event.Line], which lets no
// control character, escape sequence or change of direction through and counts
// columns; colours are put around what is safe already.
package stream
