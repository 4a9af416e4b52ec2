package meter

import "strings"

func (w *walker) anthropicMessage() error {
	w.blocks++
	return w.object(func(field string) error {
		switch field {
		case "content":
			return w.anthropicBlocks()
		case "role", "output_config", "clear_at":
		default:
			w.unknown("a message", field)
		}
		return w.skip()
	})
}

// anthropicBlocks reads content: a text, a block or a list of blocks.
func (w *walker) anthropicBlocks() error {
	switch w.dec.PeekKind() {
	case '[':
		return w.array(w.anthropicBlock)
	case '{':
		return w.anthropicBlock()
	}
	return w.dec.SkipValue()
}

// block is what is known of a block when all of it has been read, for its type
// may come last.
type block struct {
	kind   string
	source source
}

// source is where the content of an image or document is.
type source struct {
	kind  string
	bytes int64 // of its data, as it is spelled in the request
}

func (w *walker) anthropicBlock() error {
	w.blocks++
	var b block
	err := w.object(func(field string) (err error) {
		switch field {
		case "type":
			b.kind, err = w.text()
			return err
		case "source":
			return w.source(&b.source)
		case "content":
			return w.anthropicBlocks()
		case "tool":
			return w.anthropicTool()
		case "tool_changes":
			return w.array(w.anthropicBlock)
		case "citations":
			return w.citations()
		case "cache_control":
			return w.cacheControl()
		}
		return w.skip()
	})
	w.judge(b)
	return err
}

// judge counts a block that was read.
func (w *walker) judge(b block) {
	switch {
	case b.kind == "image" && b.source.kind == "base64":
		w.images++
		w.imageBytes += b.source.bytes
	case b.kind == "image":
		w.call.FillsWindow = true
	case b.kind == "document":
		// The pages of a PDF count as images too, however few its bytes are.
		if b.source.kind != "text" && b.source.kind != "content" {
			w.call.FillsWindow = true
		}
	case b.kind == "tool_reference":
		w.references++
	case b.kind == "container_upload":
		w.unbounded("content", "it uploads a file to a container")
	case !knownBlock(b.kind):
		w.unknown("a content block's type", b.kind)
	}
}

// knownBlock tells the blocks that hold all their text.
func knownBlock(kind string) bool {
	switch kind {
	case "text", "thinking", "redacted_thinking", "search_result", "compaction", "fallback",
		"tool_use", "tool_result", "tool_addition", "tool_removal",
		"server_tool_use", "web_search_result", "web_fetch_result", "mcp_tool_use", "mcp_tool_result",
		"tool_search_tool_search_result":
		return true
	}
	return strings.HasSuffix(kind, "_tool_result") || strings.HasSuffix(kind, "_tool_result_error")
}

// source reads where content is. In a search result it is but a name.
func (w *walker) source(s *source) error {
	if w.dec.PeekKind() != '{' {
		return w.dec.SkipValue()
	}
	return w.object(func(field string) (err error) {
		switch field {
		case "type":
			s.kind, err = w.text()
			return err
		case "data":
			raw, err := w.dec.ReadValue()
			s.bytes = int64(len(raw))
			return err
		case "url":
			return w.remote("content that is given by its URL")
		case "content":
			return w.anthropicBlocks()
		}
		return w.dec.SkipValue()
	})
}

// citations reads whether a document is to be cited. Then each sentence is
// wrapped, and one may be as short as two bytes. A list is of citations made.
func (w *walker) citations() error {
	if w.dec.PeekKind() != '{' {
		return w.dec.SkipValue()
	}
	return w.object(func(field string) error {
		enabled, err := w.flag()
		if field == "enabled" && enabled {
			w.call.FillsWindow = true
		}
		return err
	})
}
