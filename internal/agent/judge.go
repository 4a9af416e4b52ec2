package agent

import "fmt"

// judgeClaude reads the end that Claude Code tells. Errors of the API come as a
// success with is_error, hooks stop a session with exit code 0, and denied tools
// are no error at all: only all conditions together are a success.
func judgeClaude(s *Summary) Outcome {
	end := s.End
	if end == nil {
		return unfinished(s)
	}
	if end.Success {
		return Outcome{Verdict: OK}
	}
	o := Outcome{Verdict: Failed, Reason: first(end.Fault, s.LastError, "it ended with "+end.Subtype+", "+end.Terminal)}
	switch {
	case end.Subtype == "error_max_turns" || end.Terminal == "max_turns":
		o.Verdict = MaxTurns
	case end.Subtype == "error_max_budget_usd":
		o.Verdict = BudgetSpent
	case end.Terminal == "aborted_streaming" || end.Terminal == "aborted_tools":
		o.Verdict = Killed
	case end.Terminal == "prompt_too_long" || end.Terminal == "blocking_limit":
		o.Verdict = ContextFull
	case end.Stop == "refusal":
		o.Verdict = Refused
	case end.IsError:
		return byError(s, o)
	case end.Denials > 0:
		o = Outcome{Verdict: Denied, Reason: fmt.Sprintf("%d tool calls were not permitted", end.Denials)}
	case end.Subtype == "success" && end.Terminal == "completed" && end.Turns > 0:
		o = Outcome{Verdict: Empty, Reason: "it ended without a word"}
	}
	return o
}

// judgeByResult is for agents whose end says no more than whether it was good.
func judgeByResult(s *Summary) Outcome {
	switch {
	case s.End == nil:
		return unfinished(s)
	case !s.End.Success:
		o := Outcome{Verdict: Failed, Reason: first(s.End.Fault, s.LastError, "it ended with "+s.End.Subtype)}
		return byError(s, o)
	}
	return judgeByText(s)
}

// judgeByText is for programs that are known by nothing but their words.
func judgeByText(s *Summary) Outcome {
	if isBlank(s.Final()) {
		return Outcome{Verdict: Empty, Reason: "it ended without a word"}
	}
	return Outcome{Verdict: OK}
}

// unfinished is the outcome without a result.
func unfinished(s *Summary) Outcome {
	o := Outcome{Verdict: Failed, Reason: first(s.LastError, "it ended without a result")}
	if s.Events == 0 {
		o.Verdict, o.Reason = Empty, "it printed nothing"
	}
	return byError(s, o)
}

// byError tells errors of the API apart by the agent's own word for one, and by
// the status. Words for people are not looked at: they change, and an agent can
// read them in a file.
func byError(s *Summary, o Outcome) Outcome {
	switch s.Code {
	case "authentication_failed", "oauth_org_not_allowed":
		o.Verdict = Unauthorised
		return o
	case "billing_error":
		o.Verdict = Unfunded
		return o
	case "rate_limit":
		o.Verdict, o.Until = RateLimited, s.Until
		return o
	case "overloaded":
		o.Verdict = Overloaded
		return o
	}
	return byStatus(s, o, s.Status)
}

func byStatus(s *Summary, o Outcome, status int) Outcome {
	switch {
	case status == 401 || status == 403:
		o.Verdict = Unauthorised
	case status == 402:
		o.Verdict = Unfunded
	case status == 429:
		o.Verdict, o.Until = RateLimited, s.Until
	case status >= 500 && status < 600:
		o.Verdict = Overloaded
	}
	return o
}

// judgeGemini knows an end by its result; see geminiExit for the rest.
func judgeGemini(s *Summary) Outcome { return judgeByResult(s) }

// geminiExit reads gemini's exit code: the low byte of the HTTP status, or one of
// its own.
func geminiExit(code int, o Outcome) Outcome {
	switch code {
	case 41:
		o.Verdict = Unauthorised
		return o
	case 53:
		o.Verdict = MaxTurns
		return o
	}
	for _, status := range []int{401, 402, 403, 429, 500, 502, 503, 504} {
		if code == status%256 {
			return byStatus(&Summary{}, o, status)
		}
	}
	return o
}

// first is the first text that is not empty.
func first(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}
