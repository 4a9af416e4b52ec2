package meter

import (
	"bytes"
	"mime"
)

// The most of a response that is held at once. An event of OpenAI's that ends a
// response repeats all of it.
const (
	maxEvent = 8 << 20
	maxPlain = 16 << 20
)

// absurd is more tokens than any call can have.
const absurd = 1_000_000_000

// Reader reads the usage of a response that streams by. It never fails and
// holds a bounded part: what it cannot make sense of leaves the usage unknown.
type Reader struct {
	api    API
	asked  Tier         // of the call
	events *events      // of a stream; nil for a plain body
	plain  bytes.Buffer // of a body that is not a stream

	tally    tally
	final    bool // the last figure was seen
	finished bool // an answer of Google's said that it ends
	lost     bool // something was not understood
	ended    bool
}

// NewReader reads the response to a call, of the given content type.
func NewReader(call Call, contentType string) *Reader {
	r := &Reader{api: call.API, asked: call.Tier, tally: tally{tier: call.Tier}}
	if media, _, err := mime.ParseMediaType(contentType); err == nil && media == "text/event-stream" {
		r.events = &events{limit: maxEvent, found: r.event}
	}
	return r
}

// Write is shown the next part of the response. It takes all of it, always.
func (r *Reader) Write(p []byte) (int, error) {
	switch {
	case r.ended:
	case r.events != nil:
		r.events.write(p)
		r.lost = r.lost || r.events.overlong
	case r.lost:
	case r.plain.Len()+len(p) > maxPlain:
		r.lost = true
		r.plain = bytes.Buffer{}
	default:
		r.plain.Write(p)
	}
	return len(p), nil
}

// Result ends the reading. The usage is known when its final figure was seen,
// and that of the input, which no call is without; otherwise nothing is said of
// it. The model is the one that answered, and may be empty.
func (r *Reader) Result() (usage Usage, known bool, model string) {
	r.end()
	usage, sane := r.tally.usage()
	if !r.final || r.lost || !sane || usage.InputTokens() == 0 {
		return Usage{}, false, r.tally.model
	}
	return usage, true, r.tally.model
}

func (r *Reader) end() {
	if r.ended {
		return
	}
	r.ended = true
	switch {
	case r.events != nil:
		r.events.end()
		r.lost = r.lost || r.events.overlong
	case !r.lost:
		r.body(r.plain.Bytes())
	}
	r.plain = bytes.Buffer{}
}

// event reads the data of one event. Only those that can tell of the usage are
// parsed.
func (r *Reader) event(data []byte) {
	switch r.api {
	case Anthropic:
		r.anthropicEvent(data)
	case OpenAIResponses:
		r.responsesEvent(data)
	case OpenAIChat:
		r.chatEvent(data)
	case Google:
		r.googleEvent(data)
	}
}

// body reads a response that is not a stream.
func (r *Reader) body(data []byte) {
	switch r.api {
	case Anthropic:
		r.anthropicBody(data)
	case OpenAIResponses:
		r.responsesBody(data)
	case OpenAIChat:
		r.chatBody(data)
	case Google:
		r.googleBody(data)
	}
}
