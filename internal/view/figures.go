package view

import (
	"fmt"
	"strings"
	"time"

	"github.com/agent-loop/ralph/internal/money"
)

// Dollars shows an amount in dollars and cents, rounded up.
func Dollars(a money.USD) string {
	if a < 0 {
		return a.String()
	}
	cents := a / money.Cent
	if a%money.Cent > 0 {
		cents++
	}
	return fmt.Sprintf("$%d.%02d", cents/100, cents%100)
}

// Count shows a number of tokens with two or three digits that count.
func Count(n int64) string {
	switch {
	case n >= 1_000_000_000:
		return short(n, 1_000_000_000, "G")
	case n >= 1_000_000:
		return short(n, 1_000_000, "M")
	case n >= 1_000:
		return short(n, 1_000, "k")
	}
	return fmt.Sprint(n)
}

func short(n, unit int64, name string) string {
	if n < 100*unit {
		return fmt.Sprintf("%d.%d%s", n/unit, n%unit*10/unit, name)
	}
	return fmt.Sprintf("%d%s", n/unit, name)
}

// Duration shows a span of time with its two largest units.
func Duration(d time.Duration) string {
	switch {
	case d <= 0:
		return "0s"
	case d < time.Second:
		return fmt.Sprintf("%dms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", d/time.Minute, d%time.Minute/time.Second)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh%02dm", d/time.Hour, d%time.Hour/time.Minute)
	}
	return fmt.Sprintf("%dd%02dh", d/(24*time.Hour), d%(24*time.Hour)/time.Hour)
}

// Age shows how long ago a time was, in one unit.
func Age(then, now time.Time) string {
	d := now.Sub(then)
	for _, unit := range []struct {
		span time.Duration
		name string
	}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "m"}, {time.Second, "s"}} {
		if d >= unit.span {
			return fmt.Sprintf("%d%s ago", d/unit.span, unit.name)
		}
	}
	return "just now"
}

// moment shows a time in the zone of the reader.
func moment(t time.Time, zone *time.Location) string { return t.In(zone).Format("2006-01-02 15:04:05") }

// seconds is a span that a record gives in whole seconds, as far as it can be one.
func seconds(n int64) time.Duration {
	const most = int64(1<<63-1) / int64(time.Second)
	return time.Duration(min(max(n, 0), most)) * time.Second
}

func milliseconds(n int64) time.Duration {
	const most = int64(1<<63-1) / int64(time.Millisecond)
	return time.Duration(min(max(n, 0), most)) * time.Millisecond
}

// plural counts things.
func plural(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}

// joined puts together those parts that say something.
func joined(separator string, parts ...string) string {
	var kept []string
	for _, p := range parts {
		if p != "" {
			kept = append(kept, p)
		}
	}
	return strings.Join(kept, separator)
}
