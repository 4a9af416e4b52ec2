package model

import (
	"encoding/json"
	"net/http"

	"github.com/agent-loop/ralph/internal/gate"
)

// codeHeader names the kind of a refusal by the gate.
const codeHeader = "X-Ralph-Code"

// The codes of what the gate refuses or fails by itself.
const (
	CodeWrongPath     = "wrong_path"
	CodeWrongMethod   = "wrong_method"
	CodeWrongPhantom  = "wrong_phantom"
	CodeBadRequest    = "bad_request"
	CodeTooLarge      = "too_large"
	CodeUnknownModel  = "unknown_model"
	CodeUnbounded     = "unbounded_cost"
	CodeProviderFetch = "provider_fetch"
	CodeBudgetSpent   = "budget_spent"
	CodeLedger        = "ledger_failed"
	CodeCredential    = "no_credential"
	CodeUpstream      = "upstream_failed"
	CodeMasked        = "secret_masked"
)

// refusal is an answer of the gate itself.
type refusal struct {
	status  int
	code    string
	message string
}

// refuse answers in the shape of the provider's own errors, and so that the
// official clients do not try again.
func refuse(w http.ResponseWriter, event *gate.Event, r refusal, s *shape) {
	event.Code, event.Reason = r.code, r.message
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Should-Retry", "false")
	h.Set(codeHeader, r.code)
	w.WriteHeader(r.status)
	text, err := json.Marshal(s.refusal(r))
	if err == nil {
		_, _ = w.Write(append(text, '\n'))
	}
}

func anthropicRefusal(r refusal) any {
	kind := map[int]string{
		http.StatusForbidden:             "permission_error",
		http.StatusBadRequest:            "invalid_request_error",
		http.StatusRequestEntityTooLarge: "request_too_large",
	}[r.status]
	if kind == "" {
		kind = "api_error"
	}
	return map[string]any{
		"type":  "error",
		"error": map[string]any{"type": kind, "message": "ralph: " + r.message, "code": r.code},
	}
}

func openAIRefusal(r refusal) any {
	return map[string]any{
		"error": map[string]any{"type": "ralph_error", "code": r.code, "message": "ralph: " + r.message, "param": nil},
	}
}
