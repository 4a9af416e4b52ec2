package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// What is kept of an output: as many lines of either end, for an assertion is at
// its end and a panic at its beginning, and as many bytes of a line.
const keepLines, keepBytes = 100, 2000

// clip holds the two ends of an output.
type clip struct {
	first, last []string
	dropped     int
}

// frame is what go test says of a beginning or an end, which is told elsewhere.
var frame = regexp.MustCompile(`^( *(===|---) |PASS$|FAIL$|(ok|FAIL|\?)\s+\S+\s)`)

// add takes one line.
func (c *clip) add(line string) {
	line = strings.TrimSuffix(line, "\n")
	if frame.MatchString(line) {
		return
	}
	if len(line) > keepBytes {
		line = line[:keepBytes] + "..."
	}
	if len(c.first) < keepLines {
		c.first = append(c.first, line)
		return
	}
	c.last = append(c.last, line)
	if len(c.last) > keepLines {
		c.last = slices.Delete(c.last, 0, 1)
		c.dropped++
	}
}

func (c *clip) lines() []string {
	if c.dropped == 0 {
		return slices.Concat(c.first, c.last)
	}
	return slices.Concat(c.first, []string{fmt.Sprintf("... %d more lines ...", c.dropped)}, c.last)
}
