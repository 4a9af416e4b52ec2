// Package config reads ralph.toml and joins it with the user's own file, the
// environment and the command line into one checked Config.
//
// # Strict
//
// A file is used as a whole or not at all. Unknown keys and sections, wrong
// types, values out of range and duplicates are all reported in one *Error,
// each with its line and, where one is near, the word that was probably meant.
//
// # Precedence
//
// The command line wins over the environment (RALPH_ and the key, so that
// sandbox.resources.memory is RALPH_SANDBOX_RESOURCES_MEMORY), that over the
// project's ralph.toml, that over the user's file, that over Defaults.
//
// Where the agent works is said by sandbox.engine, sandbox.enabled and execution.mode
// together: the strongest source that says anything about it decides, and the three
// agree in what comes out. A source that contradicts itself is an error, as is a
// runtime asked for on the command line that the engine does not have.
//
// # A project may only tighten
//
// ralph.toml comes with a repository, so its author need not be the person who
// runs it. What the user's file closes, the project cannot open:
//
//   - sandbox.enabled = false, sandbox.engine = "host", execution.mode = "host"
//     and sandbox.network.policy = "allow-all" need the user's own word: in the
//     user's file, the environment or on the command line.
//   - sandbox.readonly_secrets of a project is never used: it would hand the user's
//     keys to the sandbox.
//   - The user's limits in [sandbox.resources] and [budget] are upper bounds. For
//     [sandbox.resources] and max_cost_usd the defaults are, where the user says
//     nothing.
//   - The user's policy is an upper bound: deny < allowlist < allow-all. The
//     user's engine may be exchanged for a stronger one only. The user's
//     oci_runtime stands; prefer = "strength", inner = "srt" and
//     use_bypass_permissions = false stand.
//   - The user's allowed list is an upper bound: of the project's entries those
//     remain that the user's list holds, written the same way. Under the user's
//     policy "deny" none remain; under "allow-all" all do. A project without a
//     list gets the user's. Addresses, localhost and raw connections in a
//     project's list never count: they lead to the user's own network.
//   - protect and denied lists are united, and so are the branches that are
//     protected: a user's list replaces the default one, a project's adds to it.
//   - In [loop] and [validation] the user's own numbers are upper bounds wherever
//     more costs time or money, and 0 counts as most where it means no limit: the
//     turns, retries and timeouts of one iteration, how many failures the breaker
//     takes and how many idle iterations, the longest wait for a provider, the
//     time of a validation. The user's cool_down stands, unless the project ends
//     at once instead. Where the user says nothing the project decides: [budget]
//     bounds the whole. Prompt, task file, completion tag and the validation
//     itself, with its setup and its trusted files, are the project's matter.
//   - What a validation reaches is bounded twice: never more than the run may
//     (see ValidationNetwork), and deny < allowlist < same. Of the project's
//     entries those remain that the user's own validation.network.allowed holds.
//   - git.workspace = "in-place" needs the user's own word, and "auto" does not
//     replace what the user has named. git.objects can be tightened to "copy"
//     only. The user's max_import and max_file are upper bounds, and so are their
//     defaults. git.branch, git.push, git.remote and git.sign of a project are
//     never used: they say what becomes of the user's repository and what leaves
//     the machine in the user's name. Who commits, and under which name, is the
//     project's matter.
//   - [notify] and run.folder of a project are never used: they name commands,
//     addresses and folders of the host.
//   - agent.credential, agent.provider_fetch, budget.name, [[credential]] and [[price]] of a project are
//     never used, and agent.upstream only when it is a provider's own address: they say where the
//     user's secrets go, whose money is spent and what counts as money.
//   - On the host, outside any sandbox, the project cannot ask for
//     use_bypass_permissions.
//
// Names that the user allows in the environment or on the command line are
// added to the list; over a policy "deny" of a lower layer they open exactly
// those names. Each value of a project that was not used is told as a note.
//
// # Runs that go on
//
// Config.Settings is what a run keeps of its configuration, and Restore makes the
// same Config of it again, whatever the files say by then.
package config

import "time"

// Config is what holds after all sources are joined.
type Config struct {
	Agent      Agent
	Execution  Execution
	Sandbox    Sandbox
	Budget     Budget
	Loop       Loop
	Validation Validation
	Git        Git
	Run        Run
	Notify     Notify

	Credentials []Credential // [[credential]]
	Prices      []Price      // [[price]]
}

