package meter

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// walker reads a request once, from front to back. The decoder refuses names
// that occur twice and text that is not UTF-8. Every visit of a field or an
// element must read exactly one value.
type walker struct {
	dec     *jsontext.Decoder
	call    Call
	problem *UnboundedError // the first one

	blocks, tools, builtIns int64
	images, imageBytes      int64
	references, largestTool int64 // deferred tools, and what one can add
	respelled               int64 // what JSON for the model can have more than its bytes
	serverTools             bool
	serverUses              int64
	thinkingBudget          int64
}

func newWalker(api API, model string, body []byte) *walker {
	return &walker{
		dec:  jsontext.NewDecoder(bytes.NewBuffer(body)),
		call: Call{API: api, Model: model, Rounds: 1, Choices: 1},
	}
}

// readBody walks over the whole body.
func (w *walker) readBody() error {
	visit, err := w.topLevel()
	if err != nil {
		return err
	}
	if w.dec.PeekKind() != '{' {
		return errors.New("reading the request: it is not a JSON object")
	}
	if err := w.object(visit); err != nil {
		return fmt.Errorf("reading the request: %w", err)
	}
	if _, err := w.dec.ReadToken(); !errors.Is(err, io.EOF) {
		return errors.New("reading the request: there is more after the JSON object")
	}
	if w.call.Model == "" {
		return errors.New("reading the request: it names no model")
	}
	return nil
}

func (w *walker) topLevel() (func(string) error, error) {
	switch w.call.API {
	case Anthropic:
		w.call.Regional = true // unless it says that it is global
		return w.anthropicField, nil
	case OpenAIResponses:
		w.call.Writes = Writes5m // caching is automatic
		return w.responsesField, nil
	case OpenAIChat:
		w.call.Writes = Writes5m
		return w.chatField, nil
	case Google:
		return w.googleField, nil
	case GoogleCount:
		return w.googleCountField, nil
	}
	return nil, fmt.Errorf("the API %q is not known", w.call.API)
}

// conclude turns what was counted into the bound, given the body's size and by
// how much its text can grow, in a tool that is written out again too.
func (w *walker) conclude(size, growth int64) {
	image := int64(imageOpenAI)
	if w.call.API == Anthropic {
		image = imageAnthropic
	}
	w.call.Input = size - w.imageBytes + w.images*image + marginBase + w.blocks*marginBlock +
		w.tools*marginTool + w.builtIns*marginBuiltIn + w.references*w.largestTool +
		w.respelled + growth*(1+w.references)
	if w.serverTools {
		w.call.Rounds = max(w.serverUses, serverLoop) + 1
	}
	if w.call.SaysOutput && w.thinkingBudget > w.call.Output {
		w.call.ExtraOutput += w.thinkingBudget
	}
}

// unbounded notes why the call has no bound.
func (w *walker) unbounded(field, reason string, args ...any) {
	if w.problem == nil {
		w.problem = &UnboundedError{Field: field, Reason: fmt.Sprintf(reason, args...)}
	}
}

// unknown notes something that a later version of the API may have brought.
func (w *walker) unknown(field, name string) {
	w.unbounded(field, "%.60q is not known here", name)
}

// reaches notes that the provider would ask other hosts.
func (w *walker) reaches(by string) {
	if w.call.Reaches == "" {
		w.call.Reaches = by
	}
}

// object visits the fields of an object. A null has none.
func (w *walker) object(visit func(name string) error) error {
	if w.dec.PeekKind() == 'n' {
		return w.dec.SkipValue()
	}
	if err := w.open('{'); err != nil {
		return err
	}
	for w.dec.PeekKind() != '}' {
		name, err := w.text()
		if err != nil {
			return err
		}
		if err := visit(name); err != nil {
			return err
		}
	}
	_, err := w.dec.ReadToken()
	return err
}

