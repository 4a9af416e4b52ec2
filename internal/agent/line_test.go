package agent

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/agent-loop/ralph/internal/plaintext"
)

// checkSafe fails if a terminal would obey anything in a line, or wrap it.
func checkSafe(t *testing.T, line string, width int) {
	t.Helper()
	columns := 0
	for _, r := range line {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r != ' ' && unicode.IsSpace(r) {
			t.Fatalf("%U in %q", r, line)
		}
		columns += plaintext.Columns(r)
	}
	if columns > width || !utf8.ValidString(line) {
		t.Fatalf("%q: %d columns of %d", line, columns, width)
	}
}

func TestLine(t *testing.T) {
	for _, test := range []struct {
		event Event
		width int
		want  string
	}{
		{Event{Kind: Text, Text: "one\ntwo\t three "}, 80, "one two three"},
		{Event{Kind: Text, Text: "\x1b[2J\x1b]0;owned\x07x"}, 80, "[2J ]0;owned x"},
		{Event{Kind: Text, Text: "a\u009b31mb\u202ec\u200bd\u2066e"}, 80, "a 31mbcde"},
		{Event{Kind: Text, Text: "abcdefgh"}, 5, "abcd…"},
		{Event{Kind: Text, Text: "漢字漢字"}, 6, "漢字…"},
		{Event{Kind: Text, Text: "e" + strings.Repeat("\u0301", 90)}, 80, "e" + strings.Repeat("\u0301", 4)},
		{Event{Kind: Text, Text: "abc"}, 0, ""},
		{Event{Kind: ToolCall, Tool: "Bash", Input: `{"command":"ls"}`}, 80, `-> Bash {"command":"ls"}`},
		{Event{Kind: ToolResult, Text: "no", Failed: true}, 80, "<- failed: no"},
		{Event{Kind: Raw, Raw: []byte("\xff\x1b"), Size: 3}, 80, "? 3 bytes: \uFFFD"},
		{Event{Kind: Retry, Code: "overloaded", Retry: &Attempt{Number: 1, Max: 2}}, 80, "trying again: overloaded 1 of 2 in 0 ms"},
		{Event{Kind: UsageEvent}, 80, "used"},
		{Event{Kind: Result, End: &End{Subtype: "error_max_turns", Terminal: "max_turns"}}, 80, "ended: error_max_turns max_turns"},
	} {
		got := test.event.Line(test.width)
		if got != test.want {
			t.Errorf("%+v: %q, want %q", test.event, got, test.want)
		}
		checkSafe(t, got, test.width)
	}
}
