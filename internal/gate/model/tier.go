package model

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// pinned makes a call to OpenAI itself ask for the default service tier if it
// asks for none: otherwise the account's settings choose, and a dearer one would
// not be in what is reserved. Gateways may not know the field; they are left
// alone.
func (up *Upstream) pinned(body []byte) ([]byte, error) {
	official := strings.EqualFold(up.URL.Hostname(), "api.openai.com") || up.regional()
	if up.Provider != OpenAI || !official {
		return body, nil
	}
	return pinTier(body)
}

const (
	tierField   = "service_tier"
	defaultTier = `"service_tier":"default",`
)

func pinTier(body []byte) ([]byte, error) {
	if rest, ok := bytes.CutPrefix(bytes.TrimSpace(body), []byte("{")); ok && !bytes.Contains(body, []byte(tierField)) && len(rest) > 1 {
		// If it is there after all, spelled with escapes, it is there twice
		// now, and the meter refuses it.
		return append([]byte("{"+defaultTier), rest...), nil
	}
	var fields map[string]jsontext.Value
	if err := json.Unmarshal(body, &fields); err != nil {
		return nil, fmt.Errorf("%w: %w", errBadBody, err)
	}
	if said := string(fields[tierField]); said != "" && said != "null" && said != `"auto"` && said != `""` {
		return body, nil
	}
	fields[tierField] = jsontext.Value(`"default"`)
	return json.Marshal(fields, json.Deterministic(true))
}
