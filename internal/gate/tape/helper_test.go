package tape_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/agent-loop/ralph/internal/gate/tape"
)

// recording is an upstream with a recorder before it.
type recording struct {
	*tape.Recorder
	url  string
	text *bytes.Buffer
}

func record(t *testing.T, handler http.HandlerFunc, mask func([]byte) []byte) *recording {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	transport := &http.Transport{DisableCompression: true}
	t.Cleanup(transport.CloseIdleConnections)
	text := &bytes.Buffer{}
	return &recording{tape.NewRecorder(text, transport, mask), server.URL, text}
}

// stop ends the recording and returns the tape.
func (r *recording) stop(t *testing.T) string {
	t.Helper()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	return r.text.String()
}

func load(t *testing.T, text string, options tape.Options) *tape.Player {
	t.Helper()
	player, err := tape.Load(strings.NewReader(text), int64(len(text)), options)
	if err != nil {
		t.Fatal(err)
	}
	return player
}

// answer is what a caller saw of an answer.
type answer struct {
	status int
	header http.Header
	body   string
	err    error // of reading the body
}

// post sends a body through a transport. The upstream is anywhere for a Player.
func post(t *testing.T, transport http.RoundTripper, url, body string) answer {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer header-secret")
	response, err := transport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(response.Body)
	if closing := response.Body.Close(); closing != nil {
		t.Error(closing)
	}
	return answer{response.StatusCode, response.Header, string(text), err}
}

// echo answers a call with its own body.
func echo(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.Copy(w, r.Body)
}
