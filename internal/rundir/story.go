package rundir

import "time"

// Types of events that tell the story of a run, for whoever writes one and for
// all that show one. Their data are the types below that they name.
const (
	EventStart      = "run.start"       // a process takes the run up; Start
	EventStop       = "run.stop"        // it leaves it; Stop
	EventLaunch     = "launcher.start"  // a sandbox was started; Launch
	EventLanded     = "launcher.exit"   // it ended; Landed
	EventBegin      = "iteration.start" // an attempt at an iteration; Begin
	EventAgent      = "agent"           // one thing that the agent said; agent.Event
	EventAgentError = "agent.stderr"    // what it wrote to its standard error; Text
	EventAgentExit  = "agent.exit"      // its process ended; AgentExit
	EventOutput     = "agent.output"    // how much it printed that is not recorded; Output
	EventGate       = "gate"            // what the gate decided; gate.Event
	EventFiles      = "files"           // how many files the iteration has changed so far; Files
	EventImport     = "git.import"      // commits came home, or were refused; Import
	EventValidation = "validation"      // what the validation command said; Validation
	EventOutcome    = "outcome"         // how the attempt ended; Outcome
	EventTask       = "task"            // the task file changed; Tasks
	EventWait       = "wait"            // nothing is done until a time; Wait
	EventBreaker    = "breaker"         // the breaker changed its state; Breaker
	EventQuestion   = "question"        // the agent needs a person; Question
	EventAnswer     = "answer"          // what the person said; Answer
	EventRewind     = "git.rewind"      // a person took the run back to an iteration; Rewind
	EventPush       = "git.push"        // the branch was pushed, or not; Push
	EventRequest    = "request"         // a person asks for an end; Asked
	EventNotify     = "notify"          // a person was told; Notified
	EventNote       = "note"            // anything else that a reader should know; Note
)

// EventTypes lists all types of events.
func EventTypes() []string {
	return []string{
		EventCreated, EventStart, EventStop, EventRepair, EventLaunch, EventLanded, EventBegin, EventOutcome,
		EventIteration, EventAgent, EventAgentError, EventAgentExit, EventOutput, EventGate, EventCharge, EventFiles,
		EventImport, EventRewind, EventPush, EventValidation, EventTask, EventWait, EventBreaker, EventQuestion, EventAnswer, EventRequest, EventNotify,
		EventNote, EventCheckpoint, EventState,
	}
}

// Start is how a process takes a run up.
type Start struct {
	Version string   `json:"version"`          // of ralph
	Resumed bool     `json:"resumed,omitzero"` // it was there before
	Limits  Limits   `json:"limits"`           // since now
	Agent   string   `json:"agent"`            // who works
	Model   string   `json:"model,omitzero"`   // with which model
	Engine  string   `json:"engine"`           // behind which boundary
	Notes   []string `json:"notes,omitempty"`  // what the user should know about the set-up
}

// Stop is how a process leaves a run.
type Stop struct {
	Status Status `json:"status"`
	Reason string `json:"reason"`
}

// Launch is the audit of a sandbox: everything that an agent is given.
type Launch struct {
	Sandbox    string   `json:"sandbox"`
	Engine     string   `json:"engine"`
	Version    string   `json:"version,omitzero"`
	Boundary   string   `json:"boundary,omitzero"`
	Runtime    string   `json:"runtime,omitzero"`           // of OCI, for containers
	Reason     string   `json:"reason,omitzero"`            // why this engine
	PassedOver []string `json:"passed_over,omitempty"`      // other engines, each with why not
	Lacks      []string `json:"lacks,omitempty"`            // what this boundary does not hold
	Inner      string   `json:"inner,omitzero"`             // the second sandbox, inside this one and around the agent
	Image      string   `json:"image,omitzero"`             // or root file system; empty: the host's programs
	Mounts     []Mount  `json:"mounts"`                     // all of them
	Secrets    []string `json:"readonly_secrets,omitempty"` // files that went in with their real content
	Network    string   `json:"network"`
	Policy     string   `json:"policy"`
	Allowed    []string `json:"allowed,omitempty"`
	Denied     []string `json:"denied,omitempty"`
	Permission string   `json:"permission_mode"`
	EnvNames   []string `json:"env_names"` // never their values
	Memory     int64    `json:"memory_bytes,omitzero"`
	CPUs       float64  `json:"cpus,omitzero"`
	Processes  int      `json:"processes,omitzero"`
	Disk       int64    `json:"disk_bytes,omitzero"`
}

// Mount is one folder of the host that the sandbox sees.
type Mount struct {
	Source   string `json:"source"`
	Target   string `json:"target"`
	ReadOnly bool   `json:"read_only"`
	Protect  int    `json:"protected_paths,omitzero"` // how many paths in it are read-only all the same
}

// Landed is the end of a sandbox.
type Landed struct {
	Sandbox string `json:"sandbox"`
	Reason  string `json:"reason,omitzero"`
	Error   string `json:"error,omitzero"` // what went wrong with ending it
}

