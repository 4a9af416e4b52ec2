package mini

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/anthropics/anthropic-sdk-go"
)

const (
	// maxTries of one call. Every try may cost.
	maxTries = 4
	// maxWait is the longest wait for one. A provider that asks for more means a
	// limit of hours, which is for whoever runs the agent to wait for.
	maxWait = time.Minute
)

var errBrokenOff = errors.New("the answer broke off")

// call asks the model, and again where that may help.
func (a *agent) call(ctx context.Context) (*anthropic.Message, *failure) {
	for try := 1; ; try++ {
		message, err := a.ask(ctx)
		if err == nil {
			return message, nil
		}
		f := classify(ctx, err)
		wait := a.waitBefore(try, f)
		if !f.retry || try == maxTries || f.wait > maxWait {
			return nil, f
		}
		a.events.emit(retryEvent{"retry", try, maxTries - 1, wait.Milliseconds(), f.told()})
		if a.events.err != nil || !sleep(ctx, wait) {
			return nil, &failure{reason: Interrupted, message: "interrupted"}
		}
	}
}

// waitBefore is the wait before the next try: what the provider asks for, or one
// that doubles, spread so that many agents do not come back at once.
func (a *agent) waitBefore(try int, f *failure) time.Duration {
	if f.wait > 0 {
		return f.wait
	}
	wait := min(a.options.Backoff<<(try-1), maxWait)
	return wait - rand.N(wait/4+1)
}

// sleep waits, and tells whether it could do so to the end.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// ask makes one call and reads its answer to the end. Only a whole answer
// counts: a half one could be a command that is cut in the middle.
func (a *agent) ask(ctx context.Context) (*anthropic.Message, error) {
	answer := a.client.Messages.NewStreaming(ctx, a.request())
	defer answer.Close()
	var message anthropic.Message
	whole := false
	for answer.Next() {
		event := answer.Current()
		if err := message.Accumulate(event); err != nil {
			return nil, err
		}
		whole = whole || event.Type == "message_stop"
	}
	if err := answer.Err(); err != nil {
		return nil, err
	}
	if !whole {
		return nil, errBrokenOff
	}
	return &message, nil
}

func (a *agent) request() anthropic.MessageNewParams {
	return anthropic.MessageNewParams{
		Model:     a.options.Model,
		MaxTokens: a.options.MaxOutputTokens,
		System:    []anthropic.TextBlockParam{{Text: a.options.System, CacheControl: anthropic.NewCacheControlEphemeralParam()}},
		Tools:     []anthropic.ToolUnionParam{shellTool()},
		Messages:  a.talk.marked(),
	}
}
