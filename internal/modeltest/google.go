package modeltest

import (
	"fmt"
	"io"
	"net/http"
	"strings"
)

// google is the dialect of POST /v1beta/models/M:generateContent and of its
// stream. The path names the model, and whether it is one.
var google = dialect{stream: googleStream, whole: googleWhole, fail: googleFailure, path: googlePath}

func googleFailure(_, message string) string {
	return GoogleError(http.StatusBadRequest, "INVALID_ARGUMENT", message)
}

func googlePath(c *call, r *http.Request) {
	model, method, _ := strings.Cut(r.PathValue("call"), ":")
	c.Model, c.Stream = model, method == "streamGenerateContent"
}

// google answers the methods of a model.
func (s *Server) google(w http.ResponseWriter, r *http.Request) {
	switch _, method, _ := strings.Cut(r.PathValue("call"), ":"); method {
	case "generateContent", "streamGenerateContent":
		s.model(google)(w, r)
	case "countTokens":
		n, _ := io.Copy(io.Discard, r.Body)
		writeJSON(w, http.StatusOK, fmt.Sprintf(`{"totalTokens":%d}`, n))
	default:
		writeJSON(w, http.StatusNotFound, GoogleError(http.StatusNotFound, "NOT_FOUND", "no such method"))
	}
}

// googleStream begins with a thought, and tells with every chunk what was used
// so far.
func googleStream(c call, t Turn) []event {
	whole := googleWhole(c, t)
	running := object{"promptTokenCount": t.usage.total(), "totalTokenCount": t.usage.total()}
	chunk := func(part object) event {
		return event{data: marshal(object{
			"candidates":    []object{{"content": object{"role": "model", "parts": []object{part}}, "index": 0}},
			"usageMetadata": running, "modelVersion": c.Model, "responseId": whole["responseId"],
		})}
	}
	events := []event{chunk(object{"text": "**Thinking**", "thought": true})}
	for _, part := range googleParts(c, t) {
		events = append(events, chunk(part))
	}
	whole["candidates"] = []object{{"content": object{"role": "model", "parts": []object{{"text": ""}}}, "finishReason": "STOP", "index": 0}}
	return append(events, event{data: marshal(whole)})
}

func googleWhole(c call, t Turn) object {
	return object{
		"candidates": []object{{"content": object{"role": "model", "parts": googleParts(c, t)}, "finishReason": "STOP", "index": 0}},
		"usageMetadata": object{
			"promptTokenCount": t.usage.total(), "cachedContentTokenCount": t.usage.CacheRead,
			"candidatesTokenCount": t.usage.Output, "totalTokenCount": t.usage.total() + t.usage.Output,
		},
		"modelVersion": c.Model, "responseId": fmt.Sprintf("resp_%02d", c.number),
	}
}

// googleParts are two, so that a stream can break between them.
func googleParts(c call, t Turn) []object {
	if t.command == "" {
		half := []rune(t.text)[:len([]rune(t.text))/2]
		return []object{{"text": string(half)}, {"text": strings.TrimPrefix(t.text, string(half))}}
	}
	return []object{
		{"text": "I run a command."},
		{"functionCall": object{
			"id": fmt.Sprintf("call_%02d", c.number), "name": c.shell("run_shell_command"),
			"args": object{"command": t.command, "description": "as scripted"},
		}},
	}
}

// googleModels lists what there is.
func googleModels(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, `{"models":[{"name":"models/test-model","displayName":"Test","supportedGenerationMethods":["generateContent","countTokens"]}]}`)
}