// Begin is the start of one attempt at an iteration. Attempts that meet a limit of
// the provider, or print nothing, are made again under the same number.
type Begin struct {
	Attempt      int    `json:"attempt"` // counted from 1
	Task         string `json:"task,omitzero"`
	TaskTitle    string `json:"task_title,omitzero"`
	PromptSHA256 string `json:"prompt_sha256"`
	PromptBytes  int    `json:"prompt_bytes"`
	HalfOpen     bool   `json:"half_open,omitzero"` // the breaker lets this one try
}

// AgentExit is how the agent's process ended.
type AgentExit struct {
	Code       int    `json:"code"`
	Why        string `json:"why,omitzero"` // it did not end by itself: timed out, idle, lingered, stopped, a limit
	DurationMS int64  `json:"duration_ms"`
}

// Output is what an agent printed beyond what is kept.
type Output struct {
	Events int64 `json:"events"`
	Bytes  int64 `json:"bytes"`
}

// Files is how many files the iteration has changed.
type Files struct {
	Changed int `json:"changed"`
}

// Validation is one run of the validation command.
type Validation struct {
	Command    string `json:"command"`
	Passed     bool   `json:"passed"`
	ExitCode   int    `json:"exit_code"`
	Output     string `json:"output,omitzero"` // its beginning and its end
	Error      string `json:"error,omitzero"`  // it could not be run, or not to its end
	DurationMS int64  `json:"duration_ms"`
	Confirms   bool   `json:"confirms,omitzero"` // in a sandbox that no agent was in, before the run ends done

	// Of one that confirms:
	Outcome Verdict  `json:"outcome,omitzero"`
	Commit  string   `json:"commit,omitzero"`   // on a clean checkout of this; empty: on the files as they were
	Trusted []string `json:"trusted,omitempty"` // check files that differ from the base's, which were used instead
}

// Verdict is what a validation that confirms came to.
type Verdict string

// What it can come to. They are never mixed: a check that could not be made says
// nothing about the work.
const (
	Verified     Verdict = "verified"
	NotVerified  Verdict = "failed"
	Unverifiable Verdict = "unverifiable"
)

// Verification is the last one of a run.
type Verification struct {
	Outcome Verdict `json:"outcome"`
	Commit  string  `json:"commit,omitzero"`
	Reason  string  `json:"reason,omitzero"` // why not verified
}

// Import is what became of the commits of an iteration.
type Import struct {
	Branch    string   `json:"branch"`
	From      string   `json:"from,omitzero"` // the tip before
	To        string   `json:"to,omitzero"`   // and after
	Commits   []string `json:"commits,omitempty"`
	Files     int      `json:"files,omitzero"` // that differ between the two
	Bytes     int64    `json:"bytes,omitzero"` // that the sandbox sent
	Rewritten int      `json:"rewritten,omitzero"`
	Protected []string `json:"protected,omitempty"` // paths that the host would obey, changed since the base
	Links     []string `json:"links,omitempty"`     // references to other repositories, new since the base
	Held      string   `json:"held,omitzero"`       // why the user's branch was not moved
	Refused   string   `json:"refused,omitzero"`    // why nothing was taken
}

// Rewind is a run that was taken back.
type Rewind struct {
	To     int    `json:"to"` // the iteration
	Commit string `json:"commit"`
}

// Push is what became of a push.
type Push struct {
	Remote string `json:"remote"`
	Branch string `json:"branch"`
	Commit string `json:"commit"`
	Error  string `json:"error,omitzero"`
}

// Outcome is how an attempt ended.
type Outcome struct {
	Verdict string    `json:"verdict"`
	Reason  string    `json:"reason,omitzero"`
	Until   time.Time `json:"until,omitzero"`
	Again   bool      `json:"again,omitzero"`  // the iteration is not counted, and tried again
	Claims  string    `json:"claims,omitzero"` // what the agent's last words say: complete, blocked, decide
}

// Tasks is where the task file stands.
type Tasks struct {
	File       string   `json:"file"`
	Passing    int      `json:"passing"`
	All        int      `json:"all"`
	Changes    []string `json:"changes,omitempty"`
	Violations []string `json:"violations,omitempty"` // not taken over
	Problem    string   `json:"problem,omitzero"`     // it cannot be read
}

// Wait is a time in which nothing is done and nothing counted.
type Wait struct {
	Why   string    `json:"why"`
	Until time.Time `json:"until"`
}

// Breaker is a change of the breaker's state.
type Breaker struct {
	State string `json:"state"` // closed, open, half-open
	Why   string `json:"why"`
}

// Question is what the agent asks.
type Question struct {
	Kind string `json:"kind"` // blocked, decide
	Text string `json:"text"`
	File string `json:"file"` // where the answer may be written
}

// Asked is what a person wants.
type Asked struct {
	Request Request `json:"request"`
	By      string  `json:"by"` // the terminal, or another process
}

// Notified is one try to tell a person.
type Notified struct {
	Channel string `json:"channel"` // command, webhook, desktop
	About   string `json:"about"`   // done, needs-attention, error, ...
	Error   string `json:"error,omitzero"`
}

// Note is a line for the reader.
type Note struct {
	Text string `json:"text"`
}
