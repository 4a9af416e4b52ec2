package model

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Window is one limit of an upstream over time, as its headers tell.
type Window struct {
	Status string    `json:"status,omitempty"` // allowed, allowed_warning, rejected
	Used   float64   `json:"used,omitempty"`   // a share of one, if it is told
	Left   int64     `json:"left,omitempty"`   // requests or tokens, if that is told
	Resets time.Time `json:"resets,omitzero"`
}

// Windows are the limits by their names, such as "5h", "requests" or "tokens".
type Windows map[string]Window

// maxWindows bounds what is kept of a response's header.
const maxWindows = 16

// readWindows reads the rate-limit headers: those of Anthropic's subscriptions
// (anthropic-ratelimit-unified-5h-reset), of its keys
// (anthropic-ratelimit-tokens-remaining) and of OpenAI
// (x-ratelimit-remaining-tokens, x-codex-primary-used-percent).
func readWindows(h http.Header, now time.Time) Windows {
	windows := Windows{}
	for name, values := range h {
		window, field, ok := splitLimit(strings.ToLower(name))
		if !ok || len(values) == 0 {
			continue
		}
		w, known := windows[window]
		if !known && len(windows) == maxWindows {
			continue
		}
		if w.set(field, values[0], now) {
			windows[window] = w
		}
	}
	return windows
}

// splitLimit takes a header's name apart into the limit and what is said of it.
func splitLimit(name string) (window, field string, ok bool) {
	if rest, found := strings.CutPrefix(name, "anthropic-ratelimit-unified-"); found {
		if window, field, ok = cutLast(rest); !ok {
			return "unified", rest, true
		}
		return window, field, true
	}
	if rest, found := strings.CutPrefix(name, "anthropic-ratelimit-"); found {
		return cutLast(rest)
	}
	if rest, found := strings.CutPrefix(name, "x-ratelimit-"); found {
		field, window, ok = strings.Cut(rest, "-")
		return window, field, ok
	}
	if rest, found := strings.CutPrefix(name, "x-codex-"); found {
		window, field, ok = strings.Cut(rest, "-")
		return window, field, ok && (window == "primary" || window == "secondary")
	}
	return "", "", false
}

func cutLast(text string) (before, after string, ok bool) {
	i := strings.LastIndexByte(text, '-')
	if i < 0 {
		return "", text, false
	}
	return text[:i], text[i+1:], true
}

// set notes one field, if its value can be read.
func (w *Window) set(field, value string, now time.Time) bool {
	switch field {
	case "status":
		w.Status = clip(value, 32)
	case "utilization", "used-percent":
		used, err := strconv.ParseFloat(value, 64)
		if err != nil || used < 0 || used > 1000 {
			return false
		}
		if field == "used-percent" {
			used /= 100
		}
		w.Used = used
	case "remaining":
		left, err := strconv.ParseInt(value, 10, 64)
		if err != nil || left < 0 {
			return false
		}
		w.Left = left
	case "reset", "reset-at", "reset-after-seconds":
		at := readMoment(value, now, field == "reset-after-seconds")
		if at.IsZero() {
			return false
		}
		w.Resets = at
	default:
		return false
	}
	return true
}

// farthest is how long a limit may last; what is beyond is an error or a joke.
const farthest = 40 * 24 * time.Hour

// readMoment reads the ways in which the headers tell a time: RFC 3339, seconds
// since the epoch, seconds from now, a Go-like duration from now, an HTTP date.
func readMoment(value string, now time.Time, relative bool) time.Time {
	at := parseMoment(strings.TrimSpace(value), now, relative)
	if at.Before(now.Add(-farthest)) || at.After(now.Add(farthest)) {
		return time.Time{}
	}
	return at
}

func parseMoment(value string, now time.Time, relative bool) time.Time {
	if at, err := time.Parse(time.RFC3339, value); err == nil {
		return at
	}
	if seconds, err := strconv.ParseFloat(value, 64); err == nil && seconds >= 0 && seconds < 1e11 {
		const aLongTime = 1e9 // seconds since the epoch are more than that
		if relative || seconds < aLongTime {
			return now.Add(time.Duration(seconds * float64(time.Second)))
		}
		return time.Unix(int64(seconds), 0)
	}
	if d, err := time.ParseDuration(value); err == nil && d >= 0 {
		return now.Add(d)
	}
	if at, err := http.ParseTime(value); err == nil {
		return at
	}
	return time.Time{}
}

// retryAfter reads the header of that name; zero if there is none.
func retryAfter(h http.Header, now time.Time) time.Time {
	for name, unit := range map[string]time.Duration{"Retry-After-Ms": time.Millisecond, "Retry-After": time.Second} {
		value := h.Get(name)
		if value == "" {
			continue
		}
		if count, err := strconv.ParseFloat(value, 64); err == nil && count >= 0 && count*unit.Seconds() < farthest.Seconds() {
			return now.Add(time.Duration(count * float64(unit)))
		}
		if at := readMoment(value, now, true); !at.IsZero() {
			return at
		}
	}
	return time.Time{}
}

// limitedUntil is when calls may be made again after a 429. Retry-After is the
// upstream's own advice; of the limits, those count that are used up.
func limitedUntil(h http.Header, windows Windows, now time.Time) time.Time {
	until := retryAfter(h, now)
	for _, w := range windows {
		usedUp := w.Status == "rejected" || w.Status == "" && w.Left == 0 && w.Used >= 1
		if usedUp && w.Resets.After(until) {
			until = w.Resets
		}
	}
	return until
}
