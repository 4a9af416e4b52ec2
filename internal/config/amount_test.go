package config

import (
	"strings"
	"testing"
	"time"
)

func TestParseDuration(t *testing.T) {
	tests := []struct {
		in   string
		want time.Duration
		err  string
	}{
		{"90s", 90 * time.Second, ""},
		{"8h", 8 * time.Hour, ""},
		{" 1h30m ", 90 * time.Minute, ""},
		{"2d", 48 * time.Hour, ""},
		{"1.5d", 36 * time.Hour, ""},
		{"2d12h", 60 * time.Hour, ""},
		{"30d", MaxDuration, ""},
		{"30d1s", 0, "too long: the most is 30d"},
		{"721h", 0, "too long: the most is 30d"},
		{strings.Repeat("9", 50) + "d", 0, "too long: the most is 30d"},
		{"30d2562047h", 0, "too long: the most is 30d"},
		{"0s", 0, "must be more than zero"},
		{"0d", 0, "must be more than zero"},
		{"-5m", 0, "must be more than zero"},
		{"", 0, `"" is not a time; write it like 90s, 30m, 8h or 2d`},
		{"30", 0, `"30" is not a time: it has no unit; write it like 90s, 30m, 8h or 2d`},
		{"soon", 0, "is not a time"},
		{"-1d", 0, "is not a time"},
		{"2d-1h", 0, "is not a time"},
		{"1e3d", 0, "is not a time"},
		{"infd", 0, "is not a time"},
		{"1d1d", 0, "is not a time"},
		{strings.Repeat("9", 400) + "d", 0, "is not a time"},
	}
	for _, tt := range tests {
		got, err := ParseDuration(tt.in)
		if (err == nil) != (tt.err == "") || got != tt.want || (err != nil && !strings.Contains(err.Error(), tt.err)) {
			t.Errorf("ParseDuration(%q) = %v, %v; want %v, %s", tt.in, got, err, tt.want, tt.err)
		}
	}
}

func TestFormatDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		8 * time.Hour: "8h", 90 * time.Minute: "1h30m", 10 * time.Minute: "10m", 10 * time.Second: "10s",
		time.Hour + time.Second: "1h0m1s", 0: "0s", 48 * time.Hour: "48h",
	} {
		if got := FormatDuration(d); got != want {
			t.Errorf("FormatDuration(%v) = %q, want %q", d, got, want)
		}
	}
}

func TestParseCPUs(t *testing.T) {
	for in, want := range map[string]float64{"4": 4, "0.5": 0.5, " 2 ": 2, "0.01": 0.01, "1024": 1024} {
		if got, err := ParseCPUs(in); err != nil || got != want {
			t.Errorf("ParseCPUs(%q) = %v, %v; want %v", in, got, err, want)
		}
	}
	for in, want := range map[string]string{
		"0":     "0 CPUs is out of range: it must be from 0.01 to 1024",
		"-1":    "-1 CPUs is out of range: it must be from 0.01 to 1024",
		"1025":  "1025 CPUs is out of range: it must be from 0.01 to 1024",
		"0.001": "0.001 CPUs is out of range: it must be from 0.01 to 1024",
		"":      `"" is not a number of CPUs; write it like 4 or 0.5`,
		"all":   `"all" is not a number of CPUs; write it like 4 or 0.5`,
		"NaN":   `"NaN" is not a number of CPUs; write it like 4 or 0.5`,
		"0x2":   `"0x2" is not a number of CPUs; write it like 4 or 0.5`,
		"1e2":   `"1e2" is not a number of CPUs; write it like 4 or 0.5`,
	} {
		if got, err := ParseCPUs(in); err == nil || err.Error() != want || got != 0 {
			t.Errorf("ParseCPUs(%q) = %v, %v; want 0, %s", in, got, err, want)
		}
	}
}
