package config

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

const (
	// MaxDuration is the longest time that can be asked for.
	MaxDuration = 30 * 24 * time.Hour

	// MinCPUs is the smallest share of a processor that can be asked for.
	MinCPUs = 0.01

	// MaxCPUs is the largest number of processors that can be asked for.
	MaxCPUs = 1024
)

// ParseDuration reads a time such as "90s", "8h", "1h30m" or "2d12h". It must
// be more than zero and at most MaxDuration.
func ParseDuration(s string) (time.Duration, error) {
	const example = "write it like 90s, 30m, 8h or 2d"
	text := strings.TrimSpace(s)
	if isDecimal(text) {
		return 0, fmt.Errorf("%s is not a time: it has no unit; %s", quote(s), example)
	}
	d, ok := parseDays(text)
	switch {
	case !ok:
		return 0, fmt.Errorf("%s is not a time; %s", quote(s), example)
	case d <= 0:
		return 0, fmt.Errorf("a time of %s is too short: it must be more than zero", quote(s))
	case d > MaxDuration:
		return 0, fmt.Errorf("a time of %s is too long: the most is 30d", quote(s))
	}
	return d, nil
}

// parseDurationOrNone is ParseDuration that also takes zero, with or without a
// unit.
func parseDurationOrNone(s string) (time.Duration, error) {
	text := strings.TrimSpace(s)
	if d, ok := parseDays(text); text == "0" || (ok && d == 0) {
		return 0, nil
	}
	return ParseDuration(s)
}

// parseDays is time.ParseDuration with days in front. More days than an int64
// of nanoseconds holds come out as longer than MaxDuration.
func parseDays(text string) (time.Duration, bool) {
	number, rest, found := strings.Cut(text, "d")
	if !found {
		d, err := time.ParseDuration(text)
		return d, err == nil
	}
	days, err := strconv.ParseFloat(number, 64)
	if err != nil || !isDecimal(number) {
		return 0, false
	}
	d := time.Duration(min(days, 365) * float64(24*time.Hour))
	if rest == "" {
		return d, true
	}
	more, err := time.ParseDuration(rest)
	return d + max(0, min(more, MaxDuration)), err == nil && more >= 0
}

// FormatDuration writes a time without the zero parts of Duration.String.
func FormatDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// ParseCPUs reads a number of processors such as "4" or "0.5".
func ParseCPUs(s string) (float64, error) {
	text := strings.TrimSpace(s)
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || !isDecimal(strings.TrimPrefix(text, "-")) {
		return 0, fmt.Errorf("%s is not a number of CPUs; write it like 4 or 0.5", quote(s))
	}
	if err := checkCPUs(n); err != nil {
		return 0, err
	}
	return n, nil
}

func checkCPUs(n float64) error {
	if n >= MinCPUs && n <= MaxCPUs {
		return nil
	}
	return fmt.Errorf("%v CPUs is out of range: it must be from %v to %v", n, MinCPUs, MaxCPUs)
}
