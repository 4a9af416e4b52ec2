// Package notify tells a person that a run ended or needs them: by a command on
// the host, a webhook, or a note on the desktop.
//
// A message carries words of the agent, which is hostile: they are made harmless
// here, once for all channels, and again for what each channel would take for
// more than text. See clean.go and chat.go.
package notify

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Message is what a person is told. Its texts may be anything; every channel
// makes them harmless before it uses them.
type Message struct {
	Run       string    `json:"run"`
	Status    string    `json:"status"`
	Reason    string    `json:"reason"` // at most 500 characters, one line
	Project   string    `json:"project"`
	Agent     string    `json:"agent"`
	Iteration int       `json:"iteration"`
	CostUSD   string    `json:"cost_usd"`
	Question  string    `json:"question"` // at most 4000 characters
	Next      string    `json:"next"`     // the command that goes on, as "ralph resume 2026..."
	At        time.Time `json:"at"`
}

// Channel is a way to a person.
type Channel interface {
	// Name is one word for the record: command, webhook, desktop.
	Name() string
	// Send returns when the message was handed over, or when ctx ends. Its error
	// holds no secret of the channel.
	Send(ctx context.Context, m Message) error
}

// Result is how sending by one channel went.
type Result struct {
	Channel string
	Err     error
}

const (
	sendTime  = 30 * time.Second // what a channel has
	graceTime = 5 * time.Second  // what it has more, to stop and say why
)

// Send sends the message by all channels at once and returns their results in the
// order of the channels. Each has 30 seconds, or less if ctx ends. A channel that
// panics or does not stop in time is an error, and holds up nobody.
func Send(ctx context.Context, channels []Channel, m Message) []Result {
	m = m.clean()
	results := make([]Result, len(channels))
	var all sync.WaitGroup
	for i, channel := range channels {
		all.Go(func() {
			results[i] = Result{Channel: nameOf(channel), Err: sendBy(ctx, channel, m)}
		})
	}
	all.Wait()
	return results
}

// sendBy waits for a channel no longer than its time and the grace, even if it does
// not listen to its context.
func sendBy(ctx context.Context, channel Channel, m Message) error {
	ctx, cancel := context.WithTimeout(ctx, sendTime)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- guarded(ctx, channel, m) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-done:
		return err
	case <-time.After(graceTime):
		return fmt.Errorf("sending did not stop in time: %w", ctx.Err())
	}
}

// guarded turns a panic into an error: a run does not fail for want of a note.
func guarded(ctx context.Context, channel Channel, m Message) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("sending panicked: %v", p)
		}
	}()
	return channel.Send(ctx, m)
}

// nameOf is the channel's name, or nothing if asking for it panics.
func nameOf(channel Channel) (name string) {
	defer func() { _ = recover() }()
	return channel.Name()
}
