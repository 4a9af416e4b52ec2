package model

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/agent-loop/ralph/internal/gate/meter"
)

// steering is what the model is told at the end of a request, by how much of the
// budget is spent, in percent.
var steering = []struct {
	from int64
	text string
}{
	{95, "[ralph] 95 % of the budget of this run is spent. Finish now: commit what works and write down what is left."},
	{90, "[ralph] 90 % of the budget of this run is spent. Start nothing new; bring what you are doing to a good end."},
	{80, "[ralph] 80 % of the budget of this run is spent. Choose what matters most and leave the rest."},
}

// steered returns the body with a word about the budget, if that was asked for
// and is due.
func (x *exchange) steered(api meter.API, body []byte) ([]byte, error) {
	if !x.api.config.Steer {
		return body, nil
	}
	totals, err := x.api.config.Ledger.Totals()
	if err != nil {
		return nil, fmt.Errorf("reading the budget: %w", err)
	}
	caps, err := x.api.config.Ledger.Caps()
	if err != nil {
		return nil, fmt.Errorf("reading the budget: %w", err)
	}
	spent := percentSpent(totals, caps)
	for _, step := range steering {
		if spent >= step.from {
			return appendText(api, body, step.text)
		}
	}
	return body, nil
}

// refuseSteered answers when steered failed: by the request, or by the ledger.
func (x *exchange) refuseSteered(err error) {
	if errors.Is(err, errBadBody) {
		x.refuse(http.StatusBadRequest, CodeBadRequest, err.Error())
		return
	}
	x.refuseLedger(err)
}

// steeringMessage is a text of the user's, and the list of a request that it
// belongs to.
func steeringMessage(api meter.API, text string) (list string, message any) {
	switch api {
	case meter.OpenAIResponses:
		return "input", map[string]any{"type": "message", "role": "user", "content": []any{map[string]any{"type": "input_text", "text": text}}}
	case meter.Google:
		return "contents", map[string]any{"role": "user", "parts": []any{map[string]any{"text": text}}}
	}
	return "messages", map[string]any{"role": "user", "content": text}
}

// appendText adds a text of the user's at the end of the conversation. Adding a
// message of its own keeps everything before it as it was, and so the
// upstream's cache of it; two messages of the user's in a row are allowed in all
// shapes.
func appendText(api meter.API, body []byte, text string) ([]byte, error) {
	var fields map[string]jsontext.Value
	if err := json.Unmarshal(body, &fields); err != nil {
		return nil, fmt.Errorf("%w: %w", errBadBody, err)
	}
	list, message := steeringMessage(api, text)
	var items []jsontext.Value
	if kind := fields[list].Kind(); kind != '[' {
		return body, nil // a bare text: one question, not an agent at work
	}
	if err := json.Unmarshal(fields[list], &items); err != nil {
		return nil, fmt.Errorf("%w: %w", errBadBody, err)
	}
	added, err := json.Marshal(message, json.Deterministic(true))
	if err != nil {
		return nil, errors.New("writing the steering text")
	}
	if fields[list], err = json.Marshal(append(items, added)); err != nil {
		return nil, fmt.Errorf("adding the steering text: %w", err)
	}
	return json.Marshal(fields, json.Deterministic(true))
}
