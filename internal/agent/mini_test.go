package agent

import (
	"bytes"
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/agent-loop/ralph/internal/mini"
	"github.com/agent-loop/ralph/internal/modeltest"
	"github.com/agent-loop/ralph/internal/secret"
)

// runMini lets the real agent work through a script, and reads what it printed as
// the loop does.
func runMini(t *testing.T, ctx context.Context, server *modeltest.Server, change func(*mini.Options)) (Outcome, *Summary, []Event) {
	t.Helper()
	var out bytes.Buffer
	options := mini.Options{
		Access:  mini.Access{BaseURL: server.URL, Credential: secret.New("phantom")},
		Environ: os.Environ(), Dir: t.TempDir(), Backoff: time.Millisecond,
		In: strings.NewReader("do it"), Out: &out,
	}
	if change != nil {
		change(&options)
	}
	result, err := mini.Run(ctx, options)
	if err != nil {
		t.Fatal(err)
	}
	who, err := Find("mini")
	if err != nil {
		t.Fatal(err)
	}
	events := feed(who, out.Bytes())
	for _, e := range events {
		if e.Kind == Raw && e.Code != "shortened" {
			t.Errorf("mini prints what is not understood: %s", e.Raw)
		}
	}
	s := Summarize(events...)
	return who.Outcome(Exit{Code: result.ExitCode()}, Gate{}, s, Tags{}), s, events
}

// TestMiniAtWork: what mini prints about a script is what its parser makes of it.
func TestMiniAtWork(t *testing.T) {
	refuse := func(status int, kind string, headers ...string) modeltest.Turn {
		return modeltest.Refuse(status, modeltest.AnthropicError(kind, "because"), headers...).Forever()
	}
	shell := modeltest.Shell("echo ran")
	const complete = "It is done.\n" + DefaultComplete
	for _, test := range []struct {
		name    string
		script  []modeltest.Turn
		verdict Verdict
		reason  string // a part of it
		final   string
		tools   int
		retries int
		turns   int
	}{
		{"words", []modeltest.Turn{modeltest.Say(complete)}, OK, "", complete, 0, 0, 1},
		{"a tool, then words", []modeltest.Turn{shell, shell, modeltest.Say(complete)}, OK, "", complete, 2, 0, 3},
		{"a question", []modeltest.Turn{shell, modeltest.Say("<decide>red?</decide>")}, Undecided, "red?", "<decide>red?</decide>", 1, 0, 2},
		{"without a word", []modeltest.Turn{shell, modeltest.Say("")}, Empty, "without a word", "", 1, 0, 2},
		{"a marker in a file", []modeltest.Turn{modeltest.Shell("echo '" + DefaultComplete + "'"), modeltest.Say("see above")}, OK, "", "see above", 1, 0, 2},
		{"turns", []modeltest.Turn{shell.Forever()}, MaxTurns, "not done after 5 turns", "", 5, 0, 5},
		{"401", []modeltest.Turn{refuse(401, "authentication_error")}, Unauthorised, "401 because", "", 0, 0, 0},
		{"402", []modeltest.Turn{refuse(402, "billing_error")}, Unfunded, "402 because", "", 0, 0, 0},
		{"403", []modeltest.Turn{shell, refuse(403, "permission_error")}, Unauthorised, "403 because", "", 1, 0, 1},
		{"403 of the budget", []modeltest.Turn{shell, refuse(403, "permission_error", "X-Ralph-Code", "budget_spent")}, BudgetSpent, "403 because", "", 1, 0, 1},
		{"403 of a model", []modeltest.Turn{refuse(403, "permission_error", "X-Ralph-Code", "unknown_model")}, Failed, "403 because", "", 0, 0, 0},
		{"429", []modeltest.Turn{refuse(429, "rate_limit_error")}, RateLimited, "429 because", "", 0, 3, 0},
		{"529", []modeltest.Turn{refuse(529, "overloaded_error")}, Overloaded, "529 because", "", 0, 3, 0},
		{"500", []modeltest.Turn{refuse(500, "api_error")}, Overloaded, "500 because", "", 0, 3, 0},
		{"400", []modeltest.Turn{refuse(400, "invalid_request_error")}, Failed, "400 because", "", 0, 0, 0},
		{"413", []modeltest.Turn{refuse(413, "request_too_large")}, ContextFull, "413 because", "", 0, 0, 0},
		{"dropped once", []modeltest.Turn{shell.Dropped(), shell, modeltest.Say(complete)}, OK, "", complete, 1, 1, 2},
		{"dropped for good", []modeltest.Turn{shell.Dropped().Forever()}, Failed, "EOF", "", 0, 3, 0},
		{"garbled once", []modeltest.Turn{modeltest.Say("x").Garbled(), modeltest.Say(complete)}, OK, "", complete, 0, 1, 1},
		{"garbled for good", []modeltest.Turn{modeltest.Say("x").Garbled().Forever()}, Failed, "", "", 0, 3, 0},
		{"a limit that it got over", []modeltest.Turn{modeltest.Refuse(429, ""), modeltest.Say(complete)}, OK, "", complete, 0, 1, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			server := modeltest.New(t, test.script...)
			got, s, _ := runMini(t, t.Context(), server, func(o *mini.Options) { o.MaxTurns = 5 })
			if got.Verdict != test.verdict || !strings.Contains(got.Reason, test.reason) || s.Final() != test.final {
				t.Errorf("%+v, final words %q; want %s, %q, %q", got, s.Final(), test.verdict, test.reason, test.final)
			}
			if s.ToolCalls != test.tools || s.Retries != test.retries || s.End == nil || s.End.Turns != test.turns || s.Model != mini.DefaultModel {
				t.Errorf("%d tool calls, %d retries, end %+v, model %q", s.ToolCalls, s.Retries, s.End, s.Model)
			}
			if (got.Marker.Kind == CompleteMarker) != (test.final == complete) {
				t.Errorf("the marker is %+v", got.Marker)
			}
			if n := int64(test.turns); s.Cost().Usage != (Usage{Input: 10 * n, Output: 5 * n}) {
				t.Errorf("%d turns used %+v", n, s.Cost().Usage)
			}
		})
	}
}

