package agent

import (
	"bytes"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

const (
	// maxLine is the longest line that is read as a whole. A result of a tool may
	// carry an image.
	maxLine = 8 << 20
	// headOfLine is what is kept of a longer one.
	headOfLine = 4 << 10
)

// decode reads one line; nothing means that it is of no known kind.
type decode func(line []byte) []Event

// Parser turns an agent's output into events as it comes. Every byte is accounted
// for by exactly one event; a line that cannot be understood is a Raw event.
type Parser struct {
	decode decode
	line   []byte // what has come of a line
	size   int64  // how long that line is so far
	cut    bool   // it is too long, and line holds its head
}

// Parser returns one for the agent's output on stdout.
func (a Agent) Parser() *Parser { return &Parser{decode: a.decoder()} }

// Feed takes output and returns the events that it completes.
func (p *Parser) Feed(data []byte) []Event {
	var events []Event
	for len(data) > 0 {
		part, rest, complete := bytes.Cut(data, []byte{'\n'})
		data = rest
		switch {
		case complete && p.size == 0 && len(part) <= maxLine: // nothing to join
			events = append(events, p.read(part, int64(len(part))+1)...)
		case complete:
			p.keep(part)
			p.size++
			events = append(events, p.flush()...)
		default:
			p.keep(part)
		}
	}
	return events
}

// Close returns the events of a last line that did not end.
func (p *Parser) Close() []Event { return p.flush() }

// keep remembers a part of a line, and of one that is too long only its length
// and head.
func (p *Parser) keep(part []byte) {
	p.size += int64(len(part))
	if p.size <= maxLine {
		p.line = append(p.line, part...)
		return
	}
	if room := headOfLine - len(p.line); room > 0 {
		p.line = append(p.line, part[:min(len(part), room)]...)
	} else if !p.cut {
		p.line = bytes.Clone(p.line[:headOfLine])
	}
	p.cut = true
}

func (p *Parser) flush() []Event {
	if p.size == 0 {
		return nil
	}
	line, size, cut := p.line, p.size, p.cut
	p.line, p.size, p.cut = p.line[:0], 0, false
	if cut {
		return []Event{{Kind: Raw, Size: size, Raw: bytes.Clone(line), Cut: true}}
	}
	return p.read(line, size)
}

// read makes the events of one line, at least one.
func (p *Parser) read(line []byte, size int64) []Event {
	events := p.decode(bytes.TrimSuffix(line, []byte{'\r'}))
	if len(events) == 0 {
		events = []Event{{Kind: Raw}}
	}
	first := &events[0]
	first.Size = size
	if first.Kind == Raw || !utf8.Valid(line) {
		first.Raw = bytes.Clone(line)
	}
	return events
}

// unmarshal reads JSON strictly, but for text that is not UTF-8: the output of a
// tool may be anything, and must not hide the line that it is in.
func unmarshal(text []byte, into any) bool {
	return json.Unmarshal(text, into, jsontext.AllowInvalidUTF8(true)) == nil
}

// looksLikeObject spares lines that are no JSON the way through a decoder.
func looksLikeObject(line []byte) bool {
	line = bytes.TrimLeft(line, " \t")
	return len(line) > 1 && line[0] == '{'
}
