package meter

// openAITool is what is known of a tool when all of it has been read.
type openAITool struct {
	kind        string
	execution   string // of a tool search
	environment string // of a shell
}

// openAITool reads a tool. Those in a namespace are tools too.
func (w *walker) openAITool() error {
	w.tools++
	var tool openAITool
	err := w.object(func(field string) (err error) {
		switch field {
		case "type":
			tool.kind, err = w.text()
		case "execution":
			tool.execution, err = w.optional()
		case "environment":
			tool.environment, err = w.environment()
		case "tools":
			err = w.array(w.openAITool)
		default:
			err = w.skip()
		}
		return err
	})
	w.judgeOpenAITool(tool)
	return err
}

// environment reads where a shell runs; of a computer it is a name alone.
func (w *walker) environment() (where string, err error) {
	if w.dec.PeekKind() == '"' {
		return "", w.dec.SkipValue()
	}
	err = w.object(func(field string) (err error) {
		if field != "type" {
			return w.dec.SkipValue()
		}
		where, err = w.text()
		return err
	})
	return where, err
}

func (w *walker) judgeOpenAITool(t openAITool) {
	switch t.kind {
	case "function", "custom", "namespace":
	case "local_shell", "apply_patch", "computer", "computer_use_preview":
		w.builtIns++
	case "shell":
		w.builtIns++
		if t.environment != "local" {
			w.unbounded("tools", "the shell does not say that its environment is local")
		}
	case "tool_search":
		w.builtIns++
		if t.execution != "client" {
			w.unbounded("tools", "tool_search does not say that the client executes it")
		}
	case "web_search", "web_search_preview":
		w.unbounded("tools", "%s runs with the provider for as long as the model likes: switch it off in the agent", t.kind)
	case "file_search", "code_interpreter", "image_generation", "mcp", "programmatic_tool_calling":
		w.unbounded("tools", "%s runs with the provider for as long as the model likes", t.kind)
	default:
		w.unbounded("tools", "the tool type %.60q is not known here", t.kind)
	}
}
