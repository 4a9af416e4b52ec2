package tape_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/agent-loop/ralph/internal/gate/tape"
)

// A tape tells nothing that is not for everybody's eyes: no value of a request
// header, no cookie, and no secret however the network cut it up.
func TestTapeHoldsNoSecrets(t *testing.T) {
	const secret = "sk-very-secret-value"
	mask := func(raw []byte) []byte { return bytes.ReplaceAll(raw, []byte(secret), []byte("[redacted]")) }
	recorder := record(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Set-Cookie", "session=cookie-value")
		w.Header().Set("X-Anything", "anything-value")
		w.Header().Set("Request-Id", "req-"+secret)
		w.Header().Set("Content-Type", "text/event-stream")
		for _, letter := range "data: " + secret + "\n\n" {
			_, _ = io.WriteString(w, string(letter))
			_ = http.NewResponseController(w).Flush()
		}
	}, mask)
	got := post(t, recorder, recorder.url+"/v1/messages?key="+secret, `{"prompt":"`+secret+`"}`)
	if !strings.Contains(got.body, secret) {
		t.Errorf("the caller was given %q", got.body)
	}
	text := recorder.stop(t)
	for _, leaked := range []string{secret, "header-secret", "cookie-value", "anything-value"} {
		if strings.Contains(text, leaked) {
			t.Errorf("%s is on the tape: %s", leaked, text)
		}
	}
	if strings.Count(text, "[redacted]") != 4 {
		t.Errorf("not everything is there: %s", text)
	}
	// With the same mask the same call finds its answer.
	player := load(t, text, tape.Options{Mask: mask})
	if replayed := post(t, player, "http://model.test/v1/messages?key="+secret, `{"prompt":"`+secret+`"}`); replayed.status != 200 {
		t.Error(replayed.body)
	}
}

func TestTapeKeepsTheHeadersThatMatter(t *testing.T) {
	headers := map[string]string{
		"Content-Type": "application/json", "Retry-After": "30", "Request-Id": "req_1", "X-Should-Retry": "false",
		"Anthropic-Ratelimit-Unified-Reset": "1794718745", "X-Ratelimit-Remaining-Tokens": "12",
	}
	recorder := record(t, func(w http.ResponseWriter, _ *http.Request) {
		for name, value := range headers {
			w.Header().Set(name, value)
		}
		w.WriteHeader(http.StatusTooManyRequests)
	}, nil)
	post(t, recorder, recorder.url, `{}`)
	replayed := post(t, load(t, recorder.stop(t), tape.Options{}), "http://model.test/", `{}`)
	for name, value := range headers {
		if replayed.header.Get(name) != value {
			t.Errorf("%s: %q", name, replayed.header.Get(name))
		}
	}
}

func TestCallerWhoLeavesIsOnTheTape(t *testing.T) {
	hold := make(chan struct{})
	defer close(hold)
	slow := func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, "begun")
		_ = http.NewResponseController(w).Flush()
		select {
		case <-hold:
		case <-r.Context().Done():
		}
	}
	for name, leave := range map[string]func(context.CancelFunc, io.ReadCloser){
		"by closing the body": func(_ context.CancelFunc, body io.ReadCloser) { _ = body.Close() },
		"by cancelling":       func(cancel context.CancelFunc, body io.ReadCloser) { cancel(); _, _ = io.ReadAll(body) },
	} {
		t.Run(name, func(t *testing.T) {
			recorder := record(t, slow, nil)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			request, err := http.NewRequestWithContext(ctx, http.MethodPost, recorder.url, strings.NewReader("{}"))
			if err != nil {
				t.Fatal(err)
			}
			response, err := recorder.RoundTrip(request)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(response.Body, make([]byte, 5)); err != nil {
				t.Fatal(err)
			}
			leave(cancel, response.Body)
			if text := recorder.stop(t); !strings.Contains(text, `"end":"client"`) || !strings.Contains(text, `"bytes":5`) {
				t.Errorf("the tape says %s", text)
			}
		})
	}
}

// The kind of the credential is on the tape, for whoever plays it.
func TestTapeNamesTheKindOfCredential(t *testing.T) {
	for _, kind := range []string{"", "setup-token"} {
		recorder := record(t, echo, nil)
		recorder.Credential = kind
		post(t, recorder, recorder.url, `{}`)
		if got := load(t, recorder.stop(t), tape.Options{}).Credential(); got != kind {
			t.Errorf("got %q, want %q", got, kind)
		}
	}
}

