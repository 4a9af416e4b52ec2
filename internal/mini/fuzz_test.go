package mini

import (
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// FuzzClean: whatever is printed becomes text that can harm no log and no
// terminal, once and for all.
func FuzzClean(f *testing.F) {
	for _, seed := range []string{"", "plain\ttext\r\n", "\x1b]0;title\a", "a\xffb\xc3", "\u202eright\u2066", "\r\r\n", "\u0085\u009b31m", strings.Repeat("é", 40)} {
		f.Add(seed, 7)
	}
	f.Fuzz(func(t *testing.T, text string, size int) {
		got := clean(text)
		if !utf8.ValidString(got) || strings.ContainsFunc(got, hidden) || len(got) > 3*len(text) {
			t.Fatalf("%q became %q", text, got)
		}
		if clean(got) != got {
			t.Fatalf("%q changes again", got)
		}
		size = 8 + max(size, 0)%1000
		if cut := limit(got, size); len(cut) > size || !utf8.ValidString(cut) {
			t.Fatalf("%q at %d is %q", got, size, cut)
		}
		if short := shorten(got, size); len(short) > size+100 || !utf8.ValidString(short) {
			t.Fatalf("%q at %d is %q", got, size, short)
		}
	})
}

// FuzzCapture: in whichever pieces output comes, what is kept is bounded, and
// short output is kept whole.
func FuzzCapture(f *testing.F) {
	f.Add("some output", 3, 1)
	f.Add("x", 1, keepHead+keepTail+1)
	f.Add("0123456789", 7, 5*keepTail/10)
	f.Fuzz(func(t *testing.T, text string, piece, times int) {
		piece, times = 1+max(piece, 0)%(2*keepTail), 1+max(times, 0)%20_000
		all := strings.Repeat(text, min(times, 1+(1<<18)/(len(text)+1)))
		var c capture
		for rest := all; rest != ""; {
			n := min(piece, len(rest))
			_, _ = c.Write([]byte(rest[:n]))
			rest = rest[n:]
		}
		got, total := c.text()
		if total != int64(len(all)) || len(got) > 3*(keepHead+keepTail)+100 || len(c.tail) > 4*keepTail+keepTail {
			t.Fatalf("%d bytes became %d, and %d are held", total, len(got), len(c.tail))
		}
		if len(all) <= keepHead+keepTail && got != clean(all) {
			t.Fatalf("short output was changed")
		}
		if len(all) > keepHead+keepTail && (!strings.Contains(got, "bytes cut") || !strings.HasPrefix(got, clean(all[:keepHead])) || !strings.HasSuffix(got, clean(all[len(all)-keepTail:]))) {
			t.Fatalf("head or tail is lost")
		}
	})
}

// FuzzParseCommand: no input of a tool makes a command that is empty or a time
// that is out of bounds.
func FuzzParseCommand(f *testing.F) {
	for _, seed := range []string{`{"command":"ls"}`, `{"command":"ls","timeout_seconds":9223372036854775807}`, `{"command":"ls","timeout_seconds":-1}`, `{"command":"a","command":"b"}`, `{"Command":"x"}`, `[]`, `null`, ``, "{\"command\":\"\xff\"}"} {
		f.Add([]byte(seed))
	}
	s := shell{timeout: time.Hour}
	f.Fuzz(func(t *testing.T, input []byte) {
		c, err := parseCommand(input)
		if err == nil && (strings.TrimSpace(c.Command) == "" || !utf8.ValidString(c.Command)) {
			t.Fatalf("%q became %q", input, c.Command)
		}
		if d := s.limit(c); d <= 0 || d > s.timeout {
			t.Fatalf("%q may take %v", input, d)
		}
	})
}

// FuzzClassifyAnswer: every refusal has a reason, a message that fits, and a 403
// is never tried again.
func FuzzClassifyAnswer(f *testing.F) {
	f.Add(403, "budget_spent", "", "true", `{"error":{"message":"spent"}}`)
	f.Add(429, "", "120", "", `{}`)
	f.Add(529, "", "Wed, 21 Oct 2065 07:28:00 GMT", "false", "\xff")
	f.Add(200, "", "-1", "", "")
	f.Fuzz(func(t *testing.T, status int, code, after, should, body string) {
		header := http.Header{"X-Ralph-Code": {code}, "Retry-After": {after}, "X-Should-Retry": {should}}
		got := classifyAnswer(status, "", header, body)
		if got.reason == "" || len(got.message) > maxShown || !utf8.ValidString(got.message) || got.wait < 0 {
			t.Fatalf("%+v", got)
		}
		if status == http.StatusForbidden && got.retry {
			t.Fatal("a 403 is tried again")
		}
	})
}
