package mini

import "github.com/anthropics/anthropic-sdk-go"

// systemPrompt is short: it is paid for with every call, and a good model needs
// little more than to know where it is.
const systemPrompt = `You are a coding agent. You work alone and unattended, in a sandbox: nobody answers questions, so decide, and say what you decided. The working directory is the project.

How to work:
- Look before you change: read the files that matter and the project's own instructions (AGENTS.md, CLAUDE.md, CONTRIBUTING.md, README) if there are any.
- Take small steps. Make one change that is complete, then run the project's tests and checks. Mend what broke before you go on.
- Never claim what you have not seen: run it. Do not weaken, skip or delete a test to make it pass.
- When a step is done and the tests pass, commit it with git and a message that says why, if the project is a git repository. Do not push.
- If a thing cannot be done, stop and say exactly what is in the way.

The bash tool starts a new shell for every command, in the project's directory; no variable or change of directory outlives it. There is no terminal and no input: use flags that keep programs from asking. Long output is cut in the middle, so search with grep and read parts of files with sed -n. The network is closed but for what the sandbox allows.

End with a short account of what you did, what you ran to prove it, and what is left.`

const toolName = "bash"

const toolDescription = `Run a command in a new shell in the project's directory and return what it printed (standard output and error together, the middle cut when long) and its exit code. Processes that it leaves in the background end with it, unless they were started as: setsid nohup COMMAND >FILE 2>&1 &`

// shellTool describes the one tool. It is a plain one: the provider's own bash
// tool promises a shell that lives on.
func shellTool() anthropic.ToolUnionParam {
	return anthropic.ToolUnionParam{OfTool: &anthropic.ToolParam{
		Name:        toolName,
		Description: anthropic.String(toolDescription),
		InputSchema: anthropic.ToolInputSchemaParam{
			Properties: map[string]any{
				"command":         map[string]any{"type": "string", "description": "What to run, as for sh -c"},
				"timeout_seconds": map[string]any{"type": "integer", "description": "End the command after this time; the limit of the run is used if this is not given or larger"},
			},
			Required: []string{"command"},
		},
	}}
}
