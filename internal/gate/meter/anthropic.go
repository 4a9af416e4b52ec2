package meter

import "strings"

// anthropicField reads a top-level field of POST /v1/messages.
func (w *walker) anthropicField(field string) error {
	switch field {
	case "max_tokens":
		return w.output()
	case "messages":
		return w.array(w.anthropicMessage)
	case "system":
		return w.anthropicBlocks()
	case "tools":
		return w.array(w.anthropicTool)
	case "cache_control":
		return w.cacheControl()
	case "thinking":
		return w.thinking()
	case "context_management":
		return w.object(w.contextEdits)
	case "compaction":
		absent, err := w.absent()
		w.call.Compacts = w.call.Compacts || !absent
		return err
	case "speed", "service_tier", "inference_geo":
		return w.anthropicTerms(field)
	case "mcp_servers":
		return w.refuse(field, "the provider would call servers for as long as the model likes")
	case "container":
		return w.refuse(field, "a container is billed by time, and its skills load text")
	case "fallbacks":
		return w.refuse(field, "the call would be made again, with other models")
	case "thread":
		return w.refuse(field, "it continues what is stored with the provider")
	}
	return w.other(field)
}

// anthropicTerms reads what multiplies the price.
func (w *walker) anthropicTerms(field string) error {
	value, err := w.optional()
	switch {
	case field == "inference_geo":
		// Without it the workspace's default holds, which may be a region.
		w.call.Regional = value != "global"
	case value == "" || value == "standard" || value == "auto" || value == "standard_only":
		// Priority capacity is paid for in advance, and not per call.
	case field == "speed" && value == "fast":
		w.call.Tier = Fast
	default:
		w.unbounded(field, "the price of %.40q is not known", value)
	}
	return err
}

// thinking reads a budget. Interleaved thinking may spend one that is larger
// than max_tokens.
func (w *walker) thinking() error {
	return w.object(func(field string) error {
		if field != "budget_tokens" {
			return w.dec.SkipValue()
		}
		n, _, err := w.count()
		w.thinkingBudget = max(w.thinkingBudget, n)
		return err
	})
}

// contextEdits reads what the provider may do to the conversation: removing
// makes it smaller, and summarising is one more sampling.
func (w *walker) contextEdits(field string) error {
	if field != "edits" {
		w.unknown("context_management", field)
		return w.dec.SkipValue()
	}
	return w.array(func() error {
		return w.object(func(field string) error {
			if field != "type" {
				return w.dec.SkipValue()
			}
			kind, err := w.text()
			switch {
			case strings.HasPrefix(kind, "clear_"):
			case strings.HasPrefix(kind, "compact_"):
				w.call.Compacts = true
			default:
				w.unknown("context_management.edits", kind)
			}
			return err
		})
	})
}

// cacheControl notes how long a cache entry is asked to live.
func (w *walker) cacheControl() error {
	if w.dec.PeekKind() == 'n' {
		return w.dec.SkipValue()
	}
	w.call.Writes = max(w.call.Writes, Writes5m)
	return w.object(func(field string) error {
		if field != "ttl" {
			return w.dec.SkipValue()
		}
		ttl, err := w.optional()
		if ttl != "" && ttl != "5m" {
			w.call.Writes = Writes1h
		}
		return err
	})
}
