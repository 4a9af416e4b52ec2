package tape_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/agent-loop/ralph/internal/gate/tape"
)

// taped is a tape of calls with these bodies, each answered with itself.
func taped(t *testing.T, path string, bodies ...string) string {
	t.Helper()
	recorder := record(t, echo, nil)
	for _, body := range bodies {
		post(t, recorder, recorder.url+path, body)
	}
	return recorder.stop(t)
}

func TestWhatMatches(t *testing.T) {
	for _, test := range []struct {
		name, path, recorded, now string
		at                        string // of the difference, "" if there is none
	}{
		{"the same", "/v1/messages", `{"model":"m","n":1}`, `{"model":"m","n":1}`, ""},
		{"another order and white space", "/v1/messages", `{"model":"m","n":[1,{"a":1,"b":2}]}`, "{ \"n\": [1, {\"b\":2,\"a\":1}],\n\"model\":\"m\" }", ""},
		{"escapes", "/v1/messages", `{"model":"m","s":"\u00e9"}`, `{"model":"m","s":"é"}`, ""},
		{"another text", "/v1/messages", `{"messages":[{"content":"hello"}]}`, `{"messages":[{"content":"hallo"}]}`, "/messages/0/content"},
		{"another order of an array", "/v1/messages", `[1,2]`, `[2,1]`, "/0"},
		{"a longer array", "/v1/messages", `{"a":[1]}`, `{"a":[1,2]}`, "/a"},
		{"one more name", "/v1/messages", `{"a":1}`, `{"a":1,"b~/":2}`, "/b~0~1"},
		{"one name less", "/v1/messages", `{"a":1,"b":2}`, `{"a":1}`, "/b"},
		{"another spelling of a number", "/v1/messages", `{"a":1}`, `{"a":1.0}`, "/a"},
		{"a number that a float cannot tell apart", "/v1/messages", `{"a":9007199254740993}`, `{"a":9007199254740992}`, "/a"},
		{"a number for a string", "/v1/messages", `{"a":1}`, `{"a":"1"}`, "/a"},
		{"null for nothing", "/v1/messages", `{"a":null}`, `{}`, "/a"},
		{"an array for an object", "/v1/messages", `{"a":{}}`, `{"a":[]}`, "/a"},
		{"an object for a string", "/v1/messages", `{"a":"x"}`, `{"a":{}}`, "/a"},
		{"what is not JSON", "/v1/files", `plain`, `plain`, ""},
		{"what is not JSON and differs", "/v1/files", `plain`, `other`, "the whole body"},

		{"Anthropic's metadata", "/v1/messages", `{"metadata":{"user_id":"1"}}`, `{"metadata":{"user_id":"2"}}`, ""},
		{"metadata that is missing", "/v1/messages", `{"metadata":{"user_id":"1"}}`, `{}`, ""},
		{"the billing header", "/v1/messages", `{"system":[{"text":"x-anthropic-billing-header: cch=1"},{"text":"a"}]}`, `{"system":[{"text":"x-anthropic-billing-header: cch=2"},{"text":"a"}]}`, ""},
		{"a system prompt", "/v1/messages", `{"system":[{"text":"be good"}]}`, `{"system":[{"text":"be bad"}]}`, "/system/0/text"},
		{"OpenAI's cache key", "/v1/responses", `{"prompt_cache_key":"1","client_metadata":{"x":1}}`, `{"prompt_cache_key":"2"}`, ""},
		{"the day", "/v1/messages", `{"messages":["Today is 2026-11-15."]}`, `{"messages":["Today is 2026-11-16."]}`, ""},
		{"what was masked under another name", "/v1/messages", `{"messages":["KEY=[redacted:0123abcd]"]}`, `{"messages":["KEY=[redacted:4567cdef]"]}`, ""},
		{"a session", "/v1/responses", `{"input":[{"id":"fco_01a1dd9a-cbb9-7070-8749-09327972cbf4"}]}`, `{"input":[{"id":"fco_11a1dd9a-cbb9-7070-8749-09327972cbf4"}]}`, ""},
		{"codex's clock", "/v1/responses", `{"input":[{"output":"Chunk ID: 1d60a4\nWall time: 0.0100 seconds\nhi"}]}`, `{"input":[{"output":"Chunk ID: 2d60a4\nWall time: 0.0200 seconds\nhi"}]}`, ""},
		{"a command's output", "/v1/responses", `{"input":[{"output":"Chunk ID: 1d60a4\nhi"}]}`, `{"input":[{"output":"Chunk ID: 1d60a4\nho"}]}`, "/input/0/output"},
	} {
		t.Run(test.name, func(t *testing.T) {
			player := load(t, taped(t, test.path, test.recorded), tape.Options{})
			got := post(t, player, "http://model.test"+test.path, test.now)
			found := player.Mismatches()
			if test.at == "" {
				if got.status != 200 || got.body != test.recorded || len(found) != 0 || !player.Done() {
					t.Errorf("%d %s, %v", got.status, got.body, found)
				}
				return
			}
			if got.status != 400 || got.header.Get("X-Ralph-Replay") != "mismatch" || player.Done() {
				t.Errorf("%d %v %s", got.status, got.header, got.body)
			}
			if len(found) != 1 || found[0].At != test.at || found[0].Seq != 1 {
				t.Errorf("the mismatches are %+v", found)
			}
		})
	}
}

