package meter

// openAITool reads a tool. Those in a namespace are tools too.
func (w *walker) openAITool() error {
	w.tools++
	kind, where := "", ""
	err := w.object(func(field string) (err error) {
		switch field {
		case "type":
			kind, err = w.text()
		case "execution":
			where, err = w.optional()
		case "environment":
			where, err = w.environment()
		case "tools":
			err = w.array(w.openAITool)
		default:
			err = w.dec.SkipValue()
		}
		return err
	})
	w.judgeOpenAITool(kind, where)
	return err
}

// environment reads where a shell runs.
func (w *walker) environment() (where string, err error) {
	err = w.object(func(field string) (err error) {
		if field != "type" {
			return w.dec.SkipValue()
		}
		where, err = w.text()
		return err
	})
	return where, err
}

func (w *walker) judgeOpenAITool(kind, where string) {
	switch kind {
	case "function", "custom", "namespace":
	case "local_shell", "apply_patch", "computer", "computer_use_preview":
		w.builtIns++
	case "shell":
		w.builtIns++
		if where != "local" {
			w.unbounded("tools", "the shell does not say that its environment is local")
		}
	case "tool_search":
		w.builtIns++
		if where != "client" {
			w.unbounded("tools", "tool_search does not say that the client executes it")
		}
	case "web_search", "web_search_preview":
		w.unbounded("tools", "%s runs with the provider for as long as the model likes: switch it off in the agent", kind)
	case "file_search", "code_interpreter", "image_generation", "mcp", "programmatic_tool_calling":
		w.unbounded("tools", "%s runs with the provider for as long as the model likes", kind)
	default:
		w.unbounded("tools", "the tool type %.60q is not known here", kind)
	}
}
