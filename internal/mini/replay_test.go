//go:build unix

package mini_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/agent-loop/ralph/internal/gate/tape"
	"github.com/agent-loop/ralph/internal/mini"
	"github.com/agent-loop/ralph/internal/modeltest"
)

// elsewhere is what may differ between the place of a recording and that of a
// replay: the folder, the user, the machine's names and where its shell lies.
func elsewhere(t *testing.T) func(*mini.Options) {
	t.Helper()
	bin := t.TempDir()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash")
	}
	if err := os.Symlink(bash, filepath.Join(bin, "bash")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	return func(o *mini.Options) {
		o.Environ = append(os.Environ(), "USER=somebody", "HOME="+bin, "HOSTNAME=other", "TZ=Asia/Tokyo", "LANG=")
		o.Access.Kind = mini.OAuth
	}
}

// script is a run with everything that mini itself says to a model about a
// command: its exit code, its signal, and that it said much or nothing.
func script() []modeltest.Turn {
	return []modeltest.Turn{
		modeltest.Shell("echo one; exit 3"),
		modeltest.Shell("true"),
		modeltest.Shell("no-such-program"),
		modeltest.Shell("if"),
		modeltest.Shell("kill -SEGV $$"),
		modeltest.Shell("yes | head -c 100000"),
		modeltest.Say("done"),
	}
}

// sent runs a script and returns the bodies of its calls.
func sent(t *testing.T, change func(*mini.Options)) (bodies [][]byte) {
	t.Helper()
	server := modeltest.New(t, script()...)
	options := optionsFor(t, server)
	if change != nil {
		change(&options)
	}
	do(t, t.Context(), options).want(t, mini.Done, 0)
	for _, call := range server.Calls() {
		if bytes.Contains(call.Body, []byte(options.Dir)) {
			t.Errorf("the model is told of %s", options.Dir)
		}
		bodies = append(bodies, call.Body)
	}
	return bodies
}

// TestSameBodies: what the model is sent does not depend on the place, the time
// or chance.
func TestSameBodies(t *testing.T) {
	here := sent(t, nil)
	there := sent(t, elsewhere(t))
	if len(here) != len(script()) || len(there) != len(here) {
		t.Fatalf("%d calls and %d", len(here), len(there))
	}
	for i := range here {
		if !bytes.Equal(here[i], there[i]) {
			t.Errorf("call %d was\n%s\nand\n%s", i, here[i], there[i])
		}
	}
	if date := regexp.MustCompile(`20\d\d-\d\d-\d\d|\d\d:\d\d:\d\d`).Find(here[len(here)-1]); date != nil {
		t.Errorf("the model is told the time: %s", date)
	}
}

// TestWhatTheModelIsTold: the words for a command that went wrong name no place
// on this machine, and have no part that changes from process to process.
func TestWhatTheModelIsTold(t *testing.T) {
	tests := []struct {
		name, input, want string
		change            func(*mini.Options)
	}{
		{"wrong type", `{"command":["ls"]}`, `[not run: the input is not {"command": string, "timeout_seconds": integer}]`, nil},
		{"twice the same", `{"command":"a","command":"b"}`, `[not run: the input is not {"command": string, "timeout_seconds": integer}]`, nil},
		{"NUL", `{"command":"echo \u0000"}`, "[the command could not be run: fork/exec: invalid argument]", nil},
		{"no folder", `{"command":"ls"}`, "[the command could not be run: fork/exec: no such file or directory]", func(o *mini.Options) { o.Dir = filepath.Join(o.Dir, "gone") }},
		{"out of time", `{"command":"sleep 600","timeout_seconds":1}`, "\n[ended after 1s: the time is up]", nil},
		{"killed", `{"command":"kill -SEGV $$"}`, "\n[ended by a signal: segmentation fault]", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			url, _ := answers(t, sse("tool_use", toolUse("bash", tt.input)), sse("end_turn", `{"type":"text","text":"done"}`))
			options := optionsFor(t, modeltest.New(t))
			options.Access.BaseURL = url
			if tt.change != nil {
				tt.change(&options)
			}
			if got := do(t, t.Context(), options).of("tool_result")[0].Output; got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

// through is the way to an upstream by a transport, as the gate's.
func through(t *testing.T, upstream string, transport http.RoundTripper) string {
	t.Helper()
	target, err := url.Parse(upstream)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(&httputil.ReverseProxy{
		Transport: transport,
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(target); r.Out.Header.Del("Accept-Encoding") },
	})
	t.Cleanup(server.Close)
	return server.URL
}

// TestReplay: a run that was recorded here is played again elsewhere.
func TestReplay(t *testing.T) {
	model := modeltest.New(t, script()...)
	path := filepath.Join(t.TempDir(), "tape.jsonl")
	recorder, err := tape.Create(path, http.DefaultTransport, nil)
	if err != nil {
		t.Fatal(err)
	}
	options := optionsFor(t, model)
	options.Access.BaseURL = through(t, model.URL, recorder)
	do(t, t.Context(), options).want(t, mini.Done, 0)
	if err := recorder.Close(); err != nil {
		t.Fatal(err)
	}

	player, err := tape.Open(path, tape.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer player.Close()
	options.Dir, options.In = t.TempDir(), strings.NewReader("do it")
	options.Access.BaseURL = through(t, model.URL, player)
	elsewhere(t)(&options)
	do(t, t.Context(), options).want(t, mini.Done, 0)
	for _, mismatch := range player.Mismatches() {
		t.Error(mismatch)
	}
	if !player.Done() || len(model.Calls()) != len(script()) {
		t.Errorf("the tape is not at its end, or the model was called: %d", len(model.Calls()))
	}
}
