package modeltest_test

import (
	"strings"
	"testing"

	"github.com/agent-loop/ralph/internal/modeltest"
)

const (
	googleModel = "/v1beta/models/gemini-2.5-pro"
	googleTools = `{"tools":[{"functionDeclarations":[{"name":"read_file"},{"name":"run_shell_command"}]}]}`
)

// With Google the path says which model it is, and whether its answer streams.
func TestGoogle(t *testing.T) {
	usage := modeltest.Usage{Input: 1000, CacheRead: 200, Output: 4}
	server := modeltest.New(t,
		modeltest.Say("whole words").Uses(usage),
		modeltest.Say("<streamed>").Uses(usage),
		modeltest.Shell("make").Uses(usage))
	for _, test := range []struct {
		name, path string
		want       []string
	}{
		{"whole", ":generateContent", []string{"words", `"finishReason":"STOP"`, `"modelVersion":"gemini-2.5-pro"`}},
		{"a stream", ":streamGenerateContent?alt=sse", []string{`data: {`, `"text":"\u003cstre"`, `"text":"amed\u003e"`, `"thought":true`}},
		{"a command", ":streamGenerateContent?alt=sse", []string{`"name":"run_shell_command"`, `"command":"make"`}},
	} {
		_, body := post(t, server, googleModel+test.path, googleTools)
		for _, want := range append(test.want, `"promptTokenCount":1200`, `"cachedContentTokenCount":200`, `"candidatesTokenCount":4`, `"totalTokenCount":1204`) {
			if !strings.Contains(body, want) {
				t.Errorf("%s: no %s in %s", test.name, want, body)
			}
		}
	}
	if _, body := post(t, server, googleModel+":countTokens", "12345"); body != `{"totalTokens":5}` {
		t.Errorf("a count is %s", body)
	}
	if calls := server.Calls(); len(calls) != 3 || server.Left() != 0 {
		t.Errorf("%d calls, %d turns left", len(calls), server.Left())
	}
}

func TestGoogleFaults(t *testing.T) {
	const path = googleModel + ":streamGenerateContent?alt=sse"
	for name, turn := range map[string]modeltest.Turn{"words": modeltest.Say("words"), "a command": modeltest.Shell("make")} {
		server := modeltest.New(t, turn.Dropped(), turn.Garbled())
		if _, body, err := try(t, server, path, googleTools); err == nil || strings.Contains(body, "finishReason") {
			t.Errorf("%s: a dropped answer ended well: %s", name, body)
		}
		if _, body, err := try(t, server, path, googleTools); err != nil || sound(body) {
			t.Errorf("%s: a garbled answer is sound (%v): %s", name, err, body)
		}
	}
}

func TestGoogleErrors(t *testing.T) {
	refusal := modeltest.GoogleError(429, "RESOURCE_EXHAUSTED", "slower", modeltest.GoogleRetry("34s"))
	server := modeltest.New(t, modeltest.Refuse(429, refusal))
	response, body := post(t, server, googleModel+":generateContent", `{}`)
	if response.StatusCode != 429 || !strings.Contains(body, `"retryDelay":"34s"`) || !strings.Contains(body, `"status":"RESOURCE_EXHAUSTED"`) {
		t.Errorf("%s: %s", response.Status, body)
	}
}
