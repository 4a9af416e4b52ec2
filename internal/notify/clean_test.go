package notify

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestReasonIsOneHarmlessLine(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"plain text", "tests fail", "tests fail"},
		{"other scripts", "тест 测试 é 🙂", "тест 测试 é 🙂"},
		{"line breaks", "a\nb\r\nc\rd\u2028e\u0085f", "a b c d e f"},
		{"room", "  a \t\t b\u00a0\u3000c  ", "a b c"},
		{"colours", "\x1b[1;31mred\x1b[0m", "red"},
		{"clear the screen", "a\x1b[2J\x1b[Hb", "ab"},
		{"window title", "a\x1b]0;evil\x07b\x1b]0;evil\x1b\\c", "abc"},
		{"hyperlink", "\x1b]8;;http://evil\x1b\\click\x1b]8;;\x1b\\", "click"},
		{"title without end", "a\x1b]0;evil\nb", "a b"},
		{"device control", "a\x1bP$q\x1b\\b\x1b_x\x1b\\c", "abc"},
		{"eight-bit escapes", "a\u009b31mb\u009d0;evil\u009cc", "abc"},
		{"escape in an escape", "a\x1b\x1b[0m[31mb", "a[31mb"},
		{"escape at the end", "a\x1b", "a"},
		{"unfinished escape", "a\x1b[12", "a"},
		{"controls", "a\x00\x07\x08b\x7fc", "abc"},
		{"bidi", "\u202eabc\u202c\u2066\u200fd", "abcd"},
		{"zero width", "a\u200b\u200d\u2060\ufeff\u00adb", "ab"},
		{"tags", "a\U000E0068\U000E0069b", "ab"},
		{"variation selectors", "a\ufe0f\U000E0100b", "ab"},
		{"fillers", "a\u3164\u115f\u034f\u17b4b", "ab"},
		{"no characters", "a\uffff\U0010fffeb", "ab"},
		{"format characters that show", "\u0601", "\u0601"},
		{"broken UTF-8", "a\xff\xfeb\xc0", "a\ufffdb\ufffd"},
		{"surrogates in UTF-8", "a\xed\xa0\x80b", "a\ufffdb"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := (Message{Reason: test.in}).clean().Reason; got != test.want {
				t.Errorf("%q became %q, want %q", test.in, got, test.want)
			}
		})
	}
}

func TestQuestionKeepsItsLines(t *testing.T) {
	in := "\n\n  Which?\x1b[2J \r\n\n\n \n\t1. this\n2. that\u202e\n\n"
	if got, want := (Message{Question: in}).clean().Question, "  Which?\n\n 1. this\n2. that"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestTextsHaveLimits(t *testing.T) {
	long := strings.Repeat("é", 1<<20)
	m := Message{Run: long, Status: long, Reason: long, Project: long, Agent: long, CostUSD: long, Question: long, Next: long}.clean()
	for name, text := range map[string]struct {
		got  string
		want int
	}{
		"run": {m.Run, 200}, "status": {m.Status, 200}, "project": {m.Project, 200}, "agent": {m.Agent, 200},
		"cost": {m.CostUSD, 200}, "next": {m.Next, 500}, "reason": {m.Reason, 500}, "question": {m.Question, 4000},
	} {
		if n := utf8.RuneCountInString(text.got); n != text.want || !strings.HasSuffix(text.got, "é…") {
			t.Errorf("%s has %d characters and ends %q, want %d and a mark of the cut", name, n, text.got[len(text.got)-8:], text.want)
		}
	}
	if m := (Message{Reason: long[:2*500]}).clean(); m.Reason != long[:2*500] {
		t.Error("a text of just the limit is cut")
	}
}

func FuzzClean(f *testing.F) {
	for _, seed := range []string{
		"", "plain", "a\nb", "\x1b[31mred\x1b[0m", "\x1b]0;t\x07", "\u009b31m", "\x1b\x1b[0m[31m", "\u202eabc", "a\u200db",
		"\xff\xfe\x00", "\ufffd\ufffd", " \n \n \n ", strings.Repeat("x ", 3000), strings.Repeat("\n", 5000), "\U000E0041", "é\u0301",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		m := Message{Run: text, Reason: text, Question: text}.clean()
		if again := m.clean(); again != m {
			t.Errorf("cleaning twice changes %+v to %+v", m, again)
		}
		checkClean(t, m.Run, 200, "")
		checkClean(t, m.Reason, 500, "")
		checkClean(t, m.Question, 4000, "\n")
	})
}

func checkClean(t *testing.T, text string, limit int, breaks string) {
	t.Helper()
	if !utf8.ValidString(text) {
		t.Errorf("%q is not UTF-8", text)
	}
	if n := utf8.RuneCountInString(text); n > limit {
		t.Errorf("%d characters, more than %d", n, limit)
	}
	if strings.Contains(text, "\n\n\n") {
		t.Errorf("%q has more than one empty line in a row", text)
	}
	for _, r := range text {
		if unicode.IsControl(r) && !strings.ContainsRune(breaks, r) || unicode.Is(unicode.Bidi_Control, r) ||
			unicode.Is(unicode.Join_Control, r) || unicode.Is(unicode.Variation_Selector, r) {
			t.Errorf("%q holds %U", text, r)
		}
	}
}