// TestMiniEvents: every field of what mini prints arrives.
func TestMiniEvents(t *testing.T) {
	server := modeltest.New(t,
		modeltest.Refuse(429, modeltest.AnthropicError("rate_limit_error", "slow"), "Retry-After", "0"),
		modeltest.Shell("echo out; exit 3").Uses(modeltest.Usage{Input: 1, CacheRead: 2, CacheWrite: 3, Output: 4}),
		modeltest.Refuse(529, modeltest.AnthropicError("overloaded_error", "busy"), "X-Should-Retry", "false"))
	_, s, events := runMini(t, t.Context(), server, nil)
	if s.Status != 529 || s.End.Status != 529 || s.End.Fault != "529 busy" || s.End.Subtype != "overloaded" || !s.End.IsError {
		t.Errorf("%+v", s.End)
	}
	usage := &Usage{Input: 1, CacheRead: 2, CacheWrite: 3, Output: 4}
	want := []Event{
		{Kind: Init, Model: mini.DefaultModel},
		{Kind: Retry, Code: "rate-limited", Status: 429, Text: "429 slow", Retry: &Attempt{Number: 1, Max: 3}},
		{Kind: UsageEvent, Usage: usage},
		{Kind: ToolCall, Tool: "bash", ToolID: "toolu_02", Input: "echo out; exit 3"},
		{Kind: ToolResult, ToolID: "toolu_02", Text: "out\n\n[exit code 3]", Failed: true},
		{Kind: ErrorEvent, Code: "overloaded", Status: 529, Text: "529 busy"},
		{Kind: Result, Status: 529, Usage: usage, End: s.End},
	}
	for i := range events {
		if events[i].Size = 0; events[i].Retry != nil {
			events[i].Retry.DelayMS = 0 // by chance
		}
	}
	if got, wanted := lines(t, events), lines(t, want); !slices.Equal(got, wanted) {
		t.Errorf("events\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(wanted, "\n"))
	}
}

// lines are events in a form that can be compared.
func lines(t *testing.T, events []Event) (all []string) {
	t.Helper()
	for _, e := range events {
		line, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, string(line))
	}
	return all
}

// TestMiniKnowsWhenALimitEnds: a wish that is too long to wait for reaches the
// loop as a time.
func TestMiniKnowsWhenALimitEnds(t *testing.T) {
	before := time.Now()
	server := modeltest.New(t, modeltest.Refuse(429, "", "Retry-After", "7200"))
	got, s, _ := runMini(t, t.Context(), server, nil)
	early, late := before.Add(2*time.Hour), time.Now().Add(2*time.Hour)
	if got.Verdict != RateLimited || got.Until.Before(early) || got.Until.After(late) || s.Retries != 0 {
		t.Errorf("%+v, want a time between %s and %s", got, early, late)
	}
}

// TestMiniIsInterrupted in the middle of an answer.
func TestMiniIsInterrupted(t *testing.T) {
	server := modeltest.New(t, modeltest.Say("slow").Stalled())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		server.Await(1)
		cancel()
	}()
	if got, s, _ := runMini(t, ctx, server, nil); got.Verdict != Killed || s.Final() != "" || s.End == nil {
		t.Errorf("%+v, %+v", got, s)
	}
}

// TestMiniWaitsForASlowAnswer: one that comes late is as good as any.
func TestMiniWaitsForASlowAnswer(t *testing.T) {
	server := modeltest.New(t, modeltest.Say("slow").Stalled())
	go func() {
		server.Await(1)
		server.Release()
	}()
	if got, s, _ := runMini(t, t.Context(), server, nil); got.Verdict != OK || s.Final() != "slow" || s.Retries != 0 {
		t.Errorf("%+v, %+v", got, s)
	}
}

