package modeltest

import "fmt"

// responses is the dialect of POST /v1/responses.
var responses = dialect{stream: responsesStream, whole: responsesWhole, fail: openAIFailure}

func openAIFailure(kind, message string) string { return OpenAIError(kind, "", message) }

func responsesStream(c call, t Turn) []event {
	whole := responsesWhole(c, t)
	output, _ := whole["output"].([]object)
	events := []event{
		responsesEvent("response.created", object{"response": begun(whole)}),
		responsesEvent("response.in_progress", object{"response": begun(whole)}),
		responsesEvent("response.output_item.added", object{"output_index": 0, "item": emptied(output[0])}),
	}
	if t.command == "" {
		events = append(events, responsesEvent("response.output_text.delta", object{
			"output_index": 0, "content_index": 0, "item_id": output[0]["id"], "delta": t.text,
		}))
	}
	return append(events,
		responsesEvent("response.output_item.done", object{"output_index": 0, "item": output[0]}),
		responsesEvent("response.completed", object{"response": whole}))
}

func responsesEvent(name string, data object) event {
	data["type"] = name
	return event{name, marshal(data)}
}

// begun is a response of which nothing has come yet.
func begun(whole object) object {
	return object{"id": whole["id"], "object": "response", "status": "in_progress", "model": whole["model"], "output": []object{}}
}

// emptied is an output item as it is announced.
func emptied(item object) object {
	announced := object{}
	for name, value := range item {
		announced[name] = value
	}
	announced["status"] = "in_progress"
	switch item["type"] {
	case "message":
		announced["content"] = []object{}
	case "function_call":
		announced["arguments"] = ""
	default:
		announced["input"] = ""
	}
	return announced
}

func responsesWhole(c call, t Turn) object {
	return object{
		"id": fmt.Sprintf("resp_%02d", c.number), "object": "response", "created_at": 1, "status": "completed",
		"model": c.Model, "output": []object{responsesItem(c, t)}, "error": nil, "incomplete_details": nil,
		"usage": object{
			"input_tokens":          t.usage.total(),
			"input_tokens_details":  object{"cached_tokens": t.usage.CacheRead, "cache_write_tokens": t.usage.CacheWrite},
			"output_tokens":         t.usage.Output,
			"output_tokens_details": object{"reasoning_tokens": 0},
			"total_tokens":          t.usage.total() + t.usage.Output,
		},
	}
}

func responsesItem(c call, t Turn) object {
	if t.command == "" {
		return object{
			"type": "message", "id": fmt.Sprintf("msg_%02d", c.number), "role": "assistant", "status": "completed",
			"content": []object{{"type": "output_text", "text": t.text, "annotations": []object{}}},
		}
	}
	item := c.codexShell(t.command)
	item["id"], item["call_id"], item["status"] = fmt.Sprintf("item_%02d", c.number), fmt.Sprintf("call_%02d", c.number), "completed"
	return item
}

// chat is the dialect of POST /v1/chat/completions.
var chat = dialect{stream: chatStream, whole: chatWhole, fail: openAIFailure}

func chatStream(c call, t Turn) []event {
	whole := chatWhole(c, t)
	choices, _ := whole["choices"].([]object)
	message, _ := choices[0]["message"].(object)
	if calls, ok := message["tool_calls"].([]object); ok {
		calls[0]["index"] = 0
	}
	chunk := func(delta object, finish any) event {
		return event{data: marshal(object{
			"id": whole["id"], "object": "chat.completion.chunk", "created": 1, "model": c.Model,
			"choices": []object{{"index": 0, "delta": delta, "finish_reason": finish}},
		})}
	}
	return []event{
		chunk(object{"role": "assistant", "content": ""}, nil),
		chunk(message, nil),
		chunk(object{}, choices[0]["finish_reason"]),
		{data: marshal(object{
			"id": whole["id"], "object": "chat.completion.chunk", "created": 1, "model": c.Model,
			"choices": []object{}, "usage": whole["usage"],
		})},
		{data: "[DONE]"},
	}
}

func chatWhole(c call, t Turn) object {
	message, finish := object{"role": "assistant", "content": t.text}, "stop"
	if t.command != "" {
		finish = "tool_calls"
		message["tool_calls"] = []object{{
			"id": fmt.Sprintf("call_%02d", c.number), "type": "function",
			"function": object{"name": c.shell("bash"), "arguments": marshal(object{"command": t.command, "description": "as scripted"})},
		}}
	}
	return object{
		"id": fmt.Sprintf("chatcmpl_%02d", c.number), "object": "chat.completion", "created": 1, "model": c.Model,
		"choices": []object{{"index": 0, "message": message, "finish_reason": finish}},
		"usage": object{
			"prompt_tokens": t.usage.total(), "completion_tokens": t.usage.Output, "total_tokens": t.usage.total() + t.usage.Output,
			"prompt_tokens_details": object{"cached_tokens": t.usage.CacheRead},
		},
	}
}
