package modeltest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// maxRequest bounds what is read of one request.
const maxRequest = 64 << 20

// A Server answers model calls by its script. It ends with its test.
type Server struct {
	// URL is the address without a path: the base of the Anthropic and the
	// Google API.
	URL string

	t        testing.TB
	released chan struct{}
	release  sync.Once

	taken chan struct{} // one for each call, as far as there is room

	mu       sync.Mutex
	script   []Turn
	calls    int
	requests []Request
}

// A Request is one that the server received.
type Request struct {
	Method, Path, Query string
	Header              http.Header
	Body                []byte
	call                bool
}

// New starts a server that answers with these turns.
func New(t testing.TB, script ...Turn) *Server {
	s := &Server{t: t, script: script, released: make(chan struct{}), taken: make(chan struct{}, 1<<10)}
	server := httptest.NewServer(s.routes())
	s.URL = server.URL
	t.Cleanup(func() {
		s.Release()
		server.CloseClientConnections()
		server.Close()
	})
	return s
}

// OpenAI is the base of the OpenAI API.
func (s *Server) OpenAI() string { return s.URL + "/v1" }

// Release lets every stalled turn go on, now and later.
func (s *Server) Release() { s.release.Do(func() { close(s.released) }) }

// Requests returns everything that was received, in order of arrival.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Calls returns the requests that took a turn of the script.
func (s *Server) Calls() []Request {
	return slices.DeleteFunc(s.Requests(), func(r Request) bool { return !r.call })
}

// Await waits until count calls have come since it was last used, or fails the
// test.
func (s *Server) Await(count int) {
	s.t.Helper()
	patience := time.After(time.Minute)
	for came := range count {
		select {
		case <-s.taken:
		case <-patience:
			s.t.Fatalf("%d calls of the model came, not %d", came, count)
		}
	}
}

// Left returns how many turns nobody has asked for; one that repeats counts
// until it was asked for once.
func (s *Server) Left() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return max(len(s.script)-s.calls, 0)
}

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("HEAD /{$}", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /v1/models", models)
	mux.HandleFunc("POST /v1/messages/count_tokens", countTokens)
	mux.HandleFunc("POST /v1/messages", s.model(anthropic))
	mux.HandleFunc("GET /v1/responses", noWebSocket)
	mux.HandleFunc("POST /v1/responses", s.model(responses))
	mux.HandleFunc("POST /v1/chat/completions", s.model(chat))
	mux.HandleFunc("GET /v1beta/models", googleModels)
	mux.HandleFunc("POST /v1beta/models/{call}", s.google)
	return s.recorded(mux)
}

// recorded notes every request before it is answered.
func (s *Server) recorded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		s.mu.Lock()
		s.requests = append(s.requests, Request{Method: r.Method, Path: r.URL.Path, Query: r.URL.RawQuery, Header: r.Header.Clone(), Body: body})
		index := len(s.requests) - 1
		s.mu.Unlock()
		next.ServeHTTP(w, r.WithContext(withIndex(r.Context(), index)))
	})
}

// dialect is how one API spells an answer: as a stream of events, and whole.
type dialect struct {
	stream func(call, Turn) []event
	whole  func(call, Turn) object
	fail   func(kind, message string) string
	path   func(*call, *http.Request) // reads what is in the path; may be nil
}

// call is what an answer depends on.
type call struct {
	number int
	Model  string `json:"model"`
	Stream bool   `json:"stream"`
	Tools  []tool `json:"tools"`
	Input  items  `json:"input"`
}

// model answers one kind of model call with the next turn.
func (s *Server) model(d dialect) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var c call
		if err := json.NewDecoder(r.Body).Decode(&c); err != nil {
			writeJSON(w, http.StatusBadRequest, d.fail("invalid_request_error", err.Error()))
			return
		}
		if d.path != nil {
			d.path(&c, r)
		}
		turn, ok := s.next(&c, index(r.Context()))
		switch {
		case !ok:
			s.t.Errorf("call %d of the model: the script has ended", c.number)
			writeJSON(w, http.StatusBadRequest, d.fail("invalid_request_error", "the script has ended"))
		case turn.refusal != nil:
			turn.refusal.write(w)
		case c.Stream:
			s.send(w, r, turn.fault, d.stream(c, turn))
		default:
			s.answer(w, r, turn.fault, marshal(d.whole(c, turn)))
		}
	}
}

// next takes the turn for a call and notes that the request took it.
func (s *Server) next(c *call, request int) (Turn, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests[request].call = true
	select {
	case s.taken <- struct{}{}:
	default:
	}
	s.calls++
	c.number = s.calls
	last := len(s.script) - 1
	switch {
	case s.calls <= len(s.script):
		return s.script[s.calls-1], true
	case last >= 0 && s.script[last].forever:
		return s.script[last], true
	}
	return Turn{}, false
}

func (r *refusal) write(w http.ResponseWriter) {
	for name, values := range r.header {
		w.Header()[name] = values
	}
	w.WriteHeader(r.status)
	_, _ = io.WriteString(w, r.body)
}

func writeJSON(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}

// noWebSocket sends codex to POST. It asks for a WebSocket first, and 426 is the
// one refusal after which it does not try five times more.
func noWebSocket(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusUpgradeRequired, OpenAIError("invalid_request_error", "", "no WebSocket here"))
}

// models lists what both APIs would: the two agree on the path.
func models(w http.ResponseWriter, r *http.Request) {
	list := object{"object": "list", "data": []object{{"id": "test-model", "object": "model", "type": "model", "created": 1, "owned_by": "test", "display_name": "Test", "created_at": "2026-01-01T00:00:00Z"}}, "has_more": false}
	if r.Header.Get("Anthropic-Version") == "" {
		// codex reads a list of its own beside the public one.
		list["models"] = []object{}
	}
	writeJSON(w, http.StatusOK, marshal(list))
}

// countTokens gives a figure that a test can foretell: the bytes of the request.
func countTokens(w http.ResponseWriter, r *http.Request) {
	n, _ := io.Copy(io.Discard, r.Body)
	writeJSON(w, http.StatusOK, fmt.Sprintf(`{"input_tokens":%d}`, n))
}
