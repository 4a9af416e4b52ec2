package tape

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
)

const (
	// maxShown bounds what a mismatch quotes of either side.
	maxShown = 200
	// maxMismatches bounds what a client that never gives up can pile up.
	maxMismatches = 1000
	// replayHeader is in every answer of a Player: "hit" or "mismatch".
	replayHeader = "X-Ralph-Replay"
)

// MismatchError is a request that the tape has no answer for.
type MismatchError struct {
	Method, Path, Model string
	// Seq is the exchange that was due, 0 if there was none.
	Seq int
	// At is the JSON pointer of the first difference, or "query"; Want is what
	// the tape holds there and Got what came, both clipped.
	At, Want, Got string
	// Reason says what is wrong if it is no difference.
	Reason string
}

// Error can go to a terminal as it is: what a request holds cannot draw there.
func (e *MismatchError) Error() string { return printable(e.text()) }

func (e *MismatchError) text() string {
	what := e.Method + " " + e.Path
	if e.Model != "" {
		what += " (" + e.Model + ")"
	}
	if e.Seq == 0 {
		return fmt.Sprintf("%s: %s", what, e.Reason)
	}
	if e.Reason != "" {
		return fmt.Sprintf("%s: exchange %d: %s", what, e.Seq, e.Reason)
	}
	return fmt.Sprintf("%s: exchange %d differs at %s: recorded %s, now %s", what, e.Seq, e.At, e.Want, e.Got)
}

// because fills in why the exchange that was due did not match.
func (e *MismatchError) because(seq int, err error) {
	e.Seq, e.Reason = seq, ""
	var d *difference
	if !errors.As(err, &d) {
		e.Reason = err.Error()
		return
	}
	e.At, e.Want, e.Got = clip(d.at, 0), d.want, d.got
	if e.At == "" {
		e.At = "the whole body"
	}
	e.Want, e.Got = clipPair(e.Want, e.Got)
}

func (d *difference) Error() string {
	return fmt.Sprintf("differs at %s: recorded %s, now %s", d.at, d.want, d.got)
}

// printable replaces what a terminal may obey.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return utf8.RuneError
		}
		return r
	}, text)
}

// clipPair shortens two texts so that the place where they part is seen.
func clipPair(a, b string) (string, string) {
	same := 0
	for same < len(a) && same < len(b) && a[same] == b[same] {
		same++
	}
	from := max(0, same-maxShown/4)
	return clip(a, from), clip(b, from)
}

func clip(text string, from int) string {
	if len(text) <= maxShown {
		from = 0
	}
	before, after := "", ""
	for from > 0 && !utf8.RuneStart(text[from]) {
		from--
	}
	if from > 0 {
		before = "…"
	}
	text = text[from:]
	if len(text) > maxShown {
		text, after = strings.ToValidUTF8(text[:maxShown], ""), "…"
	}
	return before + text + after
}

// response tells the agent, in its API's words and with a status that is not
// tried again.
func (e *MismatchError) response(request *http.Request) *http.Response {
	detail := map[string]any{"type": "invalid_request_error", "message": "replay: " + e.Error()}
	shape := map[string]any{"error": detail}
	if strings.HasPrefix(e.Path, "/v1/messages") || request.Header.Get("Anthropic-Version") != "" {
		shape["type"] = "error"
	} else {
		detail["code"], detail["param"] = "replay_mismatch", nil
	}
	text, err := json.Marshal(shape, json.Deterministic(true))
	if err != nil {
		text = []byte(`{"error":{"type":"invalid_request_error","message":"replay: mismatch"}}`)
	}
	header := http.Header{"Content-Type": {"application/json"}, replayHeader: {"mismatch"}, "X-Should-Retry": {"false"}}
	return newResponse(request, http.StatusBadRequest, header, io.NopCloser(bytes.NewReader(text)), int64(len(text)))
}

func newResponse(request *http.Request, status int, header http.Header, body io.ReadCloser, length int64) *http.Response {
	return &http.Response{
		Status: fmt.Sprintf("%d %s", status, http.StatusText(status)), StatusCode: status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: header, Body: body, ContentLength: length, Request: request,
	}
}
