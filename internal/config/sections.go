package config

import "time"

// agentKeys are the keys of [agent] and [execution].
func agentKeys() []field {
	return []field{
		at("agent.name", "who works", oneOf("claude", "codex", "opencode", "gemini", "mini", "command"),
			func(c *Config) *string { return &c.Agent.Name }, free),
		at("agent.model", "the model it asks for", text(aName),
			func(c *Config) *string { return &c.Agent.Model }, free),
		at("agent.command", "the program and arguments of the agent \"command\"; the prompt is on its standard input", list(anArgument),
			func(c *Config) *[]string { return &c.Agent.Command }, free),
		at("agent.upstream", "where the gate sends model calls", text(anUpstream),
			func(c *Config) *string { return &c.Agent.Upstream }, officialUpstream),
		at("agent.credential", "where its credential is, when it is not stored: env:NAME, file:PATH, command:ARGV", text(noneOr(aSource)),
			func(c *Config) *string { return &c.Agent.Credential }, usersOnly),
		at("agent.provider_fetch", "let the model's provider reach other hosts for the agent", boolean(),
			func(c *Config) *bool { return &c.Agent.ProviderFetch }, usersOnly),

		at(keyMode, "in a sandbox or on the host", oneOf(ModeHost, ModeContainer),
			func(c *Config) *string { return &c.Execution.Mode }, notAlone(ModeHost)),
		at(keyBypass, "let the agent act without asking", boolean(),
			func(c *Config) *bool { return &c.Execution.UseBypassPermissions }, stays(false)),
	}
}

// sandboxKeys are the keys of [sandbox].
func sandboxKeys() []field {
	return []field{
		at(keyEnabled, "false runs the agent on the host", boolean(),
			func(c *Config) *bool { return &c.Sandbox.Enabled }, notAlone(false)),
		at(keyEngine, "what isolates the agent", oneOf(EngineAuto, "gvisor", "docker", "podman", "bubblewrap", "docker-sandbox", EngineHost),
			func(c *Config) *string { return &c.Sandbox.Engine }, noWeakerEngine),
		at(keyRuntime, "the runtime under docker or podman", oneOf("", "runc", "crun", "runsc", "kata"),
			func(c *Config) *string { return &c.Sandbox.OCIRuntime }, usersWord),
		at("sandbox.prefer", "what engine \"auto\" looks for first", oneOf(PreferStrength, PreferSpeed),
			func(c *Config) *string { return &c.Sandbox.Prefer }, stays(PreferStrength)),
		at("sandbox.image", "the image to start from, for engines that have images", text(noneOr(aName)),
			func(c *Config) *string { return &c.Sandbox.Image }, free),
		at("sandbox.reuse_container", "keep the sandbox between iterations", boolean(),
			func(c *Config) *bool { return &c.Sandbox.ReuseContainer }, free),
		at("sandbox.use_local_image", "do not pull an image that is here", boolean(),
			func(c *Config) *bool { return &c.Sandbox.UseLocalImage }, free),
		at(keyProtect, "further paths of the workspace that are read-only inside", list(aPathBelow),
			func(c *Config) *[]string { return &c.Sandbox.Protect }, free), // united in Resolve
		at("sandbox.readonly_secrets", "files of your home that the sandbox gets to read, with their real content", list(aHomePath),
			func(c *Config) *[]string { return &c.Sandbox.ReadOnlySecrets }, usersOnly),
		at("sandbox.inner", "a second sandbox inside the first, around the agent", oneOf("", InnerSRT),
			func(c *Config) *string { return &c.Sandbox.Inner }, stays(InnerSRT)),
	}
}

// networkKeys are the keys of [sandbox.network].
func networkKeys() []field {
	return []field{
		at(keyPolicy, "what the agent may reach", oneOf(PolicyDeny, PolicyAllowlist, PolicyAllowAll),
			func(c *Config) *string { return &c.Sandbox.Network.Policy }, notWider(PolicyDeny, PolicyAllowlist, PolicyAllowAll)),
		at(keyAllowed, "names, *.domains, host:port and @presets for the policy \"allowlist\"", list(aHostRule),
			func(c *Config) *[]string { return &c.Sandbox.Network.Allowed }, free), // joined in Resolve
		at(keyDenied, "what is refused even if something else allows it", list(aHostRule),
			func(c *Config) *[]string { return &c.Sandbox.Network.Denied }, free), // united in Resolve
	}
}

// resourceKeys are the keys of [sandbox.resources].
func resourceKeys() []field {
	return []field{
		at("sandbox.resources.memory", "of everything inside together", parsed(`a size such as "8g"`, ParseMemory, FormatSize),
			func(c *Config) *int64 { return &c.Sandbox.Resources.Memory }, atMostOr[int64](DefaultMemory)),
		at("sandbox.resources.cpus", "processors' worth of time", cpus(),
			func(c *Config) *float64 { return &c.Sandbox.Resources.CPUs }, atMostOr[float64](DefaultCPUs)),
		at("sandbox.resources.processes", "processes and threads at once", whole(1, 1_000_000),
			func(c *Config) *int { return &c.Sandbox.Resources.Processes }, atMostOr[int](DefaultProcesses)),
		at("sandbox.resources.disk", "what may be written", parsed(`a size such as "20g"`, ParseDisk, FormatSize),
			func(c *Config) *int64 { return &c.Sandbox.Resources.Disk }, atMostOr[int64](DefaultDisk)),
		at("sandbox.resources.timeout_minutes", "of one iteration", minutes(),
			func(c *Config) *time.Duration { return &c.Sandbox.Resources.Timeout }, atMost),
	}
}

// budgetKeys are the keys of [budget].
func budgetKeys() []field {
	return []field{
		at("budget.max_cost_usd", "for the whole run", dollars(),
			func(c *Config) *float64 { return &c.Budget.MaxCostUSD }, atMostOr(Defaults().Budget.MaxCostUSD)),
		at("budget.max_iterations", "for the whole run; 0 is no limit", whole(0, 1_000_000),
			func(c *Config) *int { return &c.Budget.MaxIterations }, atMostOrNone),
		at("budget.max_tokens", "for the whole run; 0 is no limit", whole[int64](0, 1_000_000_000_000),
			func(c *Config) *int64 { return &c.Budget.MaxTokens }, atMostOrNone),
		at("budget.max_time", "for the whole run", duration(),
			func(c *Config) *time.Duration { return &c.Budget.MaxTime }, atMost),
		at("budget.name", "shares one budget among all runs that name it", text(aFileName),
			func(c *Config) *string { return &c.Budget.Name }, usersOnly),
		at("budget.unknown_model", "what becomes of calls to a model without a known price", oneOf(UnknownRefuse, UnknownDearest),
			func(c *Config) *string { return &c.Budget.UnknownModel }, notWider(UnknownRefuse, UnknownDearest)),
		at("budget.steer", "tell the model when 80, 90 and 95 % are spent", boolean(),
			func(c *Config) *bool { return &c.Budget.Steer }, free),
	}
}

// runKeys are the keys of [run].
func runKeys() []field {
	return []field{
		at("run.folder", "where runs are kept: below the project, or absolute", text(aFolder),
			func(c *Config) *string { return &c.Run.Folder }, usersOnly),
	}
}
