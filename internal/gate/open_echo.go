package gate

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// errEchoed ends a response that holds the secret of its request.
var errEchoed = errors.New("the response holds the credential")

// echoGuard finds a secret in what an upstream sends back: as it is, in
// hexadecimal, in base64 at any alignment (so within basic authentication), and
// escaped as in a URL or in JSON. It does not see a secret that is compressed,
// encrypted, cut into pieces or encoded in any other way.
type echoGuard struct{ forms [][]byte }

func newEchoGuard(values ...string) *echoGuard {
	var all []string
	for _, value := range values {
		asHex := hex.EncodeToString([]byte(value))
		all = append(all, value, asHex, strings.ToUpper(asHex), url.QueryEscape(value), url.PathEscape(value))
		all = append(all, jsonForms(value)...)
		for before := range 3 {
			all = append(all, base64Core(base64.RawStdEncoding, value, before), base64Core(base64.RawURLEncoding, value, before))
		}
	}
	slices.Sort(all)
	g := &echoGuard{}
	for _, form := range slices.Compact(all) {
		g.forms = append(g.forms, []byte(form))
	}
	return g
}

// jsonForms are the two ways to write a value in a JSON string.
func jsonForms(value string) []string {
	encoded, err := json.Marshal(value) // escapes < > &
	if err != nil {
		return nil // a string always encodes
	}
	text := string(encoded[1 : len(encoded)-1])
	return []string{text, strings.ReplaceAll(text, "/", `\/`)}
}

// base64Core is the part of an encoding of value that is the same whatever
// stands around it, if before bytes (modulo 3) stand in front of it.
func base64Core(encoding *base64.Encoding, value string, before int) string {
	padded := append(make([]byte, before), value...)
	text := encoding.EncodeToString(padded[:len(padded)/3*3])
	return text[(before*8+5)/6:]
}

// seenIn tells whether a form of the secret is in data.
func (g *echoGuard) seenIn(data []byte) bool {
	return slices.ContainsFunc(g.forms, func(form []byte) bool { return bytes.Contains(data, form) })
}

// seenInHeader looks at names as well: some servers answer with any.
func (g *echoGuard) seenInHeader(h http.Header) bool {
	for name, values := range h {
		if g.seenIn([]byte(name)) || slices.ContainsFunc(values, func(v string) bool { return g.seenIn([]byte(v)) }) {
			return true
		}
	}
	return false
}

// open returns how many bytes at the end of data could be the beginning of a
// form whose rest is still to come.
func (g *echoGuard) open(data []byte) int {
	longest := 0
	for _, form := range g.forms {
		for n := min(len(form)-1, len(data)); n > longest; n-- {
			if bytes.HasSuffix(data, form[:n]) {
				longest = n
			}
		}
	}
	return longest
}

// watch puts the guard on the body of a response. A short one is read at once,
// so that the client can be told when it must not pass; a long one is cut.
func (g *echoGuard) watch(resp *http.Response, noticed func()) error {
	body := &guardedBody{ReadCloser: resp.Body, guard: g, trailer: func() http.Header { return resp.Trailer }, noticed: noticed}
	resp.Body = body
	if resp.ContentLength < 0 || resp.ContentLength > guardBufferSize {
		return nil
	}
	short, err := io.ReadAll(body)
	if errors.Is(err, errEchoed) {
		return err
	}
	body.ready, body.err = short, err
	if err == nil {
		body.err = io.EOF
	}
	return nil
}

// guardedBody passes a response on as it comes, apart from bytes that may begin
// a secret, and fails before the secret has passed.
type guardedBody struct {
	io.ReadCloser
	guard   *echoGuard
	trailer func() http.Header // complete when the body has ended
	noticed func()             // called when the secret was found
	buffer  []byte
	ready   []byte // part of buffer: may pass
	held    []byte // may not pass yet
	err     error
}

// guardBufferSize is what is looked at in one go. It is more than any form of
// the longest secret.
const guardBufferSize = 64 << 10

// Read is part of io.Reader.
func (b *guardedBody) Read(p []byte) (int, error) {
	for len(b.ready) == 0 && b.err == nil {
		b.fill()
	}
	if len(b.ready) == 0 {
		return 0, b.err
	}
	n := copy(p, b.ready)
	b.ready = b.ready[n:]
	return n, nil
}

// fill reads once, behind what was held back. It is called when all that was
// ready has passed.
func (b *guardedBody) fill() {
	if b.buffer == nil {
		b.buffer = make([]byte, guardBufferSize)
	}
	before := copy(b.buffer, b.held)
	n, err := b.ReadCloser.Read(b.buffer[before:])
	window := b.buffer[:before+n]
	b.err = err
	switch {
	case b.guard.seenIn(window), err == io.EOF && b.guard.seenInHeader(b.trailer()):
		b.err = errEchoed
		b.noticed()
	case err != nil:
		b.ready = window
	default:
		pass := len(window) - b.guard.open(window)
		b.ready, b.held = window[:pass], append(b.held[:0], window[pass:]...)
	}
}
