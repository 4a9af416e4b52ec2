package tape_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-loop/ralph/internal/gate/tape"
)

const good = `{"tape":1,"seq":1,"method":"POST","path":"/v1/messages","request":{"json":{"model":"m"}},"status":200,"header":{"Content-Type":["text/event-stream"]},"response":{"events":["data: 1\n\n"]},"end":"complete","bytes":9,"duration_ms":1}`

// A tape may come from anybody: what no recorder wrote is refused, with the line.
func TestRefusedTapes(t *testing.T) {
	with := func(old, new string) string {
		if !strings.Contains(good, old) {
			t.Fatalf("%s is not in the good line", old)
		}
		return strings.Replace(good, old, new, 1)
	}
	second := with(`"seq":1`, `"seq":2`)
	for name, test := range map[string]struct{ text, want string }{
		"not JSON":                  {"hello\n", "line 1: not an exchange"},
		"an empty line":             {good + "\n\n" + second + "\n", "line 2: not an exchange"},
		"a later version":           {with(`"tape":1`, `"tape":2,"new":true`) + "\n", "line 1: version 2 of the format"},
		"no version":                {`{"seq":1}` + "\n", "line 1: version 0 of the format"},
		"cut off":                   {good + "\n" + second[:40], "line 2: it has no end"},
		"no line end":               {good, "line 1: it has no end"},
		"an unknown field":          {with(`"seq"`, `"sequel"`) + "\n", "sequel"},
		"a field twice":             {with(`"seq":1`, `"seq":1,"seq":1`) + "\n", "duplicate"},
		"an exchange twice":         {good + "\n" + good + "\n", "line 2: a second exchange 1"},
		"a seq of nothing":          {with(`"seq":1`, `"seq":0`) + "\n", "seq 0"},
		"a huge seq":                {with(`"seq":1`, `"seq":99999999`) + "\n", "out of range"},
		"beside what came later":    {with(`"seq":1`, `"seq":1,"beside":[1]`) + "\n", "began before"},
		"a path that is none":       {with(`/v1/messages`, `v1`) + "\n", "not a path"},
		"a path without end":        {with(`/v1/messages`, "/"+strings.Repeat("x", 1<<20)) + "\n", "not a path"},
		"a name that draws":         {with(`"seq"`, `"\u001b]0;x\u0007"`) + "\n", `\x1b]0;x`},
		"a credential of no kind":   {with(`"seq":1`, `"seq":1,"credential":"a\nb"`) + "\n", "not a kind of credential"},
		"a method that is none":     {with(`POST`, `POST /`) + "\n", "not a method"},
		"a status that is none":     {with(`200`, `2`) + "\n", "not a status"},
		"no status":                 {with(`"status":200,`, ``) + "\n", "not a status"},
		"an end that is none":       {with(`complete`, `maybe`) + "\n", "not an end"},
		"a header that is not kept": {with(`Content-Type`, `Set-Cookie`) + "\n", "not a header that is kept"},
		"a header that splits":      {with(`text/event-stream`, `a\r\nSet-Cookie: b`) + "\n", "control character"},
		"a body in two forms":       {with(`{"json":`, `{"text":"x","json":`) + "\n", "two forms"},
		"a negative count":          {with(`"bytes":9`, `"bytes":-9`) + "\n", "negative"},
		"bad UTF-8":                 {with(`data: 1`, "\xff") + "\n", "UTF-8"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := tape.Load(strings.NewReader(test.text), int64(len(test.text)), tape.Options{})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("the error is %v", err)
			}
		})
	}
	if _, err := tape.Load(strings.NewReader(good+"\n"), int64(len(good)+1), tape.Options{}); err != nil {
		t.Errorf("the good line is refused: %v", err)
	}
}

