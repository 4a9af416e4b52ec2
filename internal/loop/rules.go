package loop

import "time"

// Rules are how a loop goes on and when it ends. The limits of the whole run are
// in rundir.State. A number or time that is zero is no limit of its kind.
type Rules struct {
	Prompt        string // the prompt file, below the project
	Tasks         string // the task file there; empty: none
	CompletionTag string // empty: the agent's default

	IterationTimeout  time.Duration // of one attempt
	IdleTimeout       time.Duration // an attempt that prints nothing
	CompletionTimeout time.Duration // until the agent exits after its result
	MaxTurns          int           // of one attempt
	EmptyRetries      int           // attempts in a row that print nothing

	MaxErrors     int           // failed iterations in a row
	MaxSameError  int           // with the same reason
	MaxNoProgress int           // iterations in a row that change nothing
	MaxDenials    int           // iterations in a row with denied tool calls
	CoolDown      time.Duration // before the breaker lets one more try; 0: none is made
	MaxWait       time.Duration // for the provider, in a row; 0: never wait

	IdleThreshold     int    // iterations without a change after which valid work is done
	Validation        string // the command that must pass; empty: none
	ValidationSetUp   string // prepares a clean checkout for it; empty: nothing to do
	ValidationTimeout time.Duration

	KeepSandbox bool // between iterations
}
