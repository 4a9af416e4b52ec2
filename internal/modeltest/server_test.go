package modeltest_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/agent-loop/ralph/internal/modeltest"
)

// apis are the three ways to call the model, and where each keeps its words.
var apis = []struct{ name, path, delta, whole string }{
	{"messages", "/v1/messages", `"text_delta"`, `"end_turn"`},
	{"responses", "/v1/responses", `response.output_text.delta`, `"output_text"`},
	{"chat", "/v1/chat/completions", `"chat.completion.chunk"`, `"chat.completion"`},
}

func TestStreamsAndWholeAnswers(t *testing.T) {
	for _, api := range apis {
		t.Run(api.name, func(t *testing.T) {
			server := modeltest.New(t, modeltest.Say("streamed words"), modeltest.Say("whole words"))
			response, body := post(t, server, api.path, `{"model":"m","stream":true}`)
			if kind := response.Header.Get("Content-Type"); kind != "text/event-stream" {
				t.Errorf("a stream came as %s", kind)
			}
			if !strings.Contains(body, "streamed words") || !strings.Contains(body, api.delta) {
				t.Errorf("not a stream of %s: %s", api.name, body)
			}
			response, body = post(t, server, api.path, `{"model":"m"}`)
			if kind := response.Header.Get("Content-Type"); kind != "application/json" || !json.Valid([]byte(body)) {
				t.Errorf("a whole answer came as %s: %s", kind, body)
			}
			if !strings.Contains(body, "whole words") || !strings.Contains(body, api.whole) {
				t.Errorf("not an answer of %s: %s", api.name, body)
			}
		})
	}
}

// Each API counts in its own way; OpenAI's input includes what was cached.
func TestUsage(t *testing.T) {
	usage := modeltest.Usage{Input: 1000, CacheRead: 200, CacheWrite: 30, Output: 4}
	wants := [][]string{
		{`"input_tokens":1000`, `"cache_read_input_tokens":200`, `"cache_creation_input_tokens":30`, `"output_tokens":4`},
		{`"input_tokens":1230`, `"cached_tokens":200`, `"output_tokens":4`, `"total_tokens":1234`},
		{`"prompt_tokens":1230`, `"cached_tokens":200`, `"completion_tokens":4`, `"total_tokens":1234`},
	}
	for i, api := range apis {
		for _, stream := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, stream %t", api.name, stream), func(t *testing.T) {
				server := modeltest.New(t, modeltest.Say("x").Uses(usage))
				_, body := post(t, server, api.path, fmt.Sprintf(`{"model":"m","stream":%t}`, stream))
				for _, want := range wants[i] {
					if !strings.Contains(body, want) {
						t.Errorf("no %s in %s", want, body)
					}
				}
			})
		}
	}
}

// A command goes to whichever shell the agent offers.
func TestShellFindsTheTool(t *testing.T) {
	for _, test := range []struct{ name, path, body, want string }{
		{"claude", "/v1/messages", `{"tools":[{"name":"Read"},{"name":"Bash"}]}`, `"name":"Bash"`},
		{"opencode", "/v1/messages", `{"tools":[{"name":"bash"}]}`, `"name":"bash"`},
		{"a function", "/v1/chat/completions", `{"tools":[{"type":"function","function":{"name":"run_shell_command"}}]}`, `"name":"run_shell_command"`},
		{"codex", "/v1/responses", `{"tools":[{"name":"exec_command"}],"input":[]}`, `"name":"exec_command"`},
		{"codex, older", "/v1/responses", `{"tools":[{"name":"shell"}],"input":"text"}`, `[\"bash\",\"-lc\",\"make\"]`},
		{"codex, in JavaScript", "/v1/responses", `{"input":[{"type":"additional_tools","tools":[{"name":"functions","tools":[{"name":"exec"}]}]}]}`, `tools.exec_command({\"cmd\":\"make\"})`},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, body := post(t, modeltest.New(t, modeltest.Shell("make")), test.path, test.body)
			if !strings.Contains(body, test.want) {
				t.Errorf("no %s in %s", test.want, body)
			}
		})
	}
}

func TestFaults(t *testing.T) {
	for _, api := range apis {
		for _, request := range []string{`{"stream":true}`, `{"stream":false}`} {
			t.Run(api.name+" "+request, func(t *testing.T) {
				server := modeltest.New(t, modeltest.Say("words").Dropped(), modeltest.Say("words").Garbled())
				if _, body, err := try(t, server, api.path, request); err == nil {
					t.Errorf("a dropped answer ended well: %s", body)
				}
				_, body, err := try(t, server, api.path, request)
				if err != nil || sound(body) {
					t.Errorf("a garbled answer is sound (%v): %s", err, body)
				}
			})
		}
	}
}

