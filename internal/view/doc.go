// Package view turns the record of a run into text for people. Its functions are
// pure: they read what package rundir hands out, so that a run looks the same
// while it is written and years later.
//
// Nothing in a record is trusted. Reasons, questions and summaries are an agent's
// words; all of them pass [Safe] or [Block] on the way to a terminal.
package view
