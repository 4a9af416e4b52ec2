package notify

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// server answers with one handler after the other, the last one again and again,
// and remembers what it was asked.
type server struct {
	*httptest.Server
	mu     sync.Mutex
	bodies []string
	keys   []string
	paths  []string
}

func serve(t *testing.T, answers ...http.HandlerFunc) *server {
	s := &server{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		answer := answers[min(len(s.bodies), len(answers)-1)]
		s.bodies = append(s.bodies, string(body))
		s.keys = append(s.keys, r.Header.Get("Idempotency-Key"))
		s.paths = append(s.paths, r.Method+" "+r.URL.RequestURI())
		s.mu.Unlock()
		answer(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *server) asked() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.bodies)
}

func status(code int, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(code)
	}
}

func hangUp(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

// patient is a webhook that notes its pauses and does not make them. Its own
// pauses are 1 s, 2 s, 3 s.
func patient(address string) (*webhook, *[]time.Duration) {
	w := Webhook(address, nil).(*webhook)
	var pauses []time.Duration
	w.retry.pause = func(try int) time.Duration { return time.Duration(try) * time.Second }
	w.retry.wait = func(ctx context.Context, pause time.Duration) error {
		pauses = append(pauses, pause)
		return ctx.Err()
	}
	return w, &pauses
}

func TestWebhookPostsTheMessage(t *testing.T) {
	var header http.Header
	s := serve(t, func(w http.ResponseWriter, r *http.Request) { header = r.Header; w.WriteHeader(http.StatusNoContent) })
	sent := message()
	sent.Reason = "the\x1b[2J agent\nis \u202eblocked"
	if err := Webhook(s.URL+"/hook?token=1", s.Client()).Send(t.Context(), sent); err != nil {
		t.Fatal(err)
	}
	if got := s.paths[0]; got != "POST /hook?token=1" {
		t.Errorf("asked %s", got)
	}
	if header.Get("Content-Type") != "application/json" || header.Get("User-Agent") != "ralph" {
		t.Errorf("header is %v", header)
	}
	var got payload
	if err := json.Unmarshal([]byte(s.bodies[0]), &got); err != nil {
		t.Fatal(err)
	}
	if got.Message != message() || got.Text != chatText(message()) || got.Content != got.Text {
		t.Errorf("body is %s", s.bodies[0])
	}
}

func TestWebhookTriesAgain(t *testing.T) {
	const s1, s2, s3 = time.Second, 2 * time.Second, 3 * time.Second
	tests := []struct {
		name    string
		answers []http.HandlerFunc
		pauses  []time.Duration
		err     string
	}{
		{"at once", []http.HandlerFunc{status(200)}, nil, ""},
		{"broken, then well", []http.HandlerFunc{status(503), status(500), status(200)}, []time.Duration{s1, s2}, ""},
		{"well at the last try", []http.HandlerFunc{status(502), status(502), status(502), status(201)}, []time.Duration{s1, s2, s3}, ""},
		{"never well", []http.HandlerFunc{status(503)}, []time.Duration{s1, s2, s3}, "after 4 tries: the server answered 503 Service Unavailable"},
		{"hangs up, then well", []http.HandlerFunc{hangUp, status(200)}, []time.Duration{s1}, ""},
		{"always hangs up", []http.HandlerFunc{hangUp}, []time.Duration{s1, s2, s3}, "after 4 tries: EOF"},
		{"request timeout", []http.HandlerFunc{status(408), status(200)}, []time.Duration{s1}, ""},
		{"too many", []http.HandlerFunc{status(429), status(200)}, []time.Duration{s1}, ""},
		{"asks for a pause", []http.HandlerFunc{status(429, "Retry-After", "9"), status(200)}, []time.Duration{9 * s1}, ""},
		{"asks for a pause when broken", []http.HandlerFunc{status(503, "Retry-After", "9"), status(200)}, []time.Duration{9 * s1}, ""},
		{"asks for a short pause", []http.HandlerFunc{status(429, "Retry-After", "0"), status(200)}, []time.Duration{s1}, ""},
		{"asks for a week", []http.HandlerFunc{status(429, "Retry-After", "604800"), status(200)}, []time.Duration{maxRetryAfter}, ""},
		{"asks nonsense", []http.HandlerFunc{status(429, "Retry-After", "soon"), status(200)}, []time.Duration{s1}, ""},
		{"gone", []http.HandlerFunc{status(410)}, nil, "the server answered 410 Gone"},
		{"forbidden", []http.HandlerFunc{status(403, "Retry-After", "1")}, nil, "the server answered 403 Forbidden"},
		{"broken, then gone", []http.HandlerFunc{status(500), status(404)}, []time.Duration{s1}, "the server answered 404 Not Found"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := serve(t, test.answers...)
			w, pauses := patient(s.URL)
			err := w.Send(t.Context(), message())
			if (err == nil) != (test.err == "") || err != nil && !strings.HasSuffix(err.Error(), ": "+test.err) {
				t.Errorf("got error %v, want %q", err, test.err)
			}
			if !slices.Equal(*pauses, test.pauses) || s.asked() != len(test.pauses)+1 {
				t.Errorf("asked %d times with pauses %v, want %v", s.asked(), *pauses, test.pauses)
			}
			if same := slices.Compact(slices.Clone(s.keys)); len(same) != 1 || same[0] == "" {
				t.Errorf("keys are %q, want the same at each try", s.keys)
			}
		})
	}
}

