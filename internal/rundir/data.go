package rundir

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Text stands for bytes that are not JSON, or a string that is not UTF-8. One of
// its fields holds them, all of them.
type Text struct {
	Text   string `json:"text,omitempty"`
	Base64 []byte `json:"base64,omitempty"`
}

// Bytes returns what was stored.
func (t Text) Bytes() []byte {
	if len(t.Base64) > 0 {
		return t.Base64
	}
	return []byte(t.Text)
}

func newText(raw []byte) Text {
	if utf8.Valid(raw) {
		return Text{Text: string(raw)}
	}
	return Text{Base64: raw}
}

// Clipped stands for data that was too large for a line.
type Clipped struct {
	Bytes  int  `json:"bytes"`  // how long the data was
	SHA256 Hash `json:"sha256"` // of all of it
	Top    Text `json:"top"`    // its beginning
}

// encodeData makes the data of an event. Strings that are not UTF-8 become a Text
// in their place.
func encodeData(value any) (jsontext.Value, error) {
	if value == nil {
		return nil, nil
	}
	data, err := json.Marshal(value, json.Deterministic(true))
	if err == nil {
		return data, nil
	}
	reversible := json.WithMarshalers(json.MarshalToFunc(func(out *jsontext.Encoder, s string) error {
		if utf8.ValidString(s) {
			return out.WriteToken(jsontext.String(s))
		}
		return json.MarshalEncode(out, Text{Base64: []byte(s)})
	}))
	// Strings of a type of their own are not reached by that; they lose what is
	// not text.
	if data, err := json.Marshal(value, json.Deterministic(true), reversible, jsontext.AllowInvalidUTF8(true)); err == nil {
		return data, nil
	}
	return nil, fmt.Errorf("encoding the data of an event: %w", err)
}

// rawData makes the data of an event from bytes that should be JSON and may be
// anything. They are kept as they are when they are JSON on one line.
func rawData(raw []byte) (jsontext.Value, error) {
	raw = bytes.TrimRight(raw, "\r\n")
	value := jsontext.Value(bytes.Trim(raw, " \t\r\n"))
	if !value.IsValid() || tooDeep(value) {
		return encodeData(newText(raw))
	}
	if bytes.ContainsAny(value, "\r\n") {
		value = value.Clone()
		return value, value.Compact()
	}
	return value, nil
}

// tooDeep finds JSON that may not be valid any more inside of an event, for its
// depth. Only where there are many brackets it must look twice.
func tooDeep(value []byte) bool {
	const most = 5000
	return bytes.Count(value, []byte("["))+bytes.Count(value, []byte("{")) > most && !jsontext.Value(nested(value)).IsValid()
}

func nested(value []byte) []byte { return append(append([]byte("[["), value...), "]]"...) }

// fitData masks data and clips what is too large for a line. Masking comes first,
// or half a secret would be left at the edge.
func fitData(data jsontext.Value, mask func([]byte) []byte) (jsontext.Value, error) {
	if len(data) > 0 && mask != nil {
		masked := mask(bytes.Clone(data))
		if !bytes.Equal(masked, data) && !isLine(masked) {
			return encodeAndClip(newText(masked))
		}
		data = masked
	}
	return clip(data)
}

// isLine tells whether text is JSON that fits in a line.
func isLine(text jsontext.Value) bool {
	return text.IsValid() && !bytes.ContainsAny(text, "\r\n")
}

func encodeAndClip(value any) (jsontext.Value, error) {
	data, err := encodeData(value)
	if err != nil {
		return nil, err
	}
	return clip(data)
}

func clip(data jsontext.Value) (jsontext.Value, error) {
	if len(data) <= maxData {
		return data, nil
	}
	return encodeData(map[string]Clipped{"clipped": {
		Bytes:  len(data),
		SHA256: sha256.Sum256(data),
		Top:    newText(wholeRunes(data[:clippedTop])),
	}})
}

// wholeRunes cuts off a last character that is not all there.
func wholeRunes(text []byte) []byte {
	for i := 1; i < utf8.UTFMax && i <= len(text); i++ {
		if cut := text[:len(text)-i]; utf8.RuneStart(text[len(text)-i]) {
			if !utf8.FullRune(text[len(text)-i:]) {
				return cut
			}
			break
		}
	}
	return text
}
