package tape

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// number is a JSON number as it was spelled: 1 and 1.0 are two numbers here,
// and none loses digits.
type number string

// parse reads a body as a tree of map[string]any, []any, string, number, bool
// and nil. What is not strict JSON is one string.
func parse(raw []byte) any {
	var tree any
	if err := json.Unmarshal(raw, &tree, json.WithUnmarshalers(json.UnmarshalFromFunc(readNumber))); err != nil {
		return string(raw)
	}
	return tree
}

// readNumber takes numbers out of the decoder's hands and leaves it the rest.
func readNumber(decoder *jsontext.Decoder, value *any) error {
	if decoder.PeekKind() != '0' {
		return errors.ErrUnsupported
	}
	raw, err := decoder.ReadValue()
	*value = number(raw)
	return err
}

// modelOf is the model that a call names, "" if it names none that can be one.
func modelOf(raw []byte) string {
	var call struct {
		Model string `json:"model"`
	}
	if json.Unmarshal(raw, &call) != nil || len(call.Model) > maxModel {
		return ""
	}
	return call.Model
}

// difference is the first place where two trees differ.
type difference struct{ at, want, got string }

// diff compares two trees, names of an object in alphabetical order. It returns
// nil when they are the same.
func diff(at string, want, got any) *difference {
	switch want := want.(type) {
	case map[string]any:
		if got, ok := got.(map[string]any); ok {
			return diffObjects(at, want, got)
		}
	case []any:
		if got, ok := got.([]any); ok {
			return diffArrays(at, want, got)
		}
	default:
		// A scalar is comparable, and differs from every object and array.
		switch got.(type) {
		case map[string]any, []any:
		default:
			if want == got {
				return nil
			}
		}
	}
	return &difference{at, show(want), show(got)}
}

func diffObjects(at string, want, got map[string]any) *difference {
	for _, name := range namesOf(want, got) {
		w, inWant := want[name]
		g, inGot := got[name]
		here := at + "/" + escape(name)
		switch {
		case !inGot:
			return &difference{here, show(w), "nothing"}
		case !inWant:
			return &difference{here, "nothing", show(g)}
		}
		if d := diff(here, w, g); d != nil {
			return d
		}
	}
	return nil
}

func diffArrays(at string, want, got []any) *difference {
	for i := range min(len(want), len(got)) {
		if d := diff(at+"/"+strconv.Itoa(i), want[i], got[i]); d != nil {
			return d
		}
	}
	if len(want) != len(got) {
		return &difference{at, fmt.Sprintf("%d elements", len(want)), fmt.Sprintf("%d elements", len(got))}
	}
	return nil
}

func namesOf(objects ...map[string]any) []string {
	var names []string
	for _, object := range objects {
		for name := range object {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// escape spells a name as a step of a JSON pointer.
func escape(name string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}

// show spells a value for a person.
func show(value any) string {
	if number, ok := value.(number); ok {
		return string(number)
	}
	text, err := json.Marshal(value, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(text)
}
