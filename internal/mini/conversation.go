package mini

import (
	"github.com/anthropics/anthropic-sdk-go"
)

const (
	// keepResults of the newest tool results stay whole when old ones are cut.
	keepResults = 6
	// shortResult is what remains of an old one.
	shortResult = 1 << 10
	// bytesPerToken is on the safe side for code, which has three to four.
	bytesPerToken = 3
)

// conversation is what the model is sent. It knows about how many tokens that
// is: what the last call counted, and an estimate of what came since.
type conversation struct {
	messages []anthropic.MessageParam
	tokens   int64
}

func newConversation(system, prompt string) *conversation {
	c := &conversation{tokens: int64(len(system)+len(toolDescription)) / bytesPerToken}
	c.say(prompt)
	return c
}

// say adds words of the user.
func (c *conversation) say(text string) {
	c.tokens += int64(len(text)) / bytesPerToken
	c.messages = append(c.messages, anthropic.NewUserMessage(anthropic.NewTextBlock(text)))
}

// answered adds an answer of the model, and with it the true count.
func (c *conversation) answered(m *anthropic.Message) {
	c.messages = append(c.messages, m.ToParam())
	c.tokens = max(usageOf(m.Usage).total(), 0)
}

// results adds the results of tool calls.
func (c *conversation) results(blocks []anthropic.ContentBlockParamUnion) {
	for _, b := range blocks {
		c.tokens += int64(len(resultText(b))) / bytesPerToken
	}
	c.messages = append(c.messages, anthropic.NewUserMessage(blocks...))
}

// shorten cuts old tool results. It is done to all of them at once and seldom:
// every change of what came before loses the cache behind it.
func (c *conversation) shorten() (results, bytes int) {
	old := c.toolResults()
	old = old[:max(len(old)-keepResults, 0)]
	for _, b := range old {
		text := resultText(*b)
		if len(text) <= 2*shortResult {
			continue // cut before, or not worth it
		}
		short := shorten(text, shortResult)
		*b = anthropic.NewToolResultBlock(b.OfToolResult.ToolUseID, short, b.OfToolResult.IsError.Value)
		results, bytes = results+1, bytes+len(text)-len(short)
	}
	c.tokens = max(c.tokens-int64(bytes)/(bytesPerToken+1), 0)
	return results, bytes
}

// toolResults are all results in the conversation, the oldest first.
func (c *conversation) toolResults() []*anthropic.ContentBlockParamUnion {
	var found []*anthropic.ContentBlockParamUnion
	for _, m := range c.messages {
		for i := range m.Content {
			if m.Content[i].OfToolResult != nil {
				found = append(found, &m.Content[i])
			}
		}
	}
	return found
}

func resultText(b anthropic.ContentBlockParamUnion) string {
	if b.OfToolResult == nil || len(b.OfToolResult.Content) == 0 || b.OfToolResult.Content[0].OfText == nil {
		return ""
	}
	return b.OfToolResult.Content[0].OfText.Text
}

// marked returns the messages with a mark for the cache at their end, so that
// the next call reads all of this one instead of paying for it. The mark is put
// on a copy: marks that stay behind would run out, as four are allowed.
func (c *conversation) marked() []anthropic.MessageParam {
	messages := append([]anthropic.MessageParam(nil), c.messages...)
	last := &messages[len(messages)-1]
	last.Content = append([]anthropic.ContentBlockParamUnion(nil), last.Content...)
	switch block := &last.Content[len(last.Content)-1]; {
	case block.OfText != nil:
		text := *block.OfText
		text.CacheControl = anthropic.NewCacheControlEphemeralParam()
		block.OfText = &text
	case block.OfToolResult != nil:
		result := *block.OfToolResult
		result.CacheControl = anthropic.NewCacheControlEphemeralParam()
		block.OfToolResult = &result
	}
	return messages
}
