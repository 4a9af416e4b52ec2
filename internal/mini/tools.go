package mini

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/anthropics/anthropic-sdk-go"
)

// runTools runs the tool calls of one answer, in order. Every call gets a
// result, as the provider demands. Of an answer that was cut the last call is
// not run, for it may not be whole.
func (a *agent) runTools(ctx context.Context, calls []anthropic.ContentBlockUnion, cut bool) []anthropic.ContentBlockParamUnion {
	var blocks []anthropic.ContentBlockParamUnion
	for i, call := range calls {
		o := a.runTool(ctx, call, cut && i == len(calls)-1)
		blocks = append(blocks, anthropic.NewToolResultBlock(call.ID, o.text, o.failed()))
	}
	return blocks
}

// runTool runs one call. What is wrong with it goes back to the model.
func (a *agent) runTool(ctx context.Context, call anthropic.ContentBlockUnion, cut bool) outcome {
	c, err := parseCommand(call.Input)
	switch {
	case call.Name != toolName:
		err = fmt.Errorf("there is no tool %q, only %s", limit(call.Name, 100), toolName)
	case cut:
		err = errors.New("the call was cut off at the output limit; write less at once")
	case ctx.Err() != nil:
		err = errors.New("interrupted")
	}
	started := time.Now()
	a.events.emit(callEvent{"tool_call", clean(call.ID), clean(limit(call.Name, 100)), limit(clean(c.Command), maxShown)})
	o := outcome{exit: -1}
	if err != nil {
		o.text = clean(fmt.Sprintf("[not run: %v]", err))
	} else {
		o = a.shell.run(ctx, c)
	}
	a.tellResult(call, o, time.Since(started))
	return o
}

func (a *agent) tellResult(call anthropic.ContentBlockUnion, o outcome, took time.Duration) {
	a.events.emit(toolResultEvent{
		Type: "tool_result", ID: clean(call.ID), OK: !o.failed(), ExitCode: o.exit, TimedOut: o.timedOut,
		OutputBytes: o.total, DurationMS: took.Milliseconds(), Output: shorten(o.text, maxShown),
	})
}
