package model

import (
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/agent-loop/ralph/internal/gate/meter"
)

// mostGoogleWrites is the largest limit that Google's models take. One that is
// larger in the price table is a guess, and would be refused.
const mostGoogleWrites = 1 << 16

// limited makes a call to Google say how much it may write, if it does not. The
// limit holds for what the model thinks too; without one, thinking was reported
// to go on for as long as it likes, and the most that is reserved would be a hope.
func (x *exchange) limited(found route, path string, body []byte) ([]byte, error) {
	if found.api != meter.Google {
		return body, nil
	}
	price, known := x.api.config.Prices.Find(found.model(path))
	if !known || price.MaxOutput > mostGoogleWrites {
		return body, nil
	}
	return limitOutput(body, price.MaxOutput)
}

// limitOutput leaves a body alone that has a limit, or a shape that the meter will
// refuse.
func limitOutput(body []byte, most int64) ([]byte, error) {
	const config, limit = "generationConfig", "maxOutputTokens"
	var fields map[string]jsontext.Value
	if err := json.Unmarshal(body, &fields); err != nil {
		return nil, fmt.Errorf("%w: %w", errBadBody, err)
	}
	settings := map[string]jsontext.Value{}
	switch raw := fields[config]; {
	case fields == nil:
		return body, nil
	case len(raw) == 0 || raw.Kind() == 'n':
	case raw.Kind() != '{':
		return body, nil
	default:
		if err := json.Unmarshal(raw, &settings); err != nil {
			return nil, fmt.Errorf("%w: %w", errBadBody, err)
		}
	}
	if said := string(settings[limit]); said != "" && said != "null" && said != "0" {
		return body, nil
	}
	settings[limit] = jsontext.Value(strconv.FormatInt(most, 10))
	raw, err := json.Marshal(settings, json.Deterministic(true))
	if err != nil {
		return nil, fmt.Errorf("limiting the output: %w", err)
	}
	fields[config] = raw
	return json.Marshal(fields, json.Deterministic(true))
}
