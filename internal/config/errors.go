package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
)

// maxProblems ends the reading of a file that is wrong all over.
const maxProblems = 100

// Error is everything that is wrong with a configuration.
type Error struct {
	Problems []Problem
}

// Problem is one thing that is wrong.
type Problem struct {
	File       string // or the flag or environment variable
	Line       int    // 0 when it is about the whole source
	Key        string // dotted, empty when it is not about one key
	Message    string
	Suggestion string // a key, a value or a [section]; empty when none is near
}

func (e *Error) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// take adds the problems of err. It returns what is no problem of a
// configuration; that a source does not exist is none at all.
func (e *Error) take(err error) error {
	var bad *Error
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case errors.As(err, &bad):
		e.Problems = append(e.Problems, bad.Problems...)
		return nil
	}
	return err
}

func (p Problem) String() string {
	text := p.File + ": " + p.Message
	if p.Line > 0 {
		text = fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Message)
	}
	switch {
	case p.Suggestion == "":
		return text
	case strings.HasPrefix(p.Suggestion, "["):
		return text + "; did you mean " + p.Suggestion + "?"
	default:
		return text + "; did you mean " + strconv.Quote(p.Suggestion) + "?"
	}
}

// sortByLine orders the problems of one file as a reader meets them.
func sortByLine(problems []Problem) {
	slices.SortStableFunc(problems, func(a, b Problem) int { return cmp.Compare(a.Line, b.Line) })
}

// complaint is what a kind has to say about a value.
type complaint struct {
	text       string
	suggestion string
	item       int // which item of a list, when the value is one
}

func wrong(format string, args ...any) []complaint {
	return []complaint{{text: fmt.Sprintf(format, args...)}}
}

// quote shows hostile text on one line, without control characters and short.
func quote(s string) string { return strconv.Quote(clip(s)) }

// clip shortens text that is quoted back to the user.
func clip(s string) string {
	const most = 60
	runes := []rune(s)
	if len(runes) <= most {
		return s
	}
	return string(runes[:most]) + "..."
}
