package plaintext

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// checkSafe fails if a terminal would obey anything in a line, or wrap it.
func checkSafe(t *testing.T, line string, columns int) {
	t.Helper()
	for _, r := range line {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r != ' ' && unicode.IsSpace(r) {
			t.Fatalf("%U in %q", r, line)
		}
	}
	if Width(line) > max(columns, 0) || !utf8.ValidString(line) {
		t.Fatalf("%q: %d columns of %d", line, Width(line), columns)
	}
}

func TestLine(t *testing.T) {
	for _, test := range []struct {
		text    string
		columns int
		want    string
	}{
		{"one\ntwo\t three ", 80, "one two three"},
		{"\x1b[2J\x1b]0;owned\x07x", 80, "[2J ]0;owned x"},
		{"a\u009b31mb\u202ec\u200bd\u2066e", 80, "a 31mbcde"},
		{"abcde", 5, "abcde"},
		{"abcdefgh", 5, "abcd…"},
		{"abc defgh", 5, "abc…"},
		{"漢字", 4, "漢字"},
		{"漢字漢字", 6, "漢字…"},
		{"漢", 1, "…"},
		{"e" + strings.Repeat("\u0301", 90), 80, "e" + strings.Repeat("\u0301", 4)},
		{"©\ufe0f", 80, "©"},
		{"\u0301abc", 80, "abc"},
		{"a\xffb", 80, "a\uFFFDb"},
		{"abc", 0, ""},
		{"abc", -7, ""},
		{" \n\x00 ", 80, ""},
	} {
		got := Line(test.text, test.columns)
		if got != test.want {
			t.Errorf("Line(%q, %d) = %q, want %q", test.text, test.columns, got, test.want)
		}
		checkSafe(t, got, test.columns)
	}
}

// TestPlainTextIsWhatTheLongLookMakesOfIt: the short way must not show more.
func TestPlainTextIsWhatTheLongLookMakesOfIt(t *testing.T) {
	for _, text := range []string{"", " ", "a", "a b", "a  b", " a", "a ", "~", "a\tb", "\x7f", "é", "abcde", "abcdef", "\x1b[m"} {
		for columns := 1; columns < 9; columns++ {
			if want := cleaned(text, columns); Width(want) <= columns && Line(text, columns) != want {
				t.Errorf("%q in %d columns: %q, want %q", text, columns, Line(text, columns), want)
			}
		}
	}
}

func FuzzLine(f *testing.F) {
	f.Add("plain", 10)
	f.Add("\x1b[31mred\x1b[0m \u202eback\u2066\n漢字\xff\u0301\u0301\ufe0f", 7)
	f.Add(strings.Repeat("a\n", 500), 1)
	f.Fuzz(func(t *testing.T, text string, columns int) {
		columns %= 200
		checkSafe(t, Line(text, columns), columns)
	})
}
