package stream

import (
	"bytes"
	"errors"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"

	"github.com/agent-loop/ralph/internal/rundir"
)

// decode reads the data of an event. It is lenient: a record that cannot be
// understood in full is shown as far as it can be.
func decode[T any](data jsontext.Value) (T, bool) {
	var value T
	nanoseconds := jsonv1.FormatDurationAsNano(true) // as the gate counts
	if json.Unmarshal(data, &value, nanoseconds) == nil {
		return value, true
	}
	// A string that is not UTF-8 is recorded as a rundir.Text in its place.
	var again T
	return again, json.Unmarshal(data, &again, nanoseconds, textsForStrings()) == nil
}

func textsForStrings() json.Options {
	return json.WithUnmarshalers(json.UnmarshalFromFunc(func(in *jsontext.Decoder, s *string) error {
		if in.PeekKind() != '{' {
			return errors.ErrUnsupported // as it is by default
		}
		var text struct {
			Text   jsontext.Value `json:"text"`
			Base64 []byte         `json:"base64"`
		}
		if err := json.UnmarshalDecode(in, &text); err != nil {
			return err
		}
		*s = string(text.Base64)
		if len(text.Base64) == 0 && len(text.Text) > 0 {
			return json.Unmarshal(text.Text, s)
		}
		return nil
	}))
}

// clipped returns what is left of data that was too large for the record.
func clipped(data jsontext.Value) (rundir.Clipped, bool) {
	if !bytes.HasPrefix(data, []byte(`{"clipped":{`)) {
		return rundir.Clipped{}, false
	}
	holder, ok := decode[struct {
		Clipped rundir.Clipped `json:"clipped"`
	}](data)
	return holder.Clipped, ok
}
