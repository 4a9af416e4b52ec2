package meter

import (
	"bytes"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// items reads the input: a text or a list of items.
func (w *walker) items() error {
	if w.dec.PeekKind() == '"' {
		return w.dec.SkipValue()
	}
	return w.array(w.item)
}

// item is what is known of an input item, or of a chat message, when all of it
// has been read.
type item struct {
	kind       string
	hasRole    bool
	hasContent bool
	sealed     bool // brings its text, encrypted
}

func (w *walker) item() error {
	w.blocks++
	var it item
	err := w.object(func(field string) (err error) {
		switch field {
		case "type":
			it.kind, err = w.optional()
		case "role":
			it.hasRole = w.dec.PeekKind() == '"'
			err = w.dec.SkipValue()
		case "content", "output":
			it.hasContent = it.hasContent || field == "content" && w.dec.PeekKind() != 'n'
			err = w.parts()
		case "encrypted_content":
			it.sealed = w.dec.PeekKind() == '"'
			err = w.dec.SkipValue()
		case "tools":
			err = w.array(w.openAITool)
		case "audio":
			err = w.refuse("audio", "it refers to sound")
		default:
			err = w.skip()
		}
		return err
	})
	w.judgeItem(it)
	return err
}

// judgeItem counts an item that was read.
func (w *walker) judgeItem(it item) {
	switch it.kind {
	case "":
		// What is no message has an id, which refers to an item.
		if !it.hasRole || !it.hasContent && w.call.API == OpenAIResponses {
			w.call.FillsWindow = true
		}
	case "message", "agent_message", "additional_tools", "configuration_update",
		"function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output",
		"local_shell_call", "local_shell_call_output", "shell_call", "shell_call_output",
		"apply_patch_call", "apply_patch_call_output", "computer_call", "computer_call_output",
		"tool_search_call", "tool_search_output", "mcp_approval_response":
	case "reasoning", "compaction", "context_compaction", "compaction_summary":
		// Otherwise the provider takes what it stored under the id.
		if !it.sealed {
			w.call.FillsWindow = true
		}
	case "compaction_trigger":
		w.call.Compacts = true
	case "item_reference", "web_search_call", "file_search_call", "code_interpreter_call",
		"image_generation_call", "mcp_call", "mcp_list_tools", "mcp_approval_request":
		w.call.FillsWindow = true
	default:
		w.unknown("an item's type", it.kind)
	}
}

// parts reads content: a text, a part or a list of parts.
func (w *walker) parts() error {
	switch w.dec.PeekKind() {
	case '[':
		return w.array(w.part)
	case '{':
		return w.part()
	}
	return w.dec.SkipValue()
}

// part is what is known of a part when all of it has been read.
type part struct {
	kind       string
	detail     string
	inline     int64 // bytes of an image that is in the request
	references bool
}

func (w *walker) part() error {
	w.blocks++
	var p part
	err := w.object(func(field string) error { return w.partField(&p, field) })
	w.judgePart(p)
	return err
}

func (w *walker) partField(p *part, field string) (err error) {
	switch field {
	case "type":
		p.kind, err = w.optional()
	case "detail":
		p.detail, err = w.optional()
	case "url": // within the image_url of a chat message
		err = w.imageURL(p)
	case "image_url":
		if w.dec.PeekKind() == '{' {
			return w.object(func(field string) error { return w.partField(p, field) })
		}
		err = w.imageURL(p)
	case "file_url":
		p.references = true
		err = w.remote("a file that is given by its URL")
	case "file_id":
		absent, found := w.absent()
		p.references, err = p.references || !absent, found
	case "prompt_cache_breakpoint":
		err = w.object(w.cacheOption)
	default:
		err = w.skip()
	}
	return err
}

// imageURL tells an image that is in the request from one that is elsewhere.
func (w *walker) imageURL(p *part) error {
	raw, err := w.dec.ReadValue()
	switch {
	case err != nil || raw.Kind() == 'n':
	case isInlineImage(raw):
		p.inline += int64(len(raw))
	default:
		p.references = true
		w.reaches("an image that is given by its URL")
	}
	return err
}

// isInlineImage wants the plain spelling that clients use.
func isInlineImage(raw jsontext.Value) bool {
	return bytes.HasPrefix(raw, []byte(`"data:image/`))
}

// judgePart counts a part that was read.
func (w *walker) judgePart(p part) {
	switch p.kind {
	case "", "text", "input_text", "output_text", "refusal", "summary_text", "reasoning_text", "encrypted_content":
		w.call.FillsWindow = w.call.FillsWindow || p.references
	case "input_image", "image_url", "computer_screenshot":
		if p.references || p.inline == 0 || p.detail != "low" && p.detail != "high" {
			w.call.FillsWindow = true
			return
		}
		w.images++
		w.imageBytes += p.inline
	case "input_file", "file":
		w.call.FillsWindow = true // its pages may be rendered, at any size
	default:
		if strings.Contains(p.kind, "audio") || strings.Contains(p.kind, "video") {
			w.unbounded("content", "the price of %.40q is not known here", p.kind)
			return
		}
		w.unknown("a content part's type", p.kind)
	}
}
