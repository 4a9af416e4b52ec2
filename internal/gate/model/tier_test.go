package model

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/agent-loop/ralph/internal/gate/meter"
)

// TestPinTier: a call that leaves the tier to the account asks for the default
// one; a call that names one keeps it.
func TestPinTier(t *testing.T) {
	for body, want := range map[string]string{
		`{"model":"m"}`:                        `{"service_tier":"default","model":"m"}`,
		" {\"model\":\"m\"} ":                  `{"service_tier":"default","model":"m"}`,
		`{"service_tier":"auto","model":"m"}`:  `{"model":"m","service_tier":"default"}`,
		`{"model":"m","service_tier":null}`:    `{"model":"m","service_tier":"default"}`,
		`{"model":"m","input":"service_tier"}`: `{"input":"service_tier","model":"m","service_tier":"default"}`,
		`{"model":"m","service_tier":"flex"}`:  `{"model":"m","service_tier":"flex"}`,
	} {
		if got, err := pinTier([]byte(body)); err != nil || string(got) != want {
			t.Errorf("%s: %s, %v; want %s", body, got, err, want)
		}
	}
	hidden, err := pinTier([]byte(`{"model":"m","service\u005ftier":"auto"}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := meter.ReadCall(meter.OpenAIResponses, http.Header{"Content-Type": {"application/json"}}, hidden); err == nil {
		t.Errorf("a tier that is there twice passes: %s", hidden)
	}
}

// TestPinnedIsForOpenAIItself: gateways may not know the field.
func TestPinnedIsForOpenAIItself(t *testing.T) {
	for at, pins := range map[string]bool{
		"https://api.openai.com": true, "https://eu.api.openai.com": true, "https://gateway.example": false, "https://api.openai.com.evil.example": false,
	} {
		u, err := url.Parse(at)
		if err != nil {
			t.Fatal(err)
		}
		up := Upstream{Provider: OpenAI, URL: u}
		if got, err := up.pinned([]byte(`{"model":"m"}`)); err != nil || (string(got) != `{"model":"m"}`) != pins {
			t.Errorf("%s: %s, %v", at, got, err)
		}
	}
}
