package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agent-loop/ralph/internal/suggest"
)

// kind is a type of value: how it is read, checked and shown.
//
// read gets a value as TOML has it: bool, int64, float64, string, []any, or
// other. fromText makes such a value from a flag or an environment variable;
// text that cannot be one stays a string, for read to complain about. toText is
// its inverse and exact. A list has neither, nor have the keys of tables.
type kind[T any] struct {
	read     func(any) (T, []complaint)
	fromText func(string) any
	toText   func(T) string
	show     func(T) string
}

// other is a TOML value that no key takes, described for the reader.
type other string

// got describes a value of the wrong type.
func got(v any) string {
	switch v := v.(type) {
	case string:
		return quote(v)
	case []any:
		return "a list"
	case other:
		return string(v)
	default:
		return clip(fmt.Sprint(v))
	}
}

func asIs(s string) any { return s }

func same(s string) string { return s }

func boolean() kind[bool] {
	return kind[bool]{
		read: func(v any) (bool, []complaint) {
			if b, ok := v.(bool); ok {
				return b, nil
			}
			return false, wrong("must be true or false, not %s", got(v))
		},
		fromText: func(s string) any {
			if b, err := strconv.ParseBool(s); err == nil {
				return b
			}
			return s
		},
		toText: strconv.FormatBool,
		show:   strconv.FormatBool,
	}
}

// oneOf takes one of a few words.
func oneOf(words ...string) kind[string] {
	return kind[string]{fromText: asIs, toText: same, show: strconv.Quote, read: func(v any) (string, []complaint) {
		s, isText := v.(string)
		if isText && slices.Contains(words, s) {
			return s, nil
		}
		c := wrong("must be one of %s, not %s", quoteAll(words), got(v))
		c[0].suggestion = suggest.Nearest(s, words)
		return "", c
	}}
}

func quoteAll(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = quote(w)
	}
	return strings.Join(quoted, ", ")
}

// text takes a string that passes check; check returns what is wrong, or "".
func text(check func(string) string) kind[string] {
	return kind[string]{fromText: asIs, toText: same, show: strconv.Quote, read: func(v any) (string, []complaint) {
		s, ok := v.(string)
		if !ok {
			return "", wrong("must be a string, not %s", got(v))
		}
		if why := check(s); why != "" {
			return "", wrong("%s %s", quote(s), why)
		}
		return s, nil
	}}
}

// list takes strings that each pass check, and complains about each that does
// not.
func list(check func(string) string) kind[[]string] { return listOf(text(check)) }

// listOf takes strings of one kind. An empty list is nil.
func listOf(item kind[string]) kind[[]string] {
	return kind[[]string]{
		read: func(v any) ([]string, []complaint) {
			items, ok := v.([]any)
			switch {
			case !ok:
				return nil, wrong("must be a list of strings, not %s", got(v))
			case len(items) > maxListItems:
				return nil, wrong("has %d items: the most is %d", len(items), maxListItems)
			}
			return readItems(items, item)
		},
		show: func(l []string) string { return "[" + quoteAll(l) + "]" },
	}
}

const maxListItems = 1000

func readItems(items []any, item kind[string]) ([]string, []complaint) {
	var values []string
	var complaints []complaint
	for i, v := range items {
		value, wrongs := item.read(v)
		for _, c := range wrongs {
			c.item = i
			complaints = append(complaints, c)
		}
		values = append(values, value)
	}
	return values, complaints
}

// whole takes an integer from low to high.
func whole[T int | int64](low, high T) kind[T] {
	return kind[T]{
		read: func(v any) (T, []complaint) {
			if n, ok := v.(int64); ok && n >= int64(low) && n <= int64(high) {
				return T(n), nil
			}
			return 0, wrong("must be a whole number from %d to %d, not %s", low, high, got(v))
		},
		fromText: func(s string) any {
			if n, err := strconv.ParseInt(s, 10, 64); err == nil {
				return n
			}
			return s
		},
		toText: func(n T) string { return fmt.Sprint(n) },
		show:   func(n T) string { return fmt.Sprint(n) },
	}
}

// parsed takes a string through a parser that explains its refusals.
func parsed[T any](what string, parse func(string) (T, error), show func(T) string) kind[T] {
	return kind[T]{
		read: func(v any) (T, []complaint) {
			var zero T
			s, ok := v.(string)
			if !ok {
				return zero, wrong("must be %s, not %s", what, got(v))
			}
			n, err := parse(s)
			if err != nil {
				return zero, wrong("%s", err)
			}
			return n, nil
		},
		fromText: asIs,
		toText:   show,
		show:     func(n T) string { return strconv.Quote(show(n)) },
	}
}

func duration() kind[time.Duration] {
	return parsed(`a time such as "8h"`, ParseDuration, FormatDuration)
}

// durationOrNone takes a time or, as a string or a number, zero.
func durationOrNone() kind[time.Duration] {
	k := parsed(`a time such as "30m", or 0`, parseDurationOrNone, FormatDuration)
	some := k.read
	k.read = func(v any) (time.Duration, []complaint) {
		if v == int64(0) {
			return 0, nil
		}
		return some(v)
	}
	return k
}

// cpus takes a string, as in `cpus = "4"`, or a number.
func cpus() kind[float64] {
	quoted := parsed(`a number of CPUs such as "4"`, ParseCPUs, formatNumber)
	return kind[float64]{fromText: asIs, toText: quoted.toText, show: quoted.show, read: func(v any) (float64, []complaint) {
		n, ok := number(v)
		if !ok {
			return quoted.read(v)
		}
		if err := checkCPUs(n); err != nil {
			return 0, wrong("%s", err)
		}
		return n, nil
	}}
}

// dollars takes a positive amount. Zero is refused, because it could be read as
// nothing and as everything.
func dollars() kind[float64] {
	const least, most = 0.01, 1_000_000
	return kind[float64]{
		read: func(v any) (float64, []complaint) {
			if n, ok := number(v); ok && n >= least && n <= most {
				return n, nil
			}
			return 0, wrong("must be an amount of dollars from %v to %d, not %s", least, most, got(v))
		},
		fromText: textNumber,
		toText:   formatNumber,
		show:     formatNumber,
	}
}

// minutes takes a number in a file; a flag may also say "90s" or "2h".
func minutes() kind[time.Duration] {
	const least, most = 0.001, MaxDuration / time.Minute
	return kind[time.Duration]{
		read: func(v any) (time.Duration, []complaint) {
			if d, ok := v.(time.Duration); ok {
				return d, nil
			}
			n, ok := number(v)
			if ok && n >= least && n <= float64(most) {
				return time.Duration(n * float64(time.Minute)).Round(time.Millisecond), nil
			}
			return 0, wrong("must be a number of minutes from %v to %d, not %s", least, most, got(v))
		},
		fromText: func(s string) any {
			if d, err := ParseDuration(s); err == nil {
				return d
			}
			return textNumber(s)
		},
		toText: FormatDuration,
		show:   func(d time.Duration) string { return formatNumber(d.Minutes()) },
	}
}

func textNumber(s string) any {
	if n, err := strconv.ParseFloat(s, 64); err == nil {
		return n
	}
	return s
}

func formatNumber(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

func number(v any) (float64, bool) {
	switch v := v.(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}
