package ociruntime

import (
	"bytes"
	"errors"
	"io"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// object is a JSON object whose members keep their order and their words.
type object []member

type member struct {
	name  string
	value jsontext.Value
}

// parseObject reads one object and nothing after it. Names that occur twice are
// refused: programs differ in which of them counts.
func parseObject(text []byte) (object, error) {
	decoder := jsontext.NewDecoder(bytes.NewReader(text))
	if decoder.PeekKind() != '{' {
		if _, err := decoder.ReadToken(); err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		return nil, errors.New("it is not a JSON object")
	}
	if _, err := decoder.ReadToken(); err != nil {
		return nil, err
	}
	var o object
	for decoder.PeekKind() == '"' {
		name, err := decoder.ReadToken()
		if err != nil {
			return nil, err
		}
		m := member{name: name.String()}
		value, err := decoder.ReadValue()
		if err != nil {
			return nil, err
		}
		m.value = value.Clone()
		o = append(o, m)
	}
	if _, err := decoder.ReadToken(); err != nil { // the brace
		return nil, err
	}
	if _, err := decoder.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, errors.Join(errors.New("something follows the JSON object"), err)
	}
	return o, nil
}

func (o object) get(name string) (jsontext.Value, bool) {
	for _, m := range o {
		if m.name == name {
			return m.value, true
		}
	}
	return nil, false
}

// with replaces a member where it stands, or adds it at the end.
func (o object) with(name string, value jsontext.Value) object {
	changed := slices.Clone(o)
	for i := range changed {
		if changed[i].name == name {
			changed[i].value = value
			return changed
		}
	}
	return append(changed, member{name, value})
}

func (o object) without(name string) object {
	return slices.DeleteFunc(slices.Clone(o), func(m member) bool { return m.name == name })
}

// encode writes the object as people write it.
func (o object) encode() (jsontext.Value, error) {
	var out bytes.Buffer
	encoder := jsontext.NewEncoder(&out, jsontext.WithIndent("  "), jsontext.PreserveRawStrings(true))
	if err := encoder.WriteToken(jsontext.BeginObject); err != nil {
		return nil, err
	}
	for _, m := range o {
		if err := errors.Join(encoder.WriteToken(jsontext.String(m.name)), encoder.WriteValue(m.value)); err != nil {
			return nil, err
		}
	}
	err := encoder.WriteToken(jsontext.EndObject)
	return bytes.TrimSpace(out.Bytes()), err
}

// equal says whether two objects mean the same.
func (o object) equal(other object) bool {
	a, errA := o.encode()
	b, errB := other.encode()
	return errA == nil && errB == nil && a.Canonicalize() == nil && b.Canonicalize() == nil && bytes.Equal(a, b)
}
