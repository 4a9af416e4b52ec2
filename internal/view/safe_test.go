package view

import (
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/agent-loop/ralph/internal/plaintext"
)

// checkSafe fails if a terminal would obey anything in a line, or wrap it.
func checkSafe(t *testing.T, line string, columns int) {
	t.Helper()
	for _, r := range line {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r != ' ' && unicode.IsSpace(r) {
			t.Fatalf("%U in %q", r, line)
		}
	}
	if plaintext.Width(line) > max(columns, 0) || !utf8.ValidString(line) {
		t.Fatalf("%q: %d columns of %d", line, plaintext.Width(line), columns)
	}
}

func TestBlockAndTailKeepLinesApart(t *testing.T) {
	const text = "one\n\n\x1b[1A\x1b[2Ktwo\r\nthree\n \nfour\n"
	for _, test := range []struct {
		name string
		cut  func(string, int, int) []string
		most int
		want []string
	}{
		{"all", Block, 9, []string{"one", "[1A [2Ktwo", "three", "four"}},
		{"beginning", Block, 2, []string{"one", "…"}},
		{"nothing", Block, 0, nil},
		{"all of the end", Tail, 9, []string{"one", "[1A [2Ktwo", "three", "four"}},
		{"end", Tail, 3, []string{"…", "three", "four"}},
		{"exactly", Tail, 4, []string{"one", "[1A [2Ktwo", "three", "four"}},
		{"no end", Tail, 0, nil},
	} {
		if got := test.cut(text, 80, test.most); !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
	if got := Tail("", 80, 3); len(got) != 0 {
		t.Errorf("the end of nothing is %q", got)
	}
}

func FuzzBlock(f *testing.F) {
	f.Add("plain", 10, 3)
	f.Add("\x1b[31mred\x1b[0m \u202eback\u2066\n漢字\xff\u0301\u0301\ufe0f", 7, 1)
	f.Add(strings.Repeat("a\n", 500), 1, 5)
	f.Fuzz(func(t *testing.T, text string, columns, lines int) {
		columns, lines = columns%200, lines%50
		checkSafe(t, plaintext.Line(text, columns), columns)
		for _, cut := range []func(string, int, int) []string{Block, Tail} {
			got := cut(text, columns, lines)
			if len(got) > max(lines, 0) {
				t.Fatalf("%d lines of %d", len(got), lines)
			}
			for _, line := range got {
				checkSafe(t, line, max(columns, 1))
			}
		}
	})
}
