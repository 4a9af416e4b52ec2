// Package mini is ralph's own agent: a loop around one model and one tool, a
// shell. It makes ralph work with a key and nothing else installed.
//
// It runs inside the sandbox, as the ralph program itself, and needs nothing of
// it but a shell. It takes the address of the gate from ANTHROPIC_BASE_URL and
// its phantom from ANTHROPIC_API_KEY, ANTHROPIC_AUTH_TOKEN or
// CLAUDE_CODE_OAUTH_TOKEN, in this order. Without an address it does nothing: a
// model that may run any command belongs into a sandbox, and there it has one.
//
// What happens is told on standard output, one JSON object a line, each with a
// type:
//
//	init         model, tools, limits
//	text         what the model said
//	tool_call    the command that it wants to run
//	tool_result  how that ended and what it printed, shortened
//	usage        the tokens of one call of the model
//	retry        a call failed and is made again after a wait
//	error        a call failed for good
//	shortened    old tool output was cut to keep the conversation in bounds
//	result       the end: ok, reason, message, turns and the usage in all
//
// internal/agent reads these lines. The last is always a result. Its reason
// decides the exit code:
//
//	0    done
//	1    rate-limited, overloaded, provider-error, invalid-request, network
//	2    misconfigured: no address, no credential, no prompt
//	3    budget-spent, max-turns, context-full
//	4    unauthorised, unfunded, refused: a person has to look
//	130  interrupted
//
// A run can be played again from a recording that was made elsewhere: what the
// model is sent depends on the prompt, the options, the model's answers and what
// the commands print, and on nothing else of the place or the time.
package mini
