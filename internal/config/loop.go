package config

import (
	"strings"
	"time"
	"unicode"
)

// Loop says how iterations follow one another and what ends them.
type Loop struct {
	Prompt        string // the prompt's file, a slash path below the workspace
	Tasks         string // the task file; empty: prd.json or tasks.json, whichever is there
	CompletionTag string // what an agent says when all is done; empty: <promise>COMPLETE</promise>

	// The bounds of one iteration.
	MaxTurns          int           // 0: no limit
	IdleTimeout       time.Duration // of one that prints nothing; 0: never ends it
	CompletionTimeout time.Duration // to exit after the agent said that it is done
	EmptyRetries      int           // of one without any output

	// What opens the breaker, each in a row; 0 turns one off.
	MaxErrors     int
	MaxSameError  int
	MaxNoProgress int
	MaxDenials    int // iterations in which tool calls were denied

	CoolDown time.Duration // from an open breaker to one more try; 0: the run ends at once
	MaxWait  time.Duration // for a provider's limit to end; 0: never waits

	// IdleThreshold is the number of iterations without any change after which
	// work that passes validation counts as done; 0: never for that.
	IdleThreshold int
}

func defaultLoop() Loop {
	return Loop{
		Prompt:            "PROMPT.md",
		IdleTimeout:       30 * time.Minute,
		CompletionTimeout: time.Minute,
		EmptyRetries:      3,
		MaxErrors:         5,
		MaxSameError:      3,
		MaxNoProgress:     3,
		MaxDenials:        3,
		CoolDown:          10 * time.Minute,
		MaxWait:           24 * time.Hour,
		IdleThreshold:     2,
	}
}

// loopKeys are the keys of [loop]. Where more means more time or money, the
// user's number is an upper bound. A cool-down has no such order, for a shorter
// one tries more often: only to end at once is always less.
func loopKeys() []field {
	const many = 1000
	return []field{
		at("loop.prompt", "the prompt's file in the workspace", text(aFileBelow),
			func(c *Config) *string { return &c.Loop.Prompt }, free),
		at("loop.tasks", "the task file in the workspace; prd.json or tasks.json if nothing is said", text(noneOr(aFileBelow)),
			func(c *Config) *string { return &c.Loop.Tasks }, free),
		at("loop.completion_tag", "what the agent says when all is done", text(noneOr(aTag)),
			func(c *Config) *string { return &c.Loop.CompletionTag }, free),
		at("loop.max_turns", "of one iteration; 0 is no limit", whole(0, 1_000_000),
			func(c *Config) *int { return &c.Loop.MaxTurns }, atMostOrNone),
		at("loop.idle_timeout", "ends an iteration that prints nothing for so long; 0 is never", durationOrNone(),
			func(c *Config) *time.Duration { return &c.Loop.IdleTimeout }, atMostOrNone),
		at("loop.completion_timeout", "to exit after the agent said that it is done", duration(),
			func(c *Config) *time.Duration { return &c.Loop.CompletionTimeout }, atMost),
		at("loop.empty_retries", "of an iteration without any output", whole(0, many),
			func(c *Config) *int { return &c.Loop.EmptyRetries }, atMost),
		at("loop.max_consecutive_errors", "in a row; 0 is off", whole(0, many),
			func(c *Config) *int { return &c.Loop.MaxErrors }, atMostOrNone),
		at("loop.max_same_error", "the same error in a row; 0 is off", whole(0, many),
			func(c *Config) *int { return &c.Loop.MaxSameError }, atMostOrNone),
		at("loop.max_no_progress", "iterations in a row that bring nothing; 0 is off", whole(0, many),
			func(c *Config) *int { return &c.Loop.MaxNoProgress }, atMostOrNone),
		at("loop.max_denials", "iterations in a row in which tool calls were denied; 0 is off", whole(0, many),
			func(c *Config) *int { return &c.Loop.MaxDenials }, atMostOrNone),
		at("loop.cool_down", "before one more try after too many of these; 0 ends the run at once", durationOrNone(),
			func(c *Config) *time.Duration { return &c.Loop.CoolDown }, usersWordOr[time.Duration](0)),
		at("loop.max_wait", "the longest wait for a provider's limit to end; 0 never waits", durationOrNone(),
			func(c *Config) *time.Duration { return &c.Loop.MaxWait }, atMost),
		at("loop.idle_threshold", "iterations without a change after which work that passes validation is done; 0 is off", whole(0, many),
			func(c *Config) *int { return &c.Loop.IdleThreshold }, atMostOrNone),
	}
}

// aTag takes a text that nobody says by chance, on one line.
func aTag(s string) string {
	switch why := anyText(s); {
	case why != "":
		return why
	case len(s) < 4 || len(s) > 200:
		return "must have 4 to 200 characters"
	case strings.TrimSpace(s) != s:
		return "begins or ends with a space"
	case strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }):
		return "holds a character that cannot be printed"
	}
	return ""
}
