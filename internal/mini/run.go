package mini

import (
	"context"
	"fmt"
	"time"

	"github.com/anthropics/anthropic-sdk-go"
)

// agent is one run.
type agent struct {
	options Options
	client  anthropic.Client
	shell   shell
	talk    *conversation
	events  *stream
	result  Result
}

// Run works on the prompt until the model is done, a limit is reached or
// something fails, and tells what happens on options.Out. An error means that it
// could not be told.
func Run(ctx context.Context, options Options) (Result, error) {
	started := time.Now()
	a := &agent{options: options.withDefaults(), events: &stream{out: options.Out}}
	reason, message := a.run(ctx)
	a.result.Type, a.result.Reason, a.result.OK = "result", reason, reason == Done
	a.result.Message = limit(clean(message), maxShown)
	a.result.DurationMS = time.Since(started).Milliseconds()
	a.events.emit(a.result)
	return a.result, a.events.err
}

func (a *agent) run(ctx context.Context) (Reason, string) {
	if err := a.options.check(); err != nil {
		return Misconfigured, err.Error()
	}
	prompt, err := readPrompt(a.options.In)
	if err != nil {
		return Misconfigured, err.Error()
	}
	a.client = newClient(a.options.Access)
	a.shell = newShell(a.options.Dir, a.options.Environ, a.options.ToolTimeout)
	a.talk = newConversation(a.options.System, prompt)
	a.events.emit(initEvent{"init", "mini", a.options.Model, []string{toolName}, a.options.MaxTurns, a.options.MaxOutputTokens})
	return a.loop(ctx)
}

// loop takes turns with the model.
func (a *agent) loop(ctx context.Context) (Reason, string) {
	for a.result.Turns < a.options.MaxTurns {
		if !a.fits() {
			return ContextFull, fmt.Sprintf("the conversation has some %d tokens, and the model holds %d with an answer of %d", a.talk.tokens, a.options.Window, a.options.MaxOutputTokens)
		}
		message, failed := a.call(ctx)
		if failed != nil {
			a.noteFailure(failed)
			return failed.reason, failed.message
		}
		a.note(message)
		if reason, ended := a.respond(ctx, message); ended {
			return reason, closing(reason, message)
		}
		if a.events.err != nil || ctx.Err() != nil {
			return Interrupted, "interrupted"
		}
	}
	return MaxTurns, fmt.Sprintf("not done after %d turns", a.result.Turns)
}

// fits makes room when the conversation has grown over two thirds of what there
// is, and tells whether there is enough for another call.
func (a *agent) fits() bool {
	room := a.options.Window - a.options.MaxOutputTokens
	if a.talk.tokens > room*2/3 {
		if results, bytes := a.talk.shorten(); results > 0 {
			a.events.emit(shortenedEvent{"shortened", results, bytes})
		}
	}
	return a.talk.tokens <= room
}

// noteFailure tells of a call that is not made again.
func (a *agent) noteFailure(f *failure) {
	if f.reason == Interrupted {
		return
	}
	a.events.emit(errorEvent{"error", f.told()})
	a.result.Status = f.status
	if f.wait > 0 && (f.reason == RateLimited || f.reason == Overloaded) {
		a.result.RetryAt = time.Now().Add(f.wait).UTC()
	}
}

// note takes an answer into the count and the conversation, and tells its words.
func (a *agent) note(m *anthropic.Message) {
	a.result.Turns++
	usage := usageOf(m.Usage)
	a.result.Usage = a.result.Usage.plus(usage)
	a.events.emit(usageEvent{"usage", a.result.Turns, usage})
	for _, block := range m.Content {
		if block.Type == "text" && block.Text != "" {
			a.events.emit(textEvent{"text", shorten(clean(block.Text), maxText)})
		}
	}
}

// respond does what an answer asks for, and tells whether it was the last.
func (a *agent) respond(ctx context.Context, m *anthropic.Message) (Reason, bool) {
	switch m.StopReason {
	case anthropic.StopReasonRefusal:
		return Refused, true
	case "model_context_window_exceeded":
		return ContextFull, true
	}
	calls := toolCalls(m)
	cut := m.StopReason == anthropic.StopReasonMaxTokens
	if len(calls) == 0 && !cut {
		return Done, true
	}
	if len(m.Content) > 0 {
		a.talk.answered(m)
	}
	if len(calls) == 0 {
		a.talk.say("Your answer was cut off at the output limit. Go on, in smaller steps.")
		return "", false
	}
	a.talk.results(a.runTools(ctx, calls, cut))
	return "", false
}

func toolCalls(m *anthropic.Message) (calls []anthropic.ContentBlockUnion) {
	for _, block := range m.Content {
		if block.Type == "tool_use" {
			calls = append(calls, block)
		}
	}
	return calls
}

// closing is what is said of an answer that ended the run.
func closing(reason Reason, m *anthropic.Message) string {
	switch reason {
	case Refused:
		return "the model refuses to go on"
	case ContextFull:
		return "the conversation fills what the model can hold"
	}
	return lastWords(m)
}

// lastWords is the last text of an answer.
func lastWords(m *anthropic.Message) string {
	words := ""
	for _, block := range m.Content {
		if block.Type == "text" && block.Text != "" {
			words = block.Text
		}
	}
	return words
}