// TestMiniLongWords: a marker at the end of words of any length is found.
func TestMiniLongWords(t *testing.T) {
	for _, size := range []int{20 << 10, 3 << 20} {
		server := modeltest.New(t, modeltest.Say(strings.Repeat("many words ", size/11)+DefaultComplete))
		if got, s, _ := runMini(t, t.Context(), server, nil); got.Marker.Kind != CompleteMarker || !strings.HasSuffix(s.Final(), DefaultComplete) {
			t.Errorf("%d bytes: %+v, %d bytes are kept", size, got, len(s.Final()))
		}
	}
}

// TestMiniReasons: each has its verdict, and no other agent's words for one count.
func TestMiniReasons(t *testing.T) {
	for reason, want := range map[mini.Reason]Verdict{
		mini.Done:           OK,
		mini.MaxTurns:       MaxTurns,
		mini.ContextFull:    ContextFull,
		mini.BudgetSpent:    BudgetSpent,
		mini.Unauthorised:   Unauthorised,
		mini.Unfunded:       Unfunded,
		mini.Refused:        Refused,
		mini.RateLimited:    RateLimited,
		mini.Overloaded:     Overloaded,
		mini.ProviderError:  Failed,
		mini.InvalidRequest: Failed,
		mini.Network:        Failed,
		mini.Misconfigured:  Failed,
		mini.Interrupted:    Killed,
		"something new":     Failed,
		"rate_limit":        Failed,
	} {
		result := mini.Result{Type: "result", OK: reason == mini.Done, Reason: reason, Message: "why"}
		line, err := json.Marshal(result)
		if err != nil {
			t.Fatal(err)
		}
		who, _ := Find("mini")
		stream := `{"type":"text","text":"words"}` + "\n" + string(line)
		got := who.Outcome(Exit{Code: result.ExitCode()}, Gate{}, summary(who, stream), Tags{})
		if got.Verdict != want || want != OK && got.Reason != "why" {
			t.Errorf("%s: %+v, want %s", reason, got, want)
		}
	}
}

// TestMiniSaysOneThingAndDoesAnother: no single word makes a success, and an end
// that is missing is not a good one.
func TestMiniSaysOneThingAndDoesAnother(t *testing.T) {
	const text, done = `{"type":"text","text":"hi"}` + "\n", `{"type":"result","ok":true,"reason":"done"}`
	for _, test := range []struct {
		name   string
		exit   Exit
		stream string
		want   Verdict
	}{
		{"all is well", Exit{}, text + done, OK},
		{"exit code", Exit{Code: 1}, text + done, Failed},
		{"not ok", Exit{}, text + `{"type":"result","ok":false,"reason":"done"}`, Failed},
		{"no reason", Exit{}, text + `{"type":"result","ok":true}`, Failed},
		{"ok for another reason", Exit{}, text + `{"type":"result","ok":true,"reason":"refused"}`, Refused},
		{"no result", Exit{}, text, Failed},
		{"nothing", Exit{}, "", Empty},
		{"nothing said", Exit{}, done, Empty},
		{"killed before the result", Exit{Code: 137}, text, Killed},
		{"an error and no result", Exit{Code: 1}, text + `{"type":"error","reason":"budget-spent","status":403,"message":"spent"}`, BudgetSpent},
		{"the events of the parser", Exit{}, `{"kind":"text","text":"hi"}` + "\n" + `{"kind":"result","end":{"success":true}}`, Failed},
	} {
		t.Run(test.name, func(t *testing.T) {
			who, _ := Find("mini")
			if got := who.Outcome(test.exit, Gate{}, summary(who, test.stream), Tags{}); got.Verdict != test.want {
				t.Errorf("%+v, want %s", got, test.want)
			}
		})
	}
}

func TestMiniUsageIsBounded(t *testing.T) {
	who, _ := Find("mini")
	const stream = `{"type":"usage","input_tokens":-5,"output_tokens":9223372036854775807}`
	if got := summary(who, stream+"\n"+stream).Cost().Usage; got != (Usage{Output: maxTokens}) {
		t.Errorf("%+v", got)
	}
}

func TestMiniInvocation(t *testing.T) {
	task := sample()
	command := invocation(t, "mini", task)
	if want := []string{"/opt/agent", "mini", "--model", "claude-sonnet-5", "--max-turns", "7"}; !slices.Equal(command.Argv, want) || command.Stdin != "do it" {
		t.Errorf("%q, %q", command.Argv, command.Stdin)
	}
	if !slices.Contains(command.Env, "ANTHROPIC_BASE_URL=http://gate/x") || !slices.Contains(command.Env, "ANTHROPIC_API_KEY=phantom") {
		t.Errorf("%q", command.Env)
	}
	task.MaxTurns = 0
	if argv := invocation(t, "mini", task).Argv; !follows(argv, []string{"--max-turns", "1000000"}) {
		t.Errorf("no limit was asked for: %q", argv)
	}
}

// TestMiniNeedsASandbox: the mode for where there is none is refused.
func TestMiniNeedsASandbox(t *testing.T) {
	task := sample()
	task.PermissionMode = AcceptEdits
	who, _ := Find("mini")
	if command, err := who.Invocation(task); err == nil || !strings.Contains(err.Error(), "sandbox") {
		t.Errorf("%q, %v", command.Argv, err)
	}
}
