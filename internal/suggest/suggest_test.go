package suggest

import (
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	words := []string{"memory", "cpus", "timeout_minutes", "processes", "disk"}
	for word, want := range map[string]string{
		"memroy": "memory", "mem": "", "cpu": "cpus", "CPUS": "cpus", "timeout-minutes": "timeout_minutes",
		"timeoutminute": "timeout_minutes", "proceses": "processes", "": "", "d": "", "zebra": "",
		strings.Repeat("m", 10_000): "",
	} {
		if got := Nearest(word, words); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", word, got, want)
		}
	}
}

func TestDistance(t *testing.T) {
	tests := []struct {
		a, b string
		want int
	}{{"", "", 0}, {"abc", "", 3}, {"", "abc", 3}, {"kitten", "sitting", 3}, {"memroy", "memory", 2}, {"deny", "deny", 0}}
	for _, tt := range tests {
		if got := distance(tt.a, tt.b); got != tt.want {
			t.Errorf("distance(%q, %q) = %d, want %d", tt.a, tt.b, got, tt.want)
		}
	}
}