func TestWebhookKeyTellsMessagesApart(t *testing.T) {
	s := serve(t, status(200))
	other := message()
	other.Iteration++
	for _, m := range []Message{message(), other, message()} {
		if err := Webhook(s.URL, nil).Send(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	if s.keys[0] == s.keys[1] || s.keys[0] != s.keys[2] {
		t.Errorf("keys are %q", s.keys)
	}
}

func TestWebhookDoesNotWaitForASilentServer(t *testing.T) {
	s := serve(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, status(200))
	w, pauses := patient(s.URL)
	w.retry.tryTime = 50 * time.Millisecond
	if err := w.Send(t.Context(), message()); err != nil || len(*pauses) != 1 {
		t.Errorf("got %v after %d pauses, want success at the second try", err, len(*pauses))
	}
}

func TestWebhookStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := serve(t, func(_ http.ResponseWriter, r *http.Request) { cancel(); <-r.Context().Done() })
	err := Webhook(s.URL, nil).Send(ctx, message())
	if !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "another try") || s.asked() != 1 {
		t.Errorf("got %v after %d tries", err, s.asked())
	}
}

// A pause that ends after the context does is not begun.
func TestWebhookDoesNotPauseInVain(t *testing.T) {
	s := serve(t, status(429, "Retry-After", "15"))
	ctx, cancel := context.WithTimeout(t.Context(), 14*time.Second)
	defer cancel()
	err := Webhook(s.URL, nil).Send(ctx, message())
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "429") || s.asked() != 1 || ctx.Err() != nil {
		t.Errorf("got %v after %d tries, context %v", err, s.asked(), ctx.Err())
	}
}

// An answer of 256 MiB is a success once its head is there; of the rest, no more
// leaves the server than fits the buffers on the way.
func TestWebhookReadsLittleOfAnAnswer(t *testing.T) {
	const all = 256 << 20
	written := make(chan int, 1)
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		n := 0
		for chunk := make([]byte, 64<<10); n < all; n += len(chunk) {
			if _, err := w.Write(chunk); err != nil {
				break
			}
		}
		written <- n
	})
	if err := Webhook(s.URL, nil).Send(t.Context(), message()); err != nil {
		t.Error(err)
	}
	if n := <-written; n > all/4 {
		t.Errorf("%d bytes were read", n)
	}
}

func TestWebhookRedirections(t *testing.T) {
	elsewhere := serve(t, status(200))
	tests := []struct {
		name     string
		code     int
		location string
		paths    []string // at the first server
		ok       bool
	}{
		{"the same host, again as a post", 307, "/new", []string{"POST /old", "POST /new"}, true},
		{"the same host for good", 308, "/new", []string{"POST /old", "POST /new"}, true},
		{"the same host, as a GET", 302, "/new", []string{"POST /old"}, false},
		{"another host", 307, elsewhere.URL, []string{"POST /old"}, false},
		{"another host, as a GET", 301, elsewhere.URL, []string{"POST /old"}, false},
		{"a circle", 307, "/old", []string{"POST /old", "POST /old", "POST /old", "POST /old"}, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/old" {
					w.Header().Set("Location", test.location)
					w.WriteHeader(test.code)
				}
			})
			w, pauses := patient(s.URL + "/old")
			err := w.Send(t.Context(), message())
			if (err == nil) != test.ok || !slices.Equal(s.paths, test.paths) || len(*pauses) != 0 {
				t.Errorf("asked %q, error %v, pauses %v", s.paths, err, *pauses)
			}
			if test.ok && (s.bodies[1] != s.bodies[0] || s.keys[1] != s.keys[0]) {
				t.Errorf("the second post differs: %q", s.bodies[1])
			}
		})
	}
	if n := elsewhere.asked(); n != 0 {
		t.Errorf("another host was asked %d times", n)
	}
}

// The same host without TLS is not the same: the message would go in the clear.
func TestWebhookKeepsToTLS(t *testing.T) {
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", "http://"+r.Host+"/new")
		w.WriteHeader(http.StatusTemporaryRedirect)
	}))
	defer s.Close()
	err := Webhook(s.URL, s.Client()).Send(t.Context(), message())
	if err == nil || !strings.Contains(err.Error(), "the server answered 307") {
		t.Errorf("got %v, want the redirection as the answer", err)
	}
}
