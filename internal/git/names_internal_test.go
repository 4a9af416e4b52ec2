package git

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestCheckName(t *testing.T) {
	for _, c := range []struct {
		path string
		ok   bool
	}{
		{"a", true}, {"src/a.go", true}, {"a b/c d", true}, {".gitignore", true}, {".github/x.yml", true}, {"git", true},
		{"ünïcode/日本", true}, {"-rf", true}, {"--output=x", true}, {"aux.txt", true}, {"...a", true}, {"a..b", true}, {".gitx", true},
		{"", false}, {"/a", false}, {"a//b", false}, {"a/", false}, {".", false}, {"..", false}, {"a/../b", false}, {"a/./b", false},
		{".git", false}, {".GIT/config", false}, {"a/.Git/hooks/x", false}, {".git ", false}, {".git.", false}, {".git . .", false},
		{".g\u200cit", false}, {".\u200dgit", false}, {"\ufeff.git", false}, {".ｇｉｔ", false}, {".. ", false}, {"...", false}, {" ", false}, {"\u200b", false}, {"a/\u200b/b", false},
		{`a\b`, false}, {`..\x`, false}, {"a\nb", false}, {"a\x1b[2Jb", false}, {"a\x00b", false}, {"a\u009bb", false}, {"a\x7f", false},
		{strings.Repeat("n", maxPath+1), false},
	} {
		if err := checkName(c.path); (err == nil) != c.ok {
			t.Errorf("%q: %v", c.path, err)
		}
	}
}

// Names that are one on some file system fold to the same.
func TestFold(t *testing.T) {
	for _, same := range [][]string{
		{"readme", "README", "ReadMe", "readme.", "README ", "readme. ."},
		{"e\u0301", "\u00e9", "\u00c9"},
		{"straße", "STRASSE", "strasse"},
		{"a\u200cb", "ab", "AB"},
		{"ﬁle", "file"},
		{"K", "k", "\u212a"},
	} {
		for _, name := range same {
			if fold(name) != fold(same[0]) {
				t.Errorf("%q folds to %q, and %q to %q", name, fold(name), same[0], fold(same[0]))
			}
		}
	}
	for _, pair := range [][2]string{{"a", "b"}, {"a.b", "ab"}, {".a", "a"}, {"a b", "ab"}, {"é", "e"}} {
		if fold(pair[0]) == fold(pair[1]) {
			t.Errorf("%q and %q fold to the same", pair[0], pair[1])
		}
	}
}

// A path that is recognised as plain is one that folding leaves as it is.
func FuzzFold(f *testing.F) {
	for _, seed := range []string{"a/b", "A", ".git ", "a./b", "é", "a\u200cb", "ſ", "İ", "ŉ", "ΐ", "\xff", "...", " ", "a/ /b", "ﬀ. "} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, path string) {
		got := foldPath(path)
		if isPlain(path) && got != path {
			t.Errorf("%q is plain and folds to %q", path, got)
		}
		if isPlain(path) {
			for part := range strings.SplitSeq(path, "/") {
				if fold(part) != part {
					t.Errorf("%q is plain and folds to %q", part, fold(part))
				}
			}
		}
		if utf8.ValidString(path) && foldPath(strings.ToUpper(path)) == "" && path != "" && got != "" {
			t.Errorf("%q folds to nothing in upper case", path)
		}
		if checkName(path) == nil {
			for part := range strings.SplitSeq(path, "/") {
				if strings.EqualFold(part, ".git") || part == ".." || part == "" {
					t.Errorf("%q is taken", path)
				}
			}
		}
	})
}

// Folders that are in many places count once for each, and cost nothing.
func TestShapes(t *testing.T) {
	all := folders{"file": {shape: shape{paths: 1, bytes: 1, longest: 1}}}
	below := "file"
	for level := range 40 {
		name := fmt.Sprint(level)
		all[name] = &folder{shape: shape{paths: 10, bytes: 10, longest: 1}}
		for range 10 {
			all[name].below = append(all[name].below, subfolder{below, 1})
		}
		below = name
	}
	if s := all.shapeOf("1", 0); s != (shape{paths: 10 + 10*(10+10), bytes: 10 + 10*(40+20*2), longest: 5, depth: 3}) {
		t.Errorf("two levels are %+v", s)
	}
	if s := all.shapeOf(below, 0); s.paths != maxPaths+1 || s.bytes != maxPathBytes+1 || s.depth != 41 {
		t.Errorf("forty levels are %+v", s)
	}
	for level := range 1000 {
		all[fmt.Sprint("deep", level)] = &folder{shape: shape{paths: 1}, below: []subfolder{{fmt.Sprint("deep", level+1), 1}}}
	}
	if s := all.shapeOf("deep0", 0); s.depth <= maxDepth {
		t.Errorf("a thousand folders in one another are %+v", s)
	}
}
