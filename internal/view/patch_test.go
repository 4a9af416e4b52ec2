package view

import (
	"bytes"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestWhatATerminalGetsToSeeOfAPatch(t *testing.T) {
	for _, test := range []struct{ name, patch, plain, color string }{
		{"a patch", "diff --git a/x b/x\n@@ -1 +1 @@\n-old\n+new\n same\n\\ No newline at end of file\n",
			"diff --git a/x b/x\n@@ -1 +1 @@\n-old\n+new\n same\n\\ No newline at end of file\n",
			"\x1b[1mdiff --git a/x b/x\x1b[0m\n\x1b[36m@@ -1 +1 @@\x1b[0m\n\x1b[31m-old\x1b[0m\n\x1b[32m+new\x1b[0m\n\x1b[0m same\x1b[0m\n\x1b[0m\\ No newline at end of file\x1b[0m\n"},
		{"an escape sequence", "+\x1b[2J\x1b]0;owned\x07\n", "+^[[2J^[]0;owned^G\n", "\x1b[32m+^[[2J^[]0;owned^G\x1b[0m\n"},
		{"our own colours are not the agent's", " \x1b[0m\n", " ^[[0m\n", "\x1b[0m ^[[0m\x1b[0m\n"},
		{"line ends", "+a\rb\r\n", "+a^Mb^M\n", "\x1b[32m+a^Mb^M\x1b[0m\n"},
		{"direction, and what is not seen", "+a\u202eb\u200b\u009b\u00ad\n", "+a<U+202E>b<U+200B><U+009B><U+00AD>\n", "\x1b[32m+a<U+202E>b<U+200B><U+009B><U+00AD>\x1b[0m\n"},
		{"not UTF-8", "+\xff\xc3\n", "+<FF><C3>\n", "\x1b[32m+<FF><C3>\x1b[0m\n"},
		{"tabs and letters stay", "+\tGrüße 漢\n", "+\tGrüße 漢\n", "\x1b[32m+\tGrüße 漢\x1b[0m\n"},
		{"delete and nul", "+\x7f\x00\n", "+^?^@\n", "\x1b[32m+^?^@\x1b[0m\n"},
		{"empty lines", "\n\n", "\n\n", "\n\n"},
		{"no end", "+x", "+x\n", "\x1b[32m+x\x1b[0m\n"},
		{"nothing", "", "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, piece := range []int{1, 2, 3, 1000} {
				if got := showInPieces(t, test.patch, piece, false); got != test.plain {
					t.Errorf("plain, in pieces of %d: %q, want %q", piece, got, test.plain)
				}
				if got := showInPieces(t, test.patch, piece, true); got != test.color {
					t.Errorf("coloured, in pieces of %d: %q, want %q", piece, got, test.color)
				}
			}
		})
	}
}

func showInPieces(t *testing.T, patch string, size int, color bool) string {
	t.Helper()
	var out bytes.Buffer
	s := &Patch{Out: &out, Color: color}
	for rest := patch; rest != ""; {
		n, err := s.Write([]byte(rest[:min(size, len(rest))]))
		if err != nil {
			t.Fatal(err)
		}
		rest = rest[n:]
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestALineWithoutEndIsNotKeptInMemory, and looks the same all the same.
func TestALineWithoutEndIsNotKeptInMemory(t *testing.T) {
	long := "+" + strings.Repeat("漢\x1b", maxPiece)
	var out bytes.Buffer
	s := &Patch{Out: &out, Color: true}
	for i := 0; i < len(long); i += 1000 {
		_, _ = s.Write([]byte(long[i:min(i+1000, len(long))]))
		if cap(s.pending) > 4*maxPiece {
			t.Fatalf("%d bytes are kept", cap(s.pending))
		}
	}
	_, _ = s.Write([]byte("\n-x\n"))
	want := "\x1b[32m+" + strings.Repeat("漢^[", maxPiece) + "\x1b[0m\n\x1b[31m-x\x1b[0m\n"
	if got := out.String(); got != want {
		t.Errorf("%d bytes, want %d; it ends in %q", len(got), len(want), got[len(got)-20:])
	}
}

// FuzzPatch: however a patch comes, a terminal gets nothing to obey but colours
// that are ours, and every line stays one.
func FuzzPatch(f *testing.F) {
	f.Add("diff --git a/x b/x\n@@ -1 +1 @@\n-a\n+\x1b[2J\u202e\xff\r\n", 3)
	f.Add("+\xf0\x9f\x98\x80\n \x00", 1)
	f.Add("\n\n", 7)
	f.Fuzz(func(t *testing.T, patch string, size int) {
		size = 1 + max(size, -size, 0)%100
		plain, colored := showInPieces(t, patch, size, false), showInPieces(t, patch, size, true)
		for _, r := range plain {
			if r != '\n' && r != '\t' && (!unicode.IsPrint(r) || unicode.IsControl(r)) {
				t.Fatalf("%U in %q", r, plain)
			}
		}
		lines := strings.Count(patch, "\n")
		if patch != "" && !strings.HasSuffix(patch, "\n") {
			lines++
		}
		if !utf8.ValidString(plain) || strings.Count(plain, "\n") != lines {
			t.Fatalf("%q became %q", patch, plain)
		}
		for _, code := range []string{"\x1b[32m", "\x1b[31m", "\x1b[36m", "\x1b[1m", "\x1b[0m"} {
			colored = strings.ReplaceAll(colored, code, "")
		}
		if colored != plain {
			t.Fatalf("without colours %q, want %q", colored, plain)
		}
	})
}