// What cannot be kept is said to be missing, and never played.
func TestWhatCannotBeKept(t *testing.T) {
	zip := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		writer := gzip.NewWriter(w)
		_, _ = io.WriteString(writer, "data")
		_ = writer.Close()
	}
	twice := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Add("Content-Encoding", "identity")
		w.Header().Add("Content-Encoding", "gzip")
		_, _ = io.WriteString(w, "whatever it is")
	}
	for name, test := range map[string]struct {
		handler http.HandlerFunc
		request string
		want    string
	}{
		"two encodings":       {twice, "{}", "compressed"},
		"a large request":     {func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }, strings.Repeat("x", 101), "too large"},
		"a large answer":      {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 101)) }, "{}", "too large"},
		"a compressed answer": {zip, "{}", "compressed"},
	} {
		t.Run(name, func(t *testing.T) {
			recorder := record(t, test.handler, nil)
			recorder.LimitBodies(100)
			post(t, recorder, recorder.url, test.request)
			text := recorder.stop(t)
			if !strings.Contains(text, `"omitted":"`+test.want) {
				t.Errorf("the tape says %s", text)
			}
			player := load(t, text, tape.Options{})
			if replayed := post(t, player, "http://model.test/", test.request); replayed.status != 400 || player.Done() {
				t.Errorf("replayed as %d", replayed.status)
			}
			if found := player.Mismatches(); len(found) != 1 || !strings.Contains(found[0].Reason, test.want) {
				t.Errorf("the mismatches are %v", found)
			}
		})
	}
}

// brokenDisk takes so many bytes and no more, and remembers how it was cut.
type brokenDisk struct {
	bytes.Buffer
	room int
}

func (d *brokenDisk) Write(p []byte) (int, error) {
	n := min(len(p), d.room-d.Len())
	_, _ = d.Buffer.Write(p[:n])
	if n < len(p) {
		return n, errors.New("no space left on device")
	}
	return n, nil
}

func (d *brokenDisk) Truncate(size int64) error {
	d.Buffer.Truncate(int(size))
	return nil
}

// A full disk loses the recording, not the call, and leaves whole lines.
func TestFullDisk(t *testing.T) {
	recorder := record(t, echo, nil)
	post(t, recorder, recorder.url, `{"call":1}`)
	line := len(recorder.stop(t))

	disk := &brokenDisk{room: line + line/2}
	broken := tape.NewRecorder(disk, http.DefaultTransport, nil)
	for i := range 3 {
		if got := post(t, broken, recorder.url, `{"call":1}`); got.status != 200 || got.body != `{"call":1}` {
			t.Errorf("call %d: %+v", i, got)
		}
	}
	if err := broken.Close(); err == nil || !strings.Contains(err.Error(), "no space left") || broken.Err() == nil {
		t.Errorf("closing: %v", err)
	}
	if !strings.HasSuffix(disk.String(), "\n") || strings.Count(disk.String(), "\n") != 1 {
		t.Errorf("half a line was left: %q", disk)
	}
}

func TestCreateMakesAPrivateFileOfItsOwn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tape.jsonl")
	recorder, err := tape.Create(path, http.DefaultTransport, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := recorder.Close(); err != nil {
		t.Error(err)
	}
	info, err := os.Stat(path)
	if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("the file has mode %v, %v", info.Mode(), err)
	}
	if _, err := tape.Create(path, http.DefaultTransport, nil); !errors.Is(err, os.ErrExist) {
		t.Errorf("a second recording into the file: %v", err)
	}
}

// The transport may send a request twice, when a kept connection turns out to
// be dead; the tape holds it once.
func TestRequestThatIsSentAgain(t *testing.T) {
	recorder := tape.NewRecorder(io.Discard, twice{}, nil)
	if got := post(t, recorder, "http://model.test/", `{"a":1}`); got.body != `{"a":1}` {
		t.Errorf("answered %q", got.body)
	}
	text := &bytes.Buffer{}
	recorder = tape.NewRecorder(text, twice{}, nil)
	post(t, recorder, "http://model.test/", `{"a":1}`)
	if err := recorder.Close(); err != nil || !strings.Contains(text.String(), `"request":{"json":{"a":1}}`) {
		t.Errorf("%v; the tape says %s", err, text)
	}
}

// twice reads half of a request's body, and then starts over with a fresh one.
type twice struct{}

func (twice) RoundTrip(request *http.Request) (*http.Response, error) {
	if _, err := io.ReadFull(request.Body, make([]byte, 3)); err != nil {
		return nil, err
	}
	fresh, err := request.GetBody()
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(fresh)
	return &http.Response{StatusCode: 200, Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body))}, err
}

// An upgraded connection stays one in both directions.
func TestUpgradePassesThrough(t *testing.T) {
	recorder := record(t, func(w http.ResponseWriter, _ *http.Request) {
		connection, buffered, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer connection.Close()
		_, _ = buffered.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
		_ = buffered.Flush()
		_, _ = io.CopyN(connection, buffered, 4)
	}, nil)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, recorder.url, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Connection", "Upgrade")
	request.Header.Set("Upgrade", "echo")
	response, err := recorder.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	both, ok := response.Body.(io.ReadWriter)
	if !ok {
		t.Fatal("the connection cannot be written to")
	}
	echoed := make([]byte, 4)
	_, err = io.WriteString(both, "ping")
	if _, reading := io.ReadFull(both, echoed); err != nil || reading != nil || string(echoed) != "ping" {
		t.Errorf("%q, %v, %v", echoed, err, reading)
	}
	if text := recorder.stop(t); !strings.Contains(text, "another protocol followed") {
		t.Errorf("the tape says %s", text)
	}
}
