package mini

import (
	"fmt"
	"io"
	"time"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

const (
	// maxShown bounds what an event repeats of a command or a message.
	maxShown = 8 << 10
	// maxText bounds the model's words in an event. Both ends are kept: what the
	// last words ask for stands at their end.
	maxText = 1 << 20
)

// Usage counts tokens. Input counts neither what was read from the cache nor what
// was written to it.
type Usage struct {
	Input      int64 `json:"input_tokens"`
	CacheRead  int64 `json:"cache_read_tokens"`
	CacheWrite int64 `json:"cache_write_tokens"`
	Output     int64 `json:"output_tokens"`
}

func usageOf(u anthropic.Usage) Usage {
	return Usage{u.InputTokens, u.CacheReadInputTokens, u.CacheCreationInputTokens, u.OutputTokens}
}

func (u Usage) plus(v Usage) Usage {
	return Usage{u.Input + v.Input, u.CacheRead + v.CacheRead, u.CacheWrite + v.CacheWrite, u.Output + v.Output}
}

// total is how much of the window the call has filled.
func (u Usage) total() int64 { return u.Input + u.CacheRead + u.CacheWrite + u.Output }

// The events, as doc.go lists them. internal/agent reads them.
type (
	initEvent struct {
		Type            string   `json:"type"`
		Agent           string   `json:"agent"`
		Model           string   `json:"model"`
		Tools           []string `json:"tools"`
		MaxTurns        int      `json:"max_turns"`
		MaxOutputTokens int64    `json:"max_output_tokens"`
	}
	textEvent struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	callEvent struct {
		Type    string `json:"type"`
		ID      string `json:"id"`
		Tool    string `json:"tool"`
		Command string `json:"command"`
	}
	toolResultEvent struct {
		Type        string `json:"type"`
		ID          string `json:"id"`
		OK          bool   `json:"ok"`
		ExitCode    int    `json:"exit_code"`
		TimedOut    bool   `json:"timed_out"`
		OutputBytes int64  `json:"output_bytes"`
		DurationMS  int64  `json:"duration_ms"`
		Output      string `json:"output"`
	}
	usageEvent struct {
		Type string `json:"type"`
		Turn int    `json:"turn"`
		Usage
	}
	retryEvent struct {
		Type        string `json:"type"`
		Attempt     int    `json:"attempt"`
		MaxAttempts int    `json:"max_attempts"`
		WaitMS      int64  `json:"wait_ms"`
		failedCall
	}
	errorEvent struct {
		Type string `json:"type"`
		failedCall
	}
	failedCall struct {
		Reason  Reason `json:"reason"`
		Status  int    `json:"status,omitzero"` // of HTTP, if it was an error
		Message string `json:"message"`
	}
	shortenedEvent struct {
		Type    string `json:"type"`
		Results int    `json:"results"`
		Bytes   int    `json:"bytes"`
	}
)

// Result is how a run ended, and the last event.
type Result struct {
	Type       string    `json:"type"`
	OK         bool      `json:"ok"`
	Reason     Reason    `json:"reason"`
	Status     int       `json:"status,omitzero"` // of HTTP, if a call was the reason
	Message    string    `json:"message"`         // the model's last words, or the error
	Turns      int       `json:"turns"`
	Usage      Usage     `json:"usage"`             // of all turns
	RetryAt    time.Time `json:"retry_at,omitzero"` // the provider's wish, when that was too long to wait
	DurationMS int64     `json:"duration_ms"`
}

// stream writes events. The first failure is kept: an agent that nobody can hear
// must not go on spending.
type stream struct {
	out io.Writer
	err error
}

func (s *stream) emit(event any) {
	if s.err != nil {
		return
	}
	line, err := json.Marshal(event, jsontext.AllowInvalidUTF8(true))
	if err == nil {
		_, err = s.out.Write(append(line, '\n'))
	}
	if err != nil {
		s.err = fmt.Errorf("writing an event: %w", err)
	}
}
