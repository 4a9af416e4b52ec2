package modeltest

import (
	"encoding/json"
	"slices"
)

// tool is one that the agent offered: by its own name, as a function, in a
// namespace of several, or as one of Google's declarations.
type tool struct {
	Name     string `json:"name"`
	Function struct {
		Name string `json:"name"`
	} `json:"function"`
	Tools        []tool `json:"tools"`
	Declarations []tool `json:"functionDeclarations"` // Google's tools
}

// has finds a tool by its name.
func has(tools []tool, name string) bool {
	return slices.ContainsFunc(tools, func(t tool) bool {
		return t.Name == name || t.Function.Name == name || has(t.Tools, name) || has(t.Declarations, name)
	})
}

// item is an element of an OpenAI input; codex may hide its tools in one.
type item struct {
	Tools []tool `json:"tools"`
}

// items is an OpenAI input, which may also be a mere string.
type items []item

// UnmarshalJSON takes from an input what this package needs to know, and takes
// offence at nothing.
func (i *items) UnmarshalJSON(text []byte) error {
	var list []item
	if json.Unmarshal(text, &list) == nil {
		*i = list
	}
	return nil
}

// offers tells whether the agent has a tool of that name.
func (c call) offers(name string) bool {
	return has(c.Tools, name) ||
		slices.ContainsFunc(c.Input, func(i item) bool { return has(i.Tools, name) })
}

// shell names the tool that takes {"command": ...}: the first of the usual
// names that was offered, or the given one.
func (c call) shell(fallback string) string {
	for _, name := range []string{"Bash", "bash", "run_shell_command"} {
		if c.offers(name) {
			return name
		}
	}
	return fallback
}

// codexShell asks codex to run a command. For models that it does not know it
// offers the function exec_command; for its own it offers "exec", which takes
// JavaScript.
func (c call) codexShell(command string) object {
	switch {
	case c.offers("exec"):
		return object{"type": "custom_tool_call", "name": "exec",
			"input": "const r = await tools.exec_command(" + marshal(object{"cmd": command}) + "); text(r.output);"}
	case c.offers("shell"):
		return object{"type": "function_call", "name": "shell",
			"arguments": marshal(object{"command": []string{"bash", "-lc", command}})}
	}
	return object{"type": "function_call", "name": "exec_command", "arguments": marshal(object{"cmd": command})}
}
