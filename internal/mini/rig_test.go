package mini_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/agent-loop/ralph/internal/mini"
	"github.com/agent-loop/ralph/internal/modeltest"
	"github.com/agent-loop/ralph/internal/secret"
)

// event is any event, by the fields that the tests look at.
type event struct {
	Type        string `json:"type"`
	Text        string `json:"text"`
	ID          string `json:"id"`
	Command     string `json:"command"`
	OK          bool   `json:"ok"`
	ExitCode    int    `json:"exit_code"`
	TimedOut    bool   `json:"timed_out"`
	OutputBytes int64  `json:"output_bytes"`
	Output      string `json:"output"`
	Reason      string `json:"reason"`
	Message     string `json:"message"`
	Turns       int    `json:"turns"`
	WaitMS      int64  `json:"wait_ms"`
	Results     int    `json:"results"`
}

// run is a run of the agent that has ended.
type run struct {
	mini.Result
	events []event
	took   time.Duration
}

// of returns the events of one type.
func (r run) of(kind string) (found []event) {
	for _, e := range r.events {
		if e.Type == kind {
			found = append(found, e)
		}
	}
	return found
}

func (r run) types() string {
	var types []string
	for _, e := range r.events {
		types = append(types, e.Type)
	}
	return strings.Join(types, " ")
}

func optionsFor(t *testing.T, server *modeltest.Server) mini.Options {
	return mini.Options{
		Access:  mini.Access{BaseURL: server.URL, Credential: secret.New("phantom")},
		Environ: os.Environ(), Dir: t.TempDir(), Backoff: time.Millisecond,
		In: strings.NewReader("do it"),
	}
}

// do runs the agent, and checks what holds for every run: whole lines of JSON in
// UTF-8, the last and only the last of them the result.
func do(t *testing.T, ctx context.Context, options mini.Options) run {
	t.Helper()
	var out bytes.Buffer
	options.Out = &out
	started := time.Now()
	result, err := mini.Run(ctx, options)
	if err != nil {
		t.Fatal(err)
	}
	r := run{Result: result, took: time.Since(started)}
	if !utf8.Valid(out.Bytes()) {
		t.Errorf("the events are not UTF-8: %.300q", out.Bytes())
	}
	for line := range bytes.Lines(out.Bytes()) {
		var e event
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatalf("%v in %.300q", err, line)
		}
		r.events = append(r.events, e)
	}
	last := r.events[len(r.events)-1]
	if len(r.of("result")) != 1 || last.Type != "result" || last.Reason != string(r.Reason) {
		t.Errorf("the events are %s, the last %+v", r.types(), last)
	}
	return r
}

// want checks how a run ended.
func (r run) want(t *testing.T, reason mini.Reason, exit int) {
	t.Helper()
	if r.Reason != reason || r.ExitCode() != exit || r.OK != (reason == mini.Done) {
		t.Fatalf("ended as %s (%s), exit %d, want %s and %d; events: %s", r.Reason, r.Message, r.ExitCode(), reason, exit, r.types())
	}
}
