package model

import (
	"net/http"
	"regexp"

	"github.com/agent-loop/ralph/internal/gate/meter"
)

// A model's name in the paths of Google's API, which a method follows after a
// colon.
const googleModel = `^/v1beta/models/(?P<model>[A-Za-z0-9][A-Za-z0-9._-]{0,127})`

// googleShape is the Gemini API. A key can also be given as ?key=: that is
// refused, so that the phantom is looked for in one place, and with it every
// other parameter of Google's that chooses a shape, a project or a user.
func googleShape() *shape {
	return &shape{
		provider: Google,
		upstream: "https://generativelanguage.googleapis.com",
		routes: []route{
			{http.MethodPost, regexp.MustCompile(googleModel + `:generateContent$`), meter.Google, "", []string{"alt=json"}},
			{http.MethodPost, regexp.MustCompile(googleModel + `:streamGenerateContent$`), meter.Google, "", []string{"alt=sse", "alt=json"}},
			{http.MethodPost, regexp.MustCompile(googleModel + `:countTokens$`), "", meter.GoogleCount, []string{"alt=json"}},
			{http.MethodGet, regexp.MustCompile(`^/v1beta/models$`), "", "", []string{"alt=json", "pageSize", "pageToken"}},
			{http.MethodGet, regexp.MustCompile(googleModel + `$`), "", "", []string{"alt=json"}},
		},
		refusal: googleRefusal,
	}
}

// googleRefusal names the kind of a refusal where Google's own errors do. A 403
// ends gemini at once.
func googleRefusal(r refusal) any {
	status := map[int]string{
		http.StatusForbidden:             "PERMISSION_DENIED",
		http.StatusBadRequest:            "INVALID_ARGUMENT",
		http.StatusRequestEntityTooLarge: "INVALID_ARGUMENT",
		http.StatusUpgradeRequired:       "FAILED_PRECONDITION",
		http.StatusBadGateway:            "UNAVAILABLE",
	}[r.status]
	if status == "" {
		status = "INTERNAL"
	}
	return map[string]any{"error": map[string]any{
		"code": r.status, "message": "ralph: " + r.message, "status": status,
		"details": []any{map[string]any{"@type": errorInfo, "reason": r.code, "domain": "ralph"}},
	}}
}
