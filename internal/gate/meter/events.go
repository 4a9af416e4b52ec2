package meter

import "bytes"

// events splits a stream of server-sent events and hands over the data of each.
// It only keeps the event that is being read, up to limit bytes.
type events struct {
	limit    int
	found    func(data []byte)
	overlong bool // an event was dropped

	line     []byte
	data     []byte
	hasData  bool
	skipping bool // the rest of a line, or of an event, that is too long
	afterCR  bool // a line feed now would belong to the line that ended
}

func (e *events) write(p []byte) {
	for len(p) > 0 {
		if e.afterCR && p[0] == '\n' {
			p = p[1:]
			e.afterCR = false
			continue
		}
		e.afterCR = false
		end := bytes.IndexAny(p, "\r\n")
		if end < 0 {
			e.extend(p)
			return
		}
		e.extend(p[:end])
		e.afterCR = p[end] == '\r'
		e.endLine()
		p = p[end+1:]
	}
}

// extend adds to the line, unless that is too long.
func (e *events) extend(p []byte) {
	switch {
	case e.skipping:
	case len(e.line)+len(e.data)+len(p) > e.limit:
		e.skipping, e.overlong = true, true
		e.line, e.data, e.hasData = nil, nil, false
	default:
		e.line = append(e.line, p...)
	}
}

// endLine takes a line that is whole. An empty one ends the event.
func (e *events) endLine() {
	line := e.line
	e.line = e.line[:0]
	switch {
	case e.skipping:
		e.skipping = false
	case len(line) == 0:
		e.dispatch()
	default:
		e.field(line)
	}
}

// field keeps data and passes over everything else that an event has.
func (e *events) field(line []byte) {
	name, value, _ := bytes.Cut(line, []byte(":"))
	if string(name) != "data" {
		return
	}
	value, _ = bytes.CutPrefix(value, []byte(" "))
	if e.hasData {
		e.data = append(e.data, '\n')
	}
	e.data = append(e.data, value...)
	e.hasData = true
}

func (e *events) dispatch() {
	if e.hasData {
		e.found(e.data)
	}
	e.data, e.hasData = e.data[:0], false
}

// end takes what came before the stream was cut for a whole event: it is one if
// its JSON is whole.
func (e *events) end() {
	e.endLine()
	e.dispatch()
}