// sound tells whether all JSON in an answer or its events is valid.
func sound(body string) bool {
	if !strings.Contains(body, "data: ") {
		return json.Valid([]byte(body))
	}
	for line := range strings.Lines(body) {
		if data, ok := strings.CutPrefix(strings.TrimSpace(line), "data:"); ok && !strings.Contains(data, "[DONE]") && !json.Valid([]byte(data)) {
			return false
		}
	}
	return true
}

func TestStallWaitsForRelease(t *testing.T) {
	server := modeltest.New(t, modeltest.Say("late words").Stalled())
	response, err := http.Post(server.URL+"/v1/messages", "application/json", strings.NewReader(`{"stream":true}`))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	begun := make([]byte, 20)
	if _, err := io.ReadFull(response.Body, begun); err != nil || !strings.HasPrefix(string(begun), "event: message_start") {
		t.Fatalf("the stream did not begin: %q, %v", begun, err)
	}
	server.Release()
	rest, err := io.ReadAll(response.Body)
	if err != nil || !strings.Contains(string(rest), "late words") {
		t.Errorf("after the release came %q, %v", rest, err)
	}
}

func TestRefusals(t *testing.T) {
	server := modeltest.New(t, modeltest.Refuse(429, modeltest.AnthropicError("rate_limit_error", "slow down"), "Retry-After", "7").Forever())
	for range 3 {
		response, body := post(t, server, "/v1/messages", `{}`)
		if response.StatusCode != 429 || response.Header.Get("Retry-After") != "7" || !strings.Contains(body, "slow down") {
			t.Errorf("%s %v %s", response.Status, response.Header, body)
		}
	}
	if server.Left() != 0 || len(server.Calls()) != 3 {
		t.Errorf("%d left, %d calls", server.Left(), len(server.Calls()))
	}
}

// The requests beside the model's take no turn.
func TestRecordsEverything(t *testing.T) {
	server := modeltest.New(t, modeltest.Say("x"))
	response, err := http.Head(server.URL + "/")
	if err != nil || response.StatusCode != 200 {
		t.Fatalf("HEAD: %v %v", response, err)
	}
	_, count := post(t, server, "/v1/messages/count_tokens", `{"a":1}`)
	if count != `{"input_tokens":7}` {
		t.Errorf("count_tokens: %s", count)
	}
	models, err := http.Get(server.OpenAI() + "/models?limit=1")
	if err != nil || models.StatusCode != 200 {
		t.Fatalf("models: %v %v", models, err)
	}
	post(t, server, "/v1/messages?beta=true", `{"model":"m"}`)
	if n := len(server.Requests()); n != 4 {
		t.Errorf("%d requests were recorded", n)
	}
	calls := server.Calls()
	if len(calls) != 1 || calls[0].Query != "beta=true" || string(calls[0].Body) != `{"model":"m"}` || calls[0].Header.Get("X-Test") != "yes" {
		t.Errorf("calls: %+v", calls)
	}
}

// failures notes what a test would have been failed for.
type failures struct {
	testing.TB
	messages []string
}

func (f *failures) Errorf(format string, args ...any) {
	f.messages = append(f.messages, fmt.Sprintf(format, args...))
}

func TestCallBeyondTheScriptFailsTheTest(t *testing.T) {
	noted := &failures{TB: t}
	server := modeltest.New(noted, modeltest.Say("x"))
	post(t, server, "/v1/responses", `{}`)
	response, body := post(t, server, "/v1/responses", `{}`)
	if response.StatusCode != 400 || !strings.Contains(body, "the script has ended") {
		t.Errorf("%s %s", response.Status, body)
	}
	if len(noted.messages) != 1 {
		t.Errorf("the test was failed %d times: %q", len(noted.messages), noted.messages)
	}
}

func TestRefusesWhatIsNoCall(t *testing.T) {
	server := modeltest.New(t, modeltest.Say("x"))
	response, _ := post(t, server, "/v1/messages", `{"model"`)
	if response.StatusCode != 400 || server.Left() != 1 {
		t.Errorf("%s, %d turns left", response.Status, server.Left())
	}
}

func post(t *testing.T, server *modeltest.Server, path, body string) (*http.Response, string) {
	t.Helper()
	response, text, err := try(t, server, path, body)
	if err != nil {
		t.Fatal(err)
	}
	return response, text
}

func try(t *testing.T, server *modeltest.Server, path, body string) (*http.Response, string, error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("X-Test", "yes")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, "", err
	}
	text, err := io.ReadAll(response.Body)
	return response, string(text), errors.Join(err, response.Body.Close())
}
