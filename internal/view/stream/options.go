package stream

import (
	"time"
)

// Options say how lines look.
type Options struct {
	Verbose bool           // show everything, also what is of use to few
	Width   int            // of the terminal, in columns; 0: the output is no terminal
	Color   bool           // the terminal knows colours
	Zone    *time.Location // of the times shown; nil: the user's
}

// mostColumns is how wide a line can get where no terminal limits it.
const mostColumns = 4 << 10

func (o Options) columns() int {
	if o.Width <= 0 {
		return mostColumns
	}
	return min(o.Width, mostColumns)
}

func (o Options) zone() *time.Location {
	if o.Zone == nil {
		return time.Local
	}
	return o.Zone
}

// A tone is how a line feels.
type tone string

const (
	plain tone = ""
	faint tone = "\x1b[2m"
	good  tone = "\x1b[32m"
	warn  tone = "\x1b[33m"
	bad   tone = "\x1b[31m"
	bold  tone = "\x1b[1m"
)

// paint puts a colour around text that is safe.
func (o Options) paint(t tone, text string) string {
	if !o.Color || t == plain || text == "" {
		return text
	}
	return string(t) + text + "\x1b[0m"
}