// A mismatch tells the agent in its own API's words, and clips what is long
// around the place where it differs.
func TestMismatchIsToldInTheShapeOfTheAPI(t *testing.T) {
	long := strings.Repeat("é", 5000)
	for path, want := range map[string]string{
		"/v1/messages":  `{"error":{"message":"replay: POST /v1/messages (m): exchange 1 differs at /s: recorded …`,
		"/v1/responses": `{"error":{"code":"replay_mismatch","message":"replay: POST /v1/responses (m): exchange 1 differs at /s: recorded …`,
	} {
		player := load(t, taped(t, path, `{"model":"m","s":"`+long+`1"}`), tape.Options{})
		got := post(t, player, "http://model.test"+path, `{"model":"m","s":"`+long+`2"}`)
		if !strings.HasPrefix(got.body, want) || len(got.body) > 1000 {
			t.Errorf("%s: %s", path, got.body)
		}
		if strings.Contains(got.body, `"type":"error"`) != (path == "/v1/messages") {
			t.Errorf("%s: the shape is another: %s", path, got.body)
		}
		found := player.Mismatches()[0]
		if !strings.HasSuffix(found.Want, `1"`) || !strings.HasSuffix(found.Got, `2"`) {
			t.Errorf("the difference is not seen: %q and %q", found.Want, found.Got)
		}
	}
}

func TestEachExchangeIsPlayedOnceAndInOrder(t *testing.T) {
	text := taped(t, "/v1/messages", `{"model":"a","n":1}`, `{"model":"a","n":2}`, `{"model":"b","n":3}`)
	player := load(t, text, tape.Options{})
	steps := []struct {
		body   string
		status int
	}{
		{`{"model":"a","n":2}`, 400}, // not its turn
		{`{"model":"b","n":3}`, 200}, // another model has a turn of its own
		{`{"model":"a","n":1}`, 200},
		{`{"model":"a","n":1}`, 400}, // played already
		{`{"model":"a","n":2}`, 200},
		{`{"model":"a","n":2}`, 400}, // the tape has ended
		{`{"model":"c"}`, 400},
	}
	for i, step := range steps {
		if got := post(t, player, "http://model.test/v1/messages", step.body); got.status != step.status {
			t.Errorf("step %d: %d %s", i, got.status, got.body)
		}
	}
	if found := player.Mismatches(); !player.Done() || len(found) != 4 || found[2].Seq != 0 || !strings.Contains(found[2].Error(), "no further call") {
		t.Errorf("done: %t, mismatches: %v", player.Done(), found)
	}
}

// What ran in parallel may come in any order; what came after it may not come
// before.
func TestParallelExchanges(t *testing.T) {
	arrived, proceed := make(chan struct{}), make(chan struct{})
	recorder := record(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if strings.Contains(string(body), "parallel") {
			arrived <- struct{}{}
			<-proceed
		}
		_, _ = w.Write(body)
	}, nil)
	finished := make(chan struct{})
	for i := range 2 {
		go func() {
			post(t, recorder, recorder.url, fmt.Sprintf(`{"parallel":%d}`, i))
			finished <- struct{}{}
		}()
		<-arrived
	}
	close(proceed)
	<-finished
	<-finished
	post(t, recorder, recorder.url, `{"after":2}`)
	text := recorder.stop(t)

	for _, order := range [][]string{{`{"parallel":0}`, `{"parallel":1}`, `{"after":2}`}, {`{"parallel":1}`, `{"parallel":0}`, `{"after":2}`}} {
		player := load(t, text, tape.Options{})
		for _, body := range order {
			if got := post(t, player, "http://model.test/", body); got.body != body {
				t.Errorf("in the order %v: %s", order, got.body)
			}
		}
	}
	player := load(t, text, tape.Options{})
	if got := post(t, player, "http://model.test/", `{"after":2}`); got.status != 400 {
		t.Errorf("what came last was played first: %s", got.body)
	}
}

func TestVolatilePlacesOfTheUser(t *testing.T) {
	const recorded = `{"a":{"x":1,"y":"took 10 ms"},"b":[{"x":1},{"x":2}]}`
	const now = `{"a":{"x":9,"y":"took 99 ms"},"b":[{"x":8},{"x":7}]}`
	player := load(t, taped(t, "/", recorded), tape.Options{Volatile: []tape.Volatile{{At: "/*/*/x"}, {At: "/a/x"}, {At: "/a/y", Text: `took \d+ ms`}}})
	if got := post(t, player, "http://model.test/", now); got.status != 200 {
		t.Error(got.body)
	}
	for name, wrong := range map[string]tape.Volatile{"no pointer": {At: "a"}, "no expression": {At: "/a", Text: "("}} {
		if _, err := tape.Load(strings.NewReader(""), 0, tape.Options{Volatile: []tape.Volatile{wrong}}); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}

func TestQueryMustMatch(t *testing.T) {
	player := load(t, taped(t, "/v1/messages?beta=true", `{}`), tape.Options{})
	if got := post(t, player, "http://model.test/v1/messages", `{}`); got.status != 400 || player.Mismatches()[0].At != "query" {
		t.Errorf("%d %v", got.status, player.Mismatches())
	}
}
