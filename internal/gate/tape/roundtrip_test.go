package tape_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/agent-loop/ralph/internal/gate/tape"
)

const stream = "event: message_start\ndata: {\"type\":\"message_start\", \"n\": 1.50}\n\n" +
	": a comment\r\n\r\n" +
	"event: delta\ndata: {\"text\":\"größer <&> \\u00e9 \\u2028\"}\n\n" +
	"data: [DONE]\n\n"

// Whatever a model answers comes out of the tape byte for byte.
func TestReplayIsByteIdentical(t *testing.T) {
	for name, test := range map[string]struct {
		status     int
		kind, body string
	}{
		"a stream":                 {200, "text/event-stream; charset=utf-8", stream},
		"a stream that ends oddly": {200, "text/event-stream", "data: x\n\ndata: never ended"},
		"a binary stream":          {200, "text/event-stream", "data: \xff\xfe\n\n"},
		"an empty stream":          {200, "text/event-stream", ""},
		"compact JSON":             {200, "application/json", `{"b":1,"a":[1.0,1e2,"\u00e9 <&>"],"":{}}`},
		"indented JSON":            {200, "application/json", "{\n  \"a\": 1\n}\n"},
		"JSON with a name twice":   {200, "application/json", `{"a":1,"a":2}`},
		"null":                     {200, "application/json", `null`},
		"text":                     {200, "text/plain", "plain\n\x00\u2028"},
		"bytes":                    {200, "application/octet-stream", "\x00\xff\xfe"},
		"nothing":                  {204, "", ""},
		"an error":                 {529, "application/json", `{"type":"error"}`},
	} {
		t.Run(name, func(t *testing.T) {
			recorder := record(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", test.kind)
				w.WriteHeader(test.status)
				for _, part := range strings.SplitAfter(test.body, "e") { // across events
					_, _ = io.WriteString(w, part)
					_ = http.NewResponseController(w).Flush()
				}
			}, nil)
			url := recorder.url + "/v1/messages?beta=true"
			recorded := post(t, recorder, url, `{"model":"m"}`)
			player := load(t, recorder.stop(t), tape.Options{})
			replayed := post(t, player, url, `{"model":"m"}`)
			if recorded.body != test.body || replayed.body != test.body || replayed.err != nil {
				t.Errorf("recorded %q\nreplayed %q %v", recorded.body, replayed.body, replayed.err)
			}
			if replayed.status != test.status || replayed.header.Get("Content-Type") != test.kind {
				t.Errorf("replayed as %d %v", replayed.status, replayed.header)
			}
			if replayed.header.Get("X-Ralph-Replay") != "hit" || !player.Done() {
				t.Errorf("done: %t, header %v", player.Done(), replayed.header)
			}
		})
	}
}

// A replayed stream is handed out event by event.
func TestReplayKeepsEventsApart(t *testing.T) {
	recorder := record(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, stream)
	}, nil)
	post(t, recorder, recorder.url, `{}`)
	player := load(t, recorder.stop(t), tape.Options{})
	response, err := player.RoundTrip(httptest.NewRequest(http.MethodPost, "/", strings.NewReader(`{}`)))
	if err != nil {
		t.Fatal(err)
	}
	var reads []string
	buffer := make([]byte, 1<<10)
	for {
		n, err := response.Body.Read(buffer)
		if n > 0 {
			reads = append(reads, string(buffer[:n]))
		}
		if err != nil {
			break
		}
	}
	if len(reads) != 4 || reads[3] != "data: [DONE]\n\n" || strings.Join(reads, "") != stream {
		t.Errorf("the reads were %q", reads)
	}
}

// The recorder holds nothing back: the first event arrives while the upstream
// still waits for a sign to send the second.
func TestRecordingDoesNotBuffer(t *testing.T) {
	proceed := make(chan struct{})
	recorder := record(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: 1\n\n")
		_ = http.NewResponseController(w).Flush()
		<-proceed
		_, _ = io.WriteString(w, "data: 2\n\n")
	}, nil)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, recorder.url, strings.NewReader(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	response, err := recorder.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	first := make([]byte, 9)
	if _, err := io.ReadFull(response.Body, first); err != nil || string(first) != "data: 1\n\n" {
		t.Fatalf("first came %q, %v", first, err)
	}
	close(proceed)
	if rest, err := io.ReadAll(response.Body); err != nil || string(rest) != "data: 2\n\n" {
		t.Errorf("then came %q, %v", rest, err)
	}
}

// An answer that broke off breaks off again, after as much of it.
func TestReplayOfBrokenAnswers(t *testing.T) {
	cut := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: 1\n\ndata: 2")
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
	recorder := record(t, cut, nil)
	if recorded := post(t, recorder, recorder.url, `{}`); recorded.err == nil {
		t.Fatal("the answer did not break off")
	}
	text := recorder.stop(t)
	if !strings.Contains(text, `"end":"upstream"`) || !strings.Contains(text, `"bytes":16`) {
		t.Errorf("the tape says %s", text)
	}
	replayed := post(t, load(t, text, tape.Options{}), "http://model.test/", `{}`)
	if replayed.body != "data: 1\n\ndata: 2" || replayed.err == nil {
		t.Errorf("replayed %q, %v", replayed.body, replayed.err)
	}
}

// An upstream that could not be reached cannot be reached again.
func TestReplayOfAFailedCall(t *testing.T) {
	recorder := record(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, nil)
	request := httptest.NewRequest(http.MethodPost, recorder.url, strings.NewReader(`{}`))
	request.RequestURI = ""
	if _, err := recorder.RoundTrip(request); err == nil {
		t.Fatal("the call did not fail")
	}
	player := load(t, recorder.stop(t), tape.Options{})
	if response, err := player.RoundTrip(httptest.NewRequest(http.MethodPost, "/", strings.NewReader(`{}`))); err == nil {
		t.Errorf("the replay answered %s", response.Status)
	}
	if !player.Done() {
		t.Error("the failed call is still on the tape")
	}
}