// Agent says who works.
type Agent struct {
	Name     string
	Model    string   // empty: the agent's own choice
	Command  []string // for the agent "command"
	Upstream string   // where the gate sends model calls; empty: the agent's own

	// Credential is where the agent's credential is: env:NAME, file:PATH,
	// command:ARGV or store:NAME; empty: stored under the agent's name.
	Credential string

	// ProviderFetch lets calls pass that make the model's provider reach other
	// hosts: its web tools, and content that is given by URL.
	ProviderFetch bool
}

// Execution says where the agent works and how freely.
type Execution struct {
	Mode string

	// UseBypassPermissions lets the agent act without asking. Unless someone
	// says otherwise it is true in a sandbox and false on the host.
	UseBypassPermissions bool
}

// Sandbox says what stands between the agent and the host.
type Sandbox struct {
	Enabled        bool
	Engine         string
	OCIRuntime     string // empty: the engine's own
	Prefer         string
	Image          string // empty: the programs of this machine
	ReuseContainer bool
	UseLocalImage  bool
	Protect        []string // slash paths below the workspace, besides the built-in ones

	// ReadOnlySecrets are files of the user's home, as ~/... or absolute, that go
	// into the sandbox with their real content.
	ReadOnlySecrets []string

	// Inner is a second sandbox inside the first, around the agent; empty: none.
	Inner string

	Network   Network
	Resources Resources
}

// Network says what the agent may reach.
type Network struct {
	Policy  string
	Allowed []string // for PolicyAllowlist; empty denies everything
	Denied  []string // beats Allowed, under every policy
}

// Resources bound one sandbox. Zero means that nobody said anything.
type Resources struct {
	Memory    int64 // bytes
	CPUs      float64
	Processes int
	Disk      int64         // bytes
	Timeout   time.Duration // of one iteration
}

// Budget bounds a whole run.
type Budget struct {
	MaxCostUSD    float64
	MaxIterations int   // 0: no limit
	MaxTokens     int64 // 0: no limit
	MaxTime       time.Duration
	Name          string // of a budget that several runs share; empty: the run's own
	UnknownModel  string // what becomes of calls to a model without a known price
	Steer         bool   // tell the model when most is spent
}

// Run says where runs are kept.
type Run struct {
	Folder string // relative to the project, or absolute
}

// The words of the keys that decide about the boundary.
const (
	ModeHost      = "host"
	ModeContainer = "container"

	EngineAuto = "auto"
	EngineHost = "host"

	PreferStrength = "strength"
	PreferSpeed    = "speed"

	InnerSRT = "srt"

	PolicyDeny      = "deny"
	PolicyAllowlist = "allowlist"
	PolicyAllowAll  = "allow-all"

	UnknownRefuse  = "refuse"
	UnknownDearest = "dearest"
)

// What a sandbox gets where nobody says anything: enough for a large build. More
// than that needs the user's own word, whatever a project asks for.
const (
	DefaultMemory    = 8 << 30
	DefaultCPUs      = 4
	DefaultProcesses = 4096
	DefaultDisk      = 20 << 30
)

// Defaults is what holds where no source says anything. Its policy denies all,
// because the list is empty.
func Defaults() Config {
	return Config{
		Agent:     Agent{Name: "claude"},
		Execution: Execution{Mode: ModeContainer, UseBypassPermissions: true},
		Sandbox: Sandbox{
			Enabled:        true,
			Engine:         EngineAuto,
			Prefer:         PreferStrength,
			ReuseContainer: true,
			UseLocalImage:  true,
			Network:        Network{Policy: PolicyAllowlist},
		},
		Budget:     Budget{MaxCostUSD: 10, MaxIterations: 20, MaxTime: 8 * time.Hour, UnknownModel: UnknownRefuse},
		Loop:       defaultLoop(),
		Validation: Validation{Timeout: 30 * time.Minute, Network: Reach{Policy: PolicySame}},
		Git:        defaultGit(),
		Run:        Run{Folder: ".ralph/runs"},
		Notify:     Notify{On: []string{NotifyDone, NotifyNeedsAttention, NotifyError}},
	}
}

// OnHost reports whether the agent is to run without a sandbox. In what Resolve
// returns, all three keys say so or none does.
func (c *Config) OnHost() bool {
	return !c.Sandbox.Enabled || c.Sandbox.Engine == EngineHost || c.Execution.Mode == ModeHost
}
