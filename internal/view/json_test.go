package view

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
)

func TestJSONShowsNothingThatATerminalObeys(t *testing.T) {
	text := "a\x1b[2J\x7f\u009b1m\u202e\u200d漢\U000e0041\U0001f600 <&>"
	out, err := JSON(map[string]string{"text": text})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"text":"a\u001b[2J\u007f\u009b1m\u202e\u200d漢\udb40\udc41😀 <&>"}` + "\n"
	if string(out) != want {
		t.Errorf("got  %swant %s", out, want)
	}
}

func FuzzJSON(f *testing.F) {
	f.Add("plain")
	f.Add("\u009b\u2028\U000e0041\xff\"\\\x00")
	f.Fuzz(func(t *testing.T, text string) {
		out, err := JSON(text)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range strings.TrimSuffix(string(out), "\n") {
			if !unicode.IsPrint(r) {
				t.Fatalf("%U in %q", r, out)
			}
		}
		var back string
		if err := json.Unmarshal(out, &back); err != nil || utf8.ValidString(text) && back != text {
			t.Fatalf("%q came back as %q: %v", text, back, err)
		}
	})
}
