package config

import (
	"math"
	"strings"
	"testing"
)

func TestParseSize(t *testing.T) {
	tests := []struct {
		in   string
		want int64
	}{
		{"1", 1}, {"1048576", 1 << 20}, {"7b", 7}, {"7B", 7},
		{"1k", 1 << 10}, {"1kb", 1 << 10}, {"1KiB", 1 << 10},
		{"512m", 512 << 20}, {"512MB", 512 << 20}, {"512 MiB", 512 << 20},
		{"8g", 8 << 30}, {" 8G ", 8 << 30}, {"1.5g", 1536 << 20}, {"0.5gb", 512 << 20},
		{"1t", 1 << 40}, {"1TiB", 1 << 40}, {"1p", 1 << 50}, {"7e", 7 << 60},
		{"9223372036854775807", math.MaxInt64},
		{"9007199254740993", 1<<53 + 1}, // whole numbers do not pass through floats
		{"1.0000000001k", 1024},
	}
	for _, tt := range tests {
		if got, err := ParseSize(tt.in); err != nil || got != tt.want {
			t.Errorf("ParseSize(%q) = %d, %v; want %d", tt.in, got, err, tt.want)
		}
	}
}

func TestParseSizeRefuses(t *testing.T) {
	tests := []struct{ in, why string }{
		{"", "it has no number"},
		{"g", "it has no number"},
		{"lots", "it has no number"},
		{"NaN", "it has no number"},
		{"inf", "it has no number"},
		{"0", "it is zero"},
		{"0g", "it is zero"},
		{"0.1b", "it is zero"},
		{"-1g", "it is negative"},
		{"8e", "it is too large"},
		{"9223372036854775808", "it is too large"},
		{"99999999999999999999g", "it is too large"},
		{"8.0e", "it is too large"},
		{strings.Repeat("9", 400) + ".0", "it is too large"},
		{"8x", `there is no unit "x"`},
		{"8gbb", `there is no unit "gbb"`},
		{"8ib", `there is no unit "ib"`},
		{"8bb", `there is no unit "bb"`},
		{"8gi", `there is no unit "gi"`},
		{"+8g", `"+8" is not a number`},
		{"1e3", `"1e3" is not a number`},
		{"0x10", `"0x10" is not a number`},
		{"1_000", `"1_000" is not a number`},
		{"1.2.3g", `"1.2.3" is not a number`},
		{".5g", `".5" is not a number`},
		{"8g 8g", `"8g 8" is not a number`},
	}
	for _, tt := range tests {
		want := quote(tt.in) + " is not a size: " + tt.why + "; write it like 512m or 8g"
		if got, err := ParseSize(tt.in); err == nil || err.Error() != want {
			t.Errorf("ParseSize(%q) = %d, %v; want %s", tt.in, got, err, want)
		}
	}
}

func TestMemoryAndDiskBounds(t *testing.T) {
	tests := []struct {
		parse func(string) (int64, error)
		in    string
		want  string // "" is accepted
	}{
		{ParseMemory, "64m", ""},
		{ParseMemory, "1t", ""},
		{ParseMemory, "63m", `a memory limit of "63m" is too small: the least is 64m`},
		{ParseMemory, "1025g", `a memory limit of "1025g" is too large: the most is 1t`},
		{ParseMemory, "1PB", `a memory limit of "1PB" is too large: the most is 1t`},
		{ParseMemory, "0", `"0" is not a size: it is zero; write it like 512m or 8g`},
		{ParseDisk, "1m", ""},
		{ParseDisk, "64t", ""},
		{ParseDisk, "1023k", `a disk limit of "1023k" is too small: the least is 1m`},
		{ParseDisk, "65t", `a disk limit of "65t" is too large: the most is 64t`},
	}
	for _, tt := range tests {
		got := ""
		if _, err := tt.parse(tt.in); err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.in, got, tt.want)
		}
	}
}

func TestFormatSize(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0b", 1: "1b", 1000: "1000b", 1024: "1k", 1536: "1536b", 1536 << 20: "1536m",
		8 << 30: "8g", 1 << 40: "1t", 2 << 60: "2e", math.MaxInt64: "9223372036854775807b",
	} {
		if got := FormatSize(n); got != want {
			t.Errorf("FormatSize(%d) = %q, want %q", n, got, want)
		}
	}
}

// FuzzParseSize proves that what is accepted is positive, fits and reads back.
func FuzzParseSize(f *testing.F) {
	for _, s := range []string{"", "8g", "1.5GB", "512 MiB", "0", "-1", "1e3", "9223372036854775807", "8e", "7.99e", "NaN", ".", "1.", "\u212a", "1\u212a"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n, err := ParseSize(s)
		if err != nil {
			if n != 0 || strings.ContainsAny(err.Error(), "\n\x1b") {
				t.Errorf("ParseSize(%q) = %d, %q", s, n, err)
			}
			return
		}
		if n <= 0 {
			t.Errorf("ParseSize(%q) = %d", s, n)
		}
		if again, err := ParseSize(FormatSize(n)); err != nil || again != n {
			t.Errorf("ParseSize(FormatSize(%d)) = %d, %v", n, again, err)
		}
	})
}
