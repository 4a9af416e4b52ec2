package modeltest

import (
	"encoding/json"
	"net/http"
)

// Usage is what a turn says that it used. Input counts neither what was read
// from the cache nor what was written to it; the OpenAI shapes, which count
// everything as input, are given the sum.
type Usage struct{ Input, CacheRead, CacheWrite, Output int64 }

// total is all that went in, as OpenAI counts it.
func (u Usage) total() int64 { return u.Input + u.CacheRead + u.CacheWrite }

// A Turn is one answer of the model: words or a shell command, or an HTTP
// error. Build it with Say, Shell or Refuse and change it with the methods,
// which return a changed copy.
type Turn struct {
	text    string
	command string
	usage   Usage
	refusal *refusal
	fault   fault
	forever bool
}

type refusal struct {
	status int
	body   string
	header http.Header
}

// fault is what goes wrong in the middle of an answer.
type fault int

const (
	none fault = iota
	drop
	stall
	garble
)

// Say ends the agent's turn with text.
func Say(text string) Turn { return Turn{text: text, usage: Usage{Input: 10, Output: 5}} }

// Shell asks the agent to run a shell command, with whichever tool for that the
// agent offered in its request.
func Shell(command string) Turn { return Turn{command: command, usage: Usage{Input: 10, Output: 5}} }

// Refuse answers with an HTTP status and a body. The headers are pairs of name
// and value.
func Refuse(status int, body string, headers ...string) Turn {
	header := http.Header{"Content-Type": {"application/json"}}
	for i := 0; i+1 < len(headers); i += 2 {
		header.Set(headers[i], headers[i+1])
	}
	return Turn{refusal: &refusal{status, body, header}}
}

// Uses sets the usage that the turn reports.
func (t Turn) Uses(usage Usage) Turn { t.usage = usage; return t }

// Dropped lets the connection die after the first events.
func (t Turn) Dropped() Turn { t.fault = drop; return t }

// Stalled sends the first events and holds the rest back until Server.Release.
func (t Turn) Stalled() Turn { t.fault = stall; return t }

// Garbled sends an event in the middle that is not JSON.
func (t Turn) Garbled() Turn { t.fault = garble; return t }

// Forever repeats the turn for every further call.
func (t Turn) Forever() Turn { t.forever = true; return t }

// AnthropicError is an error body as the Anthropic API writes it.
func AnthropicError(kind, message string) string {
	return marshal(object{"type": "error", "error": object{"type": kind, "message": message}})
}

// OpenAIError is an error body as the OpenAI API writes it.
func OpenAIError(kind, code, message string) string {
	return marshal(object{"error": object{"type": kind, "code": code, "message": message, "param": nil}})
}

// GoogleError is an error body as the Google API writes it, with details such as
// GoogleRetry.
func GoogleError(code int, status, message string, details ...map[string]any) string {
	return marshal(object{"error": object{"code": code, "message": message, "status": status, "details": details}})
}

// GoogleRetry is the detail that asks to wait, such as "34s".
func GoogleRetry(delay string) map[string]any {
	return object{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay}
}

type object = map[string]any

// marshal encodes what this package made itself, which cannot fail.
func marshal(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return string(text)
}
