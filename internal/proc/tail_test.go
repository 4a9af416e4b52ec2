package proc_test

import (
	"strings"
	"testing"

	"github.com/agent-loop/ralph/internal/proc"
)

func TestTailIsBounded(t *testing.T) {
	const limit = 100
	log := proc.NewTail(limit)
	var all string
	for i, size := range []int{0, 1, 50, 49, 1, 100, 101, 5000, 3, 0} {
		chunk := strings.Repeat(string(rune('a'+i)), size)
		all += chunk
		if n, err := log.Write([]byte(chunk)); n != size || err != nil {
			t.Errorf("wrote %d of %d: %v", n, size, err)
		}
		if want := all[max(0, len(all)-limit):]; log.String() != want {
			t.Errorf("after %d bytes: %q, want %q", size, log, want)
		}
	}
}

func TestLastLine(t *testing.T) {
	for said, want := range map[string]string{
		"":                   "",
		"one":                "one",
		"one\ntwo\n":         "two",
		"one\n  two \r\n\n ": "two",
	} {
		log := proc.NewTail(100)
		if _, err := log.Write([]byte(said)); err != nil {
			t.Fatal(err)
		}
		if got := log.LastLine(); got != want {
			t.Errorf("%q: got %q, want %q", said, got, want)
		}
	}
}
