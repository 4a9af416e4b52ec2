package meter

import "strings"

// anthropicTool is a tool of a request.
type anthropicTool struct {
	kind     string
	uses     int64
	saysUses bool
	callers  callers
}

// callers are who may call a tool.
type callers int

const (
	callersDefault callers = iota // as the version of the tool has it
	callersModel
	callersCode // code that the provider runs
)

func (w *walker) anthropicTool() error {
	w.tools++
	start, before := w.dec.InputOffset(), w.respelled
	var tool anthropicTool
	err := w.object(func(field string) (err error) {
		switch field {
		case "type":
			tool.kind, err = w.optional()
		case "max_uses":
			tool.uses, tool.saysUses, err = w.count()
		case "allowed_callers":
			tool.callers, err = w.callers()
		case "cache_control":
			err = w.cacheControl()
		case "definition": // of a tool that a message adds
			err = w.anthropicTool()
		default:
			err = w.skip()
		}
		return err
	})
	w.largestTool = max(w.largestTool, w.dec.InputOffset()-start+marginTool+w.respelled-before)
	w.judgeTool(tool)
	return err
}

// callers reads who may call a tool.
func (w *walker) callers() (callers, error) {
	if w.dec.PeekKind() == 'n' {
		return callersDefault, w.dec.SkipValue()
	}
	found := callersModel
	err := w.array(func() error {
		caller, err := w.text()
		if caller != "direct" {
			found = callersCode
		}
		return err
	})
	return found, err
}

func (w *walker) judgeTool(t anthropicTool) {
	switch {
	case t.kind == "" || t.kind == "custom" || t.kind == "tool_definition":
	case t.kind == "tool_reference":
		w.references++
	case clientTool(t.kind):
		w.builtIns++
	case strings.HasPrefix(t.kind, "web_search_") || strings.HasPrefix(t.kind, "web_fetch_"):
		w.webTool(t)
	case serverTool(t.kind):
		w.unbounded("tools", "%s runs with the provider for as long as the model likes", t.kind)
	default:
		w.unbounded("tools", "the tool type %.60q is not known here", t.kind)
	}
}

// clientTool tells the tools whose schema the provider has and which the client
// runs.
func clientTool(kind string) bool {
	for _, family := range []string{"bash_2", "text_editor_2", "memory_2", "computer_2", "computer_toolset_2", "browser_toolset_2"} {
		if strings.HasPrefix(kind, family) {
			return true
		}
	}
	return false
}

func serverTool(kind string) bool {
	for _, family := range []string{"code_execution_", "advisor_", "mcp_toolset", "tool_search_tool_"} {
		if strings.HasPrefix(kind, family) {
			return true
		}
	}
	return false
}

// webTool bounds a search or fetch by its uses. Versions after the first may be
// called by code too, in a loop whose length is not limited by the uses.
func (w *walker) webTool(t anthropicTool) {
	byCode := t.callers == callersCode ||
		t.callers == callersDefault && t.kind != "web_search_20250305" && t.kind != "web_fetch_20250910"
	switch {
	case !t.saysUses:
		w.unbounded("tools", "%.60q has no max_uses", t.kind)
	case w.serverUses+t.uses > maxUses:
		w.unbounded("tools", "max_uses is over %d in all", maxUses)
	case byCode:
		w.unbounded("tools", `%.60q may be called by code: allowed_callers must be ["direct"]`, t.kind)
	default:
		w.reaches("the tool " + t.kind)
		w.serverTools = true
		w.serverUses += t.uses
		if strings.HasPrefix(t.kind, "web_search_") {
			w.call.WebSearches += t.uses
		}
	}
}