func TestOpen(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "tape.jsonl")
	if err := os.WriteFile(path, []byte(good+"\nbad\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := tape.Open(path, tape.Options{}); err == nil || !strings.Contains(err.Error(), path+": line 2") {
		t.Errorf("the error is %v", err)
	}
	for _, wrong := range []string{folder, filepath.Join(folder, "missing")} {
		if _, err := tape.Open(wrong, tape.Options{}); err == nil {
			t.Errorf("%s was opened", wrong)
		}
	}
	if err := os.WriteFile(path, []byte(good+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	player, err := tape.Open(path, tape.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := post(t, player, "http://model.test/v1/messages", `{"model":"m"}`); got.body != "data: 1\n\n" {
		t.Errorf("answered %+v", got)
	}
	if err := player.Close(); err != nil {
		t.Error(err)
	}
}

// A tape that is changed while it is played is not believed.
func TestTapeThatChanges(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tape.jsonl")
	if err := os.WriteFile(path, []byte(good+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	player, err := tape.Open(path, tape.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer player.Close()
	for _, changed := range []string{strings.Repeat("x", len(good)), strings.Replace(good, `"seq":1`, `"seq":2`, 1), ""} {
		if err := os.WriteFile(path, []byte(changed), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := post(t, player, "http://model.test/v1/messages", `{"model":"m"}`); got.status != 400 {
			t.Errorf("answered %+v from %.30q", got, changed)
		}
	}
}

// endless is a tape of one line, which is these bytes again and again.
type endless string

func (e endless) ReadAt(p []byte, _ int64) (int, error) { return copy(p, e), nil }

func TestEndlessTapes(t *testing.T) {
	line := endless(strings.Repeat("{", 1<<20))
	for size, want := range map[int64]string{1 << 30: "line 1: it has more than", 1 << 40: "it has 1099511627776 bytes"} {
		if _, err := tape.Load(line, size, tape.Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("a tape of %d bytes: %v", size, err)
		}
	}
}

// Whatever loads can be played: with an answer, an error or a mismatch.
func FuzzLoad(f *testing.F) {
	f.Add([]byte(good + "\n"))
	f.Add([]byte(good + "\n" + strings.Replace(good, `"seq":1`, `"seq":2,"beside":[1]`, 1) + "\n"))
	f.Add([]byte(`{"tape":1,"seq":1,"method":"GET","path":"/","request":{},"response":{},"end":"upstream","error":"refused","bytes":0,"duration_ms":0}` + "\n"))
	f.Add([]byte(`{"tape":1,"seq":7,"method":"HEAD","path":"/%2f","query":"a=b","request":{"base64":"/w=="},"status":204,"response":{"omitted":"too large"},"end":"client","bytes":0,"duration_ms":0}` + "\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		player, err := tape.Load(strings.NewReader(string(text)), int64(len(text)), tape.Options{})
		if err != nil {
			return
		}
		for _, body := range []string{`{"model":"m"}`, "", "{}"} {
			request := httptest.NewRequest(http.MethodPost, "/v1/messages", strings.NewReader(body))
			response, err := player.RoundTrip(request)
			if err != nil {
				continue
			}
			if _, err := io.Copy(io.Discard, response.Body); err == nil && response.StatusCode == 0 {
				t.Error("an answer without a status")
			}
		}
	})
}

// Any call and any answer survive the tape.
func FuzzRoundTrip(f *testing.F) {
	f.Add([]byte(`{"model":"m"}`), []byte("data: 1\n\ndata: 2\n\n"), "text/event-stream")
	f.Add([]byte(`{"a":1,"a":2}`), []byte(`{"b":[1.0,"\ud800"]}`), "application/json")
	f.Add([]byte("\xff"), []byte("null"), "application/json")
	f.Add([]byte(`{"metadata":{"metadata":[{}]},"system":[{"text":"x-anthropic-billing-header:"}]}`), []byte("\r\n\r\r\n"), "text/event-stream")
	f.Fuzz(func(t *testing.T, call, answer []byte, kind string) {
		var text strings.Builder
		recorder := tape.NewRecorder(&text, fixed{answer, kind}, nil)
		if got := post(t, recorder, "http://model.test/x", string(call)); got.body != string(answer) {
			t.Fatalf("recording changed %q to %q", answer, got.body)
		}
		if err := recorder.Close(); err != nil {
			t.Fatal(err)
		}
		player := load(t, text.String(), tape.Options{})
		if got := post(t, player, "http://model.test/x", string(call)); got.body != string(answer) || !player.Done() {
			t.Errorf("replayed %q as %+v\n%s", answer, got, text.String())
		}
	})
}

// fixed answers everything alike.
type fixed struct {
	body []byte
	kind string
}

func (f fixed) RoundTrip(request *http.Request) (*http.Response, error) {
	_, err := io.Copy(io.Discard, request.Body)
	return &http.Response{
		StatusCode: 200, Header: http.Header{"Content-Type": {f.kind}},
		Body: io.NopCloser(strings.NewReader(string(f.body))), ContentLength: -1,
	}, err
}
