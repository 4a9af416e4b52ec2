package meter

// harmless tells the top-level fields that cannot make a call dearer than its
// size and the limits that are read elsewhere. They are those of the providers'
// API references and SDKs in late 2026, and what the pinned agents send. A field
// that is not here and is not read is refused as unknown.
func harmless(api API, field string) bool {
	switch api {
	case Anthropic:
		return harmlessAnthropic(field)
	case OpenAIResponses:
		return harmlessOpenAI(field) || harmlessResponses(field)
	case OpenAIChat:
		return harmlessOpenAI(field) || harmlessChat(field)
	}
	return false
}

func harmlessAnthropic(field string) bool {
	switch field {
	case "metadata", "stop_sequences", "temperature", "top_k", "top_p", "tool_choice",
		"output_config", "output_format", // effort and schema: within max_tokens
		"diagnostics",           // asks why a cache was missed
		"fallback_credit_token", // makes a retry cheaper
		"user_profile_id", "anthropic_version":
		return true
	}
	return false
}

func harmlessOpenAI(field string) bool {
	switch field {
	case "metadata", "user", "safety_identifier", "store", "temperature", "top_p", "top_logprobs",
		"parallel_tool_calls", "tool_choice", "prompt_cache_key",
		"prompt_cache_retention", // keeps for longer at no price
		"client_metadata":        // codex: names of the session
		return true
	}
	return false
}

func harmlessResponses(field string) bool {
	switch field {
	case "include", "text", "truncation", "stream_options",
		"max_tool_calls": // of the provider's tools, which are refused
		return true
	}
	return false
}

func harmlessChat(field string) bool {
	switch field {
	case "frequency_penalty", "presence_penalty", "logit_bias", "logprobs", "seed", "stop",
		"response_format", "reasoning_effort", "verbosity", "function_call", "functions":
		return true
	}
	return false
}

// common reads the fields that all three have.
func (w *walker) common(field string) (handled bool, err error) {
	switch field {
	case "model":
		w.call.Model, err = w.text()
	case "stream":
		w.call.Stream, err = w.flag()
	default:
		return false, nil
	}
	return true, err
}

// other reads a top-level field that has no reading of its own.
func (w *walker) other(field string) error {
	if handled, err := w.common(field); handled {
		return err
	}
	if !harmless(w.call.API, field) {
		w.unknown("the request", field)
	}
	return w.skip()
}

// output reads a limit of the output. Of two, the larger holds. A zero is one to
// Anthropic, where it only fills the cache; elsewhere it may be taken for none.
func (w *walker) output() error {
	n, said, err := w.count()
	if said && (n > 0 || w.call.API == Anthropic) {
		w.call.SaysOutput = true
		w.call.Output = max(w.call.Output, n)
	}
	return err
}
