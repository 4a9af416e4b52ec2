package meter

// googleTool reads a tool: a list of functions that the client runs, or one that
// Google runs itself.
func (w *walker) googleTool() error {
	return w.object(func(field string) error {
		switch field {
		case "functionDeclarations":
			return w.array(w.googleDeclaration)
		case "googleSearch", "googleSearchRetrieval", "urlContext", "googleMaps", "codeExecution", "fileSearch", "mcpServers":
			return w.providersTool(field)
		case "computerUse":
			w.builtIns++
			return w.skip()
		}
		w.unknown("tools", field)
		return w.skip()
	})
}

// providersTool refuses a tool that runs with the provider. None can be told how
// often, and searches cost money of their own. One with all its defaults is an
// empty object, so only a null is none.
func (w *walker) providersTool(name string) error {
	if w.dec.PeekKind() != 'n' {
		w.unbounded("tools", "%s runs with the provider for as long as the model likes: switch it off in the agent", name)
	}
	return w.skip()
}

func (w *walker) googleDeclaration() error {
	w.tools++
	return w.object(func(field string) error {
		switch field {
		case "name", "description", "parameters", "parametersJsonSchema", "response", "responseJsonSchema", "behavior":
		default:
			w.unknown("a function's declaration", field)
		}
		return w.skip()
	})
}

func (w *walker) googleToolConfig(field string) error {
	switch field {
	case "functionCallingConfig", "retrievalConfig":
	default:
		w.unknown("toolConfig", field)
	}
	return w.skip()
}
