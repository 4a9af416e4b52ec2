package modeltest

import "fmt"

// anthropic is the dialect of POST /v1/messages.
var anthropic = dialect{stream: anthropicStream, whole: anthropicMessage, fail: AnthropicError}

func anthropicStream(c call, t Turn) []event {
	message := anthropicMessage(c, t)
	block, _ := message["content"].([]object)
	final := message["usage"]
	begun := anthropicUsage(t.usage)
	begun["output_tokens"] = 1
	message["content"], message["usage"], message["stop_reason"] = []object{}, begun, nil

	start, delta := anthropicBlock(block[0])
	return []event{
		anthropicEvent("message_start", object{"message": message}),
		anthropicEvent("content_block_start", object{"index": 0, "content_block": start}),
		anthropicEvent("ping", object{}),
		anthropicEvent("content_block_delta", object{"index": 0, "delta": delta}),
		anthropicEvent("content_block_stop", object{"index": 0}),
		anthropicEvent("message_delta", object{"delta": object{"stop_reason": stopReason(t), "stop_sequence": nil}, "usage": final}),
		anthropicEvent("message_stop", object{}),
	}
}

func anthropicEvent(name string, data object) event {
	data["type"] = name
	return event{name, marshal(data)}
}

// anthropicBlock splits a block into its empty beginning and the delta that
// brings what it holds.
func anthropicBlock(block object) (start, delta object) {
	if block["type"] == "text" {
		return object{"type": "text", "text": ""}, object{"type": "text_delta", "text": block["text"]}
	}
	start = object{"type": "tool_use", "id": block["id"], "name": block["name"], "input": object{}}
	return start, object{"type": "input_json_delta", "partial_json": marshal(block["input"])}
}

func anthropicMessage(c call, t Turn) object {
	block := object{"type": "text", "text": t.text}
	if t.command != "" {
		block = object{
			"type": "tool_use", "id": fmt.Sprintf("toolu_%02d", c.number), "name": c.shell("Bash"),
			"input": object{"command": t.command, "description": "as scripted"},
		}
	}
	return object{
		"id": fmt.Sprintf("msg_%02d", c.number), "type": "message", "role": "assistant", "model": c.Model,
		"content": []object{block}, "stop_reason": stopReason(t), "stop_sequence": nil, "usage": anthropicUsage(t.usage),
	}
}

func stopReason(t Turn) string {
	if t.command != "" {
		return "tool_use"
	}
	return "end_turn"
}

func anthropicUsage(u Usage) object {
	return object{
		"input_tokens": u.Input, "cache_read_input_tokens": u.CacheRead, "cache_creation_input_tokens": u.CacheWrite,
		"cache_creation": object{"ephemeral_5m_input_tokens": u.CacheWrite, "ephemeral_1h_input_tokens": 0},
		"output_tokens":  u.Output, "service_tier": "standard",
	}
}
