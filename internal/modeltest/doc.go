// Package modeltest is a model for tests: a real HTTP server on loopback that
// speaks the Anthropic, the OpenAI and the Google API well enough for the real
// agents, and answers by a script.
//
// A script is a list of turns. Every call of the model takes the next one, in
// whichever API it comes:
//
//	server := modeltest.New(t,
//		modeltest.Shell("make test").Uses(modeltest.Usage{Input: 900, Output: 40}),
//		modeltest.Say("one half").Dropped(), // the connection dies mid-stream
//		modeltest.Refuse(529, modeltest.AnthropicError("overloaded_error", "busy")),
//		modeltest.Say("all tests pass"),
//	)
//	agent := exec.Command("claude", "-p", "run the tests")
//	agent.Env = append(os.Environ(), "ANTHROPIC_BASE_URL="+server.URL, ...)
//
// What the agent sent is in Server.Requests and Server.Calls. A call beyond the
// end of the script fails the test and is answered with an error that no client
// repeats.
package modeltest