// array visits the elements of an array. A null has none.
func (w *walker) array(visit func() error) error {
	if w.dec.PeekKind() == 'n' {
		return w.dec.SkipValue()
	}
	if err := w.open('['); err != nil {
		return err
	}
	for w.dec.PeekKind() != ']' {
		if err := visit(); err != nil {
			return err
		}
	}
	_, err := w.dec.ReadToken()
	return err
}

func (w *walker) open(kind jsontext.Kind) error {
	if err := w.expect(kind); err != nil {
		return err
	}
	_, err := w.dec.ReadToken()
	return err
}

// expect checks the kind of the next value, for a provider may read a value of
// another kind its own way.
func (w *walker) expect(kind jsontext.Kind) error {
	switch got := w.dec.PeekKind(); got {
	case kind:
		return nil
	case jsontext.KindInvalid:
		_, err := w.dec.ReadToken() // tells what is wrong
		if err == nil || errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return err
	default:
		return fmt.Errorf("%s is %v, not %v", w.dec.StackPointer(), got, kind)
	}
}

// text reads a string.
func (w *walker) text() (string, error) {
	if err := w.expect('"'); err != nil {
		return "", err
	}
	token, err := w.dec.ReadToken()
	if err != nil {
		return "", err
	}
	return token.String(), nil
}

// optional reads a string or a null, which is "".
func (w *walker) optional() (string, error) {
	if w.dec.PeekKind() == 'n' {
		return "", w.dec.SkipValue()
	}
	return w.text()
}

// flag reads a boolean or a null.
func (w *walker) flag() (bool, error) {
	switch kind := w.dec.PeekKind(); kind {
	case 't', 'f', 'n':
		return kind == 't', w.dec.SkipValue()
	}
	return false, w.expect('t')
}

// count reads a plain number that is not negative, or a null. Spellings such as
// 1e3 or 1.0 are refused, for not all read them alike.
func (w *walker) count() (n int64, said bool, err error) {
	if w.dec.PeekKind() == 'n' {
		return 0, false, w.dec.SkipValue()
	}
	if err := w.expect('0'); err != nil {
		return 0, false, err
	}
	raw, err := w.dec.ReadValue()
	if err != nil {
		return 0, false, err
	}
	if n, err = parseCount(raw); err != nil {
		return 0, false, fmt.Errorf("%s: %w", w.dec.StackPointer(), err)
	}
	return n, true, nil
}

func parseCount(raw []byte) (int64, error) {
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil || n < 0 || n > maxCount {
		return 0, fmt.Errorf("%.30s is not a count", raw)
	}
	return n, nil
}

// skip reads a value that decides nothing but its own length.
func (w *walker) skip() error {
	raw, err := w.dec.ReadValue()
	w.respelled += respelled(raw)
	return err
}

// absent reads a value and tells whether it says nothing. An empty object does
// not: it may switch something on with all its defaults.
func (w *walker) absent() (bool, error) {
	raw, err := w.dec.ReadValue()
	if err != nil {
		return false, err
	}
	switch {
	case raw.Kind() == 'n' || raw.Kind() == 'f' || string(raw) == `""`:
		return true, nil
	case raw.Kind() == '[':
		return len(bytes.TrimSpace(raw[1:len(raw)-1])) == 0, nil
	}
	return false, nil
}

// refuse reads a value and takes it for unbounded unless it says nothing.
func (w *walker) refuse(field, reason string) error {
	absent, err := w.absent()
	if err == nil && !absent {
		w.unbounded(field, "%s", reason)
	}
	return err
}

// refers reads a value and takes it for a reference unless it says nothing.
func (w *walker) refers() error {
	absent, err := w.absent()
	if !absent {
		w.call.FillsWindow = true
	}
	return err
}

// remote reads the URL of content that is elsewhere, unless it says nothing.
func (w *walker) remote(what string) error {
	absent, err := w.absent()
	if err == nil && !absent {
		w.reaches(what)
	}
	return err
}
