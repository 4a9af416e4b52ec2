package config

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestPrecedence takes away the strongest source one by one.
func TestPrecedence(t *testing.T) {
	flags, env := &Layer{}, map[string]string{"RALPH_AGENT_MODEL": "by-env"}
	if err := flags.Set("--model", "agent.model", "by-flag"); err != nil {
		t.Fatal(err)
	}
	fromEnv, err := FromEnv(environment(env))
	if err != nil {
		t.Fatal(err)
	}
	s := Sources{
		Flags:   flags,
		Env:     fromEnv,
		Project: mustParse(t, `agent.model = "by-project"`),
		User:    mustParse(t, `agent.model = "by-user"`),
	}
	for _, step := range []struct {
		want string
		drop func()
	}{
		{"by-flag", func() { s.Flags = nil }},
		{"by-env", func() { s.Env = nil }},
		{"by-project", func() { s.Project = nil }},
		{"by-user", func() { s.User = nil }},
		{"", func() {}},
	} {
		if cfg, notes := Resolve(s); cfg.Agent.Model != step.want || len(notes) > 0 {
			t.Errorf("got %q, notes %q; want %q", cfg.Agent.Model, notes, step.want)
		}
		step.drop()
	}
}

// TestProjectMayOnlyTighten gives a user's file and a project's file, and what
// becomes of one key. A note tells each value that was not used.
func TestProjectMayOnlyTighten(t *testing.T) {
	const ask = "a project cannot decide that; say it in your own file or with a flag"
	const user = "user.toml:1 does not allow it"
	tests := []struct{ user, project, key, want, note string }{
		// The sandbox itself needs the user's word.
		{"", "sandbox.enabled = false", "sandbox.enabled", "true", "sandbox.enabled = false is not used, true stays: " + ask},
		{"sandbox.enabled = true", "sandbox.enabled = false", "sandbox.enabled", "true", "sandbox.enabled = false is not used, true stays: " + user},
		{"sandbox.enabled = false", "sandbox.enabled = false", "sandbox.enabled", "false", ""},
		{"sandbox.enabled = false", "sandbox.enabled = true", "sandbox.enabled", "true", ""},
		{"", `execution.mode = "host"`, "execution.mode", `"container"`, `execution.mode = "host" is not used, "container" stays: ` + ask},
		{`execution.mode = "host"`, `execution.mode = "host"`, "execution.mode", `"host"`, ""},

		// Engines may get stronger.
		{"", `sandbox.engine = "host"`, "sandbox.engine", `"auto"`, `sandbox.engine = "host" is not used, "auto" stays: ` + ask},
		{"", `sandbox.engine = "bubblewrap"`, "sandbox.engine", `"bubblewrap"`, ""},
		{`sandbox.engine = "auto"`, `sandbox.engine = "bubblewrap"`, "sandbox.engine", `"bubblewrap"`, ""},
		{`sandbox.engine = "gvisor"`, `sandbox.engine = "bubblewrap"`, "sandbox.engine", `"gvisor"`, `sandbox.engine = "bubblewrap" is not used, "gvisor" stays: ` + user},
		{`sandbox.engine = "gvisor"`, `sandbox.engine = "auto"`, "sandbox.engine", `"gvisor"`, `sandbox.engine = "auto" is not used, "gvisor" stays: ` + user},
		{`sandbox.engine = "docker"`, `sandbox.engine = "gvisor"`, "sandbox.engine", `"gvisor"`, ""},
		{`sandbox.engine = "host"`, `sandbox.engine = "auto"`, "sandbox.engine", `"auto"`, ""},
		{`sandbox.engine = "host"`, `sandbox.engine = "host"`, "sandbox.engine", `"host"`, ""},
		{`sandbox.oci_runtime = "runsc"`, `sandbox.oci_runtime = "runc"`, "sandbox.oci_runtime", `"runsc"`, `sandbox.oci_runtime = "runc" is not used, "runsc" stays: ` + user},
		{"", `sandbox.oci_runtime = "runsc"`, "sandbox.oci_runtime", `"runsc"`, ""},
		{`sandbox.inner = "srt"`, `sandbox.inner = ""`, "sandbox.inner", `"srt"`, `sandbox.inner = "" is not used, "srt" stays: ` + user},
		{"", `sandbox.inner = "srt"`, "sandbox.inner", `"srt"`, ""},
		{`sandbox.prefer = "strength"`, `sandbox.prefer = "speed"`, "sandbox.prefer", `"strength"`, `sandbox.prefer = "speed" is not used, "strength" stays: ` + user},
		{`sandbox.prefer = "speed"`, `sandbox.prefer = "strength"`, "sandbox.prefer", `"strength"`, ""},

		// The policy is an upper bound, and so is its default.
		{"", `sandbox.network.policy = "allow-all"`, keyPolicy, `"allowlist"`, `sandbox.network.policy = "allow-all" is not used, "allowlist" stays: ` + ask},
		{"", `sandbox.network.policy = "deny"`, keyPolicy, `"deny"`, ""},
		{`sandbox.network.policy = "deny"`, `sandbox.network.policy = "allowlist"`, keyPolicy, `"deny"`, `sandbox.network.policy = "allowlist" is not used, "deny" stays: ` + user},
		{`sandbox.network.policy = "allowlist"`, `sandbox.network.policy = "allow-all"`, keyPolicy, `"allowlist"`, `sandbox.network.policy = "allow-all" is not used, "allowlist" stays: ` + user},
		{`sandbox.network.policy = "allow-all"`, `sandbox.network.policy = "allow-all"`, keyPolicy, `"allow-all"`, ""},
		{`sandbox.network.policy = "allow-all"`, `sandbox.network.policy = "deny"`, keyPolicy, `"deny"`, ""},

		// Limits are upper bounds.
		{`sandbox.resources.memory = "8g"`, `sandbox.resources.memory = "16g"`, "sandbox.resources.memory", `"8g"`, `sandbox.resources.memory = "16g" is not used, "8g" stays: ` + user},
		{`sandbox.resources.memory = "8g"`, `sandbox.resources.memory = "4g"`, "sandbox.resources.memory", `"4g"`, ""},
		{"", `sandbox.resources.memory = "16g"`, "sandbox.resources.memory", `"8g"`, `sandbox.resources.memory = "16g" is not used, "8g" stays: a project cannot decide that; say it in your own file or with a flag`},
		{`sandbox.resources.memory = "32g"`, `sandbox.resources.memory = "16g"`, "sandbox.resources.memory", `"16g"`, ""},
		{`sandbox.resources.cpus = 2`, `sandbox.resources.cpus = "4"`, "sandbox.resources.cpus", `"2"`, `sandbox.resources.cpus = "4" is not used, "2" stays: ` + user},
		{`sandbox.resources.processes = 100`, `sandbox.resources.processes = 101`, "sandbox.resources.processes", "100", `sandbox.resources.processes = 101 is not used, 100 stays: ` + user},
		{`sandbox.resources.disk = "1g"`, `sandbox.resources.disk = "1.5g"`, "sandbox.resources.disk", `"1g"`, `sandbox.resources.disk = "1536m" is not used, "1g" stays: ` + user},
		{`sandbox.resources.timeout_minutes = 30`, `sandbox.resources.timeout_minutes = 60.5`, "sandbox.resources.timeout_minutes", "30", `sandbox.resources.timeout_minutes = 60.5 is not used, 30 stays: ` + user},
		{`budget.max_cost_usd = 5`, `budget.max_cost_usd = 1000000`, "budget.max_cost_usd", "5", `budget.max_cost_usd = 1000000 is not used, 5 stays: ` + user},
		{"", `budget.max_cost_usd = 1000`, "budget.max_cost_usd", "10", `budget.max_cost_usd = 1000 is not used, 10 stays: a project cannot decide that; say it in your own file or with a flag`},
		{`budget.max_cost_usd = 50`, `budget.max_cost_usd = 40`, "budget.max_cost_usd", "40", ""},
		{"", `agent.provider_fetch = true`, "agent.provider_fetch", "false", `agent.provider_fetch = true is not used, false stays: a project cannot decide that; say it in your own file or with a flag`},
		{`budget.max_time = "1h"`, `budget.max_time = "2d"`, "budget.max_time", `"1h"`, `budget.max_time = "48h" is not used, "1h" stays: ` + user},
		{`budget.max_tokens = 1000`, `budget.max_tokens = 0`, "budget.max_tokens", "1000", `budget.max_tokens = 0 is not used, 1000 stays: ` + user},
		{`budget.max_tokens = 0`, `budget.max_tokens = 9`, "budget.max_tokens", "9", ""},
		{`budget.max_iterations = 10`, `budget.max_iterations = 11`, "budget.max_iterations", "10", `budget.max_iterations = 11 is not used, 10 stays: ` + user},

		// Permissions and upstream.
		{`execution.use_bypass_permissions = false`, `execution.use_bypass_permissions = true`, keyBypass, "false", `execution.use_bypass_permissions = true is not used, false stays: ` + user},
		{"", `execution.use_bypass_permissions = false`, keyBypass, "false", ""},
		{"", `execution.use_bypass_permissions = true`, keyBypass, "true", ""},
		{"sandbox.enabled = false", "", keyBypass, "false", ""},
		{"sandbox.enabled = false", `execution.use_bypass_permissions = true`, keyBypass, "false", `execution.use_bypass_permissions = true is not used on the host: ` + ask},
		{"sandbox.enabled = false\nexecution.use_bypass_permissions = true", "", keyBypass, "true", ""},
		{`agent.upstream = "https://a.example"`, `agent.upstream = "https://b.example"`, "agent.upstream", `"https://a.example"`, `agent.upstream = "https://b.example" is not used, "https://a.example" stays: ` + user},

		// Protected paths are united, in one spelling.
		{"", `agent.upstream = "https://evil.example"`, "agent.upstream", `""`, `agent.upstream = "https://evil.example" is not used, "" stays: a project cannot decide that; say it in your own file or with a flag`},
		{"", `agent.upstream = "https://api.openai.com"`, "agent.upstream", `"https://api.openai.com"`, ""},
		{"", `budget.name = "team"`, "budget.name", `""`, `budget.name = "team" is not used, "" stays: a project cannot decide that; say it in your own file or with a flag`},
		{`budget.name = "team"`, "", "budget.name", `"team"`, ""},
		{"", `budget.unknown_model = "dearest"`, "budget.unknown_model", `"refuse"`, `budget.unknown_model = "dearest" is not used, "refuse" stays: a project cannot decide that; say it in your own file or with a flag`},

		// The loop: more time and money need the user's word, if the user has said one.
		{`loop.prompt = "a.md"`, `loop.prompt = "b.md"`, "loop.prompt", `"b.md"`, ""},
		{`loop.tasks = "a.json"`, `loop.tasks = ""`, "loop.tasks", `""`, ""},
		{`loop.completion_tag = "<a/>"`, `loop.completion_tag = "<b/>"`, "loop.completion_tag", `"<b/>"`, ""},
		{"", `loop.max_turns = 500`, "loop.max_turns", "500", ""},
		{`loop.max_turns = 50`, `loop.max_turns = 500`, "loop.max_turns", "50", `loop.max_turns = 500 is not used, 50 stays: ` + user},
		{`loop.max_turns = 50`, `loop.max_turns = 0`, "loop.max_turns", "50", `loop.max_turns = 0 is not used, 50 stays: ` + user},
		{`loop.max_turns = 50`, `loop.max_turns = 5`, "loop.max_turns", "5", ""},
		{`loop.max_turns = 0`, `loop.max_turns = 5`, "loop.max_turns", "5", ""},
		{"", `loop.idle_timeout = "2h"`, "loop.idle_timeout", `"2h"`, ""},
		{`loop.idle_timeout = "5m"`, `loop.idle_timeout = "2h"`, "loop.idle_timeout", `"5m"`, `loop.idle_timeout = "2h" is not used, "5m" stays: ` + user},
		{`loop.idle_timeout = "5m"`, `loop.idle_timeout = 0`, "loop.idle_timeout", `"5m"`, `loop.idle_timeout = "0s" is not used, "5m" stays: ` + user},
		{`loop.idle_timeout = 0`, `loop.idle_timeout = "2h"`, "loop.idle_timeout", `"2h"`, ""},
		{`loop.completion_timeout = "5s"`, `loop.completion_timeout = "5m"`, "loop.completion_timeout", `"5s"`, `loop.completion_timeout = "5m" is not used, "5s" stays: ` + user},
		{`loop.empty_retries = 0`, `loop.empty_retries = 9`, "loop.empty_retries", "0", `loop.empty_retries = 9 is not used, 0 stays: ` + user},
		{`loop.empty_retries = 9`, `loop.empty_retries = 0`, "loop.empty_retries", "0", ""},
		{`loop.max_consecutive_errors = 2`, `loop.max_consecutive_errors = 0`, "loop.max_consecutive_errors", "2", `loop.max_consecutive_errors = 0 is not used, 2 stays: ` + user},
		{`loop.max_same_error = 2`, `loop.max_same_error = 3`, "loop.max_same_error", "2", `loop.max_same_error = 3 is not used, 2 stays: ` + user},
		{`loop.max_no_progress = 2`, `loop.max_no_progress = 3`, "loop.max_no_progress", "2", `loop.max_no_progress = 3 is not used, 2 stays: ` + user},
		{`loop.max_denials = 2`, `loop.max_denials = 3`, "loop.max_denials", "2", `loop.max_denials = 3 is not used, 2 stays: ` + user},
		{`loop.idle_threshold = 1`, `loop.idle_threshold = 0`, "loop.idle_threshold", "1", `loop.idle_threshold = 0 is not used, 1 stays: ` + user},
		{`loop.max_wait = 0`, `loop.max_wait = "1h"`, "loop.max_wait", `"0s"`, `loop.max_wait = "1h" is not used, "0s" stays: ` + user},
		{`loop.max_wait = "1h"`, `loop.max_wait = 0`, "loop.max_wait", `"0s"`, ""},
		{"", `loop.max_wait = "2d"`, "loop.max_wait", `"48h"`, ""},
		{"", `loop.cool_down = "1s"`, "loop.cool_down", `"1s"`, ""},
		{`loop.cool_down = "10m"`, `loop.cool_down = "1s"`, "loop.cool_down", `"10m"`, `loop.cool_down = "1s" is not used, "10m" stays: ` + user},
		{`loop.cool_down = "10m"`, `loop.cool_down = "1h"`, "loop.cool_down", `"10m"`, `loop.cool_down = "1h" is not used, "10m" stays: ` + user},
		{`loop.cool_down = "10m"`, `loop.cool_down = 0`, "loop.cool_down", `"0s"`, ""},
		{`loop.cool_down = 0`, `loop.cool_down = "1h"`, "loop.cool_down", `"0s"`, `loop.cool_down = "1h" is not used, "0s" stays: ` + user},
		{`validation.timeout = "10m"`, `validation.timeout = "1h"`, "validation.timeout", `"10m"`, `validation.timeout = "1h" is not used, "10m" stays: ` + user},
		{"", `validation.timeout = "1h"`, "validation.timeout", `"1h"`, ""},

		{`validation.setup = "a"`, `validation.setup = "b"`, "validation.setup", `"b"`, ""},
		{`validation.trusted = ["a"]`, `validation.trusted = ["b"]`, "validation.trusted", `["b"]`, ""},

		// A validation reaches what the run does, or less.
		{"", `validation.network.policy = "deny"`, "validation.network.policy", `"deny"`, ""},
		{`validation.network.policy = "same"`, `validation.network.policy = "allowlist"`, "validation.network.policy", `"allowlist"`, ""},
		{`validation.network.policy = "deny"`, `validation.network.policy = "allowlist"`, "validation.network.policy", `"deny"`, `validation.network.policy = "allowlist" is not used, "deny" stays: ` + user},
		{`validation.network.policy = "allowlist"`, `validation.network.policy = "same"`, "validation.network.policy", `"allowlist"`, `validation.network.policy = "same" is not used, "allowlist" stays: ` + user},
		{"", `validation.network.allowed = ["a.example"]`, "validation.network.allowed", `["a.example"]`, ""},
		{`validation.network.allowed = ["a.example", "b.example"]`, `validation.network.allowed = ["B.example"]`, "validation.network.allowed", `["B.example"]`, ""},
		{`validation.network.allowed = ["a.example"]`, `validation.network.allowed = ["b.example", "a.example"]`, "validation.network.allowed", `["a.example"]`,
			`validation.network.allowed = ["b.example", "a.example"] is not used, ["a.example"] stays: ` + user},

		// Git: the user's repository and name are the user's.
		{"", `git.workspace = "in-place"`, "git.workspace", `"auto"`, `git.workspace = "in-place" is not used, "auto" stays: ` + ask},
		{`git.workspace = "clone"`, `git.workspace = "in-place"`, "git.workspace", `"clone"`, `git.workspace = "in-place" is not used, "clone" stays: ` + user},
		{`git.workspace = "clone"`, `git.workspace = "auto"`, "git.workspace", `"clone"`, `git.workspace = "auto" is not used, "clone" stays: ` + user},
		{`git.workspace = "in-place"`, `git.workspace = "in-place"`, "git.workspace", `"in-place"`, ""},
		{`git.workspace = "in-place"`, `git.workspace = "auto"`, "git.workspace", `"auto"`, ""},
		{"", `git.workspace = "worktree"`, "git.workspace", `"worktree"`, ""},
		{"", `git.branch = "main"`, "git.branch", `"ralph/{run}"`, `git.branch = "main" is not used, "ralph/{run}" stays: ` + ask},
		{`git.name = "A"`, `git.name = "B"`, "git.name", `"B"`, ""},
		{`git.email = "a@a.example"`, `git.email = "b@b.example"`, "git.email", `"b@b.example"`, ""},
		{`git.commit = "agent"`, `git.commit = "auto"`, "git.commit", `"auto"`, ""},
		{`git.checkout = "folder"`, `git.checkout = "inside"`, "git.checkout", `"inside"`, ""},
		{"", `git.objects = "copy"`, "git.objects", `"copy"`, ""},
		{`git.objects = "copy"`, `git.objects = "share"`, "git.objects", `"copy"`, `git.objects = "share" is not used, "copy" stays: ` + user},
		{"", `git.protected_branches = ["deploy", "main"]`, keyBranches, `["main", "master", "trunk", "release/*", "deploy"]`, ""},
		{"", `git.protected_branches = []`, keyBranches, `["main", "master", "trunk", "release/*"]`, ""},
		{`git.protected_branches = ["stable"]`, "", keyBranches, `["stable"]`, ""},
		{`git.protected_branches = ["stable"]`, `git.protected_branches = ["deploy"]`, keyBranches, `["stable", "deploy"]`, ""},
		{`git.protected_branches = []`, `git.protected_branches = []`, keyBranches, `[]`, ""},
		{"", `git.push = true`, "git.push", "false", `git.push = true is not used, false stays: ` + ask},
		{`git.push = true`, `git.push = false`, "git.push", "true", `git.push = false is not used, true stays: ` + user},
		{"", `git.remote = "evil"`, "git.remote", `"origin"`, `git.remote = "evil" is not used, "origin" stays: ` + ask},
		{"", `git.sign = true`, "git.sign", "false", `git.sign = true is not used, false stays: ` + ask},
		{"", `git.max_import = "1g"`, "git.max_import", `"512m"`, `git.max_import = "1g" is not used, "512m" stays: ` + ask},
		{`git.max_import = "2g"`, `git.max_import = "1g"`, "git.max_import", `"1g"`, ""},
		{`git.max_import = "2g"`, `git.max_import = "3g"`, "git.max_import", `"2g"`, `git.max_import = "3g" is not used, "2g" stays: ` + user},
		{"", `git.max_file = "101m"`, "git.max_file", `"100m"`, `git.max_file = "101m" is not used, "100m" stays: ` + ask},
		{"", `git.max_file = "1m"`, "git.max_file", `"1m"`, ""},

		// The host's commands, addresses and folders; what may be a secret is not told.
		{"", `run.folder = "/tmp/runs"`, "run.folder", `".ralph/runs"`, `run.folder = "/tmp/runs" is not used, ".ralph/runs" stays: ` + ask},
		{"", `run.folder = ".ralph/runs"`, "run.folder", `".ralph/runs"`, ""},
		{"", `notify.command = ["sh", "-c", "evil"]`, "notify.command", `[]`, `notify.command is not used: ` + ask},
		{`notify.webhook = "https://hooks.example/secret"`, `notify.webhook = "https://hooks.example/evil"`, "notify.webhook", `"https://hooks.example/secret"`, `notify.webhook is not used: ` + user},
		{"", `notify.desktop = true`, "notify.desktop", "false", `notify.desktop = true is not used, false stays: ` + ask},
		{"", `notify.on = ["limit"]`, "notify.on", `["done", "needs-attention", "error"]`, `notify.on = ["limit"] is not used, ["done", "needs-attention", "error"] stays: ` + ask},

		{`sandbox.network.denied = ["a.example"]`, `sandbox.network.denied = ["b.example", "a.example"]`, keyDenied, `["a.example", "b.example"]`, ""},
		{`sandbox.protect = ["a", "b/"]`, `sandbox.protect = ["c", "./b"]`, keyProtect, `["a", "b", "c"]`, ""},

		// Names: those of the project that the user's list holds.
		{"", `sandbox.network.allowed = ["a.example", "a.example"]`, keyAllowed, `["a.example"]`, ""},
		{"", `sandbox.network.allowed = ["a.example", "127.0.0.1:80", "localhost:80", "x.localhost", "0x7f.1", "[::1]:80", "10.0.0.0/8", "@npm"]`, keyAllowed, `["a.example", "@npm"]`,
			`sandbox.network.allowed: "127.0.0.1:80", "localhost:80", "x.localhost", "0x7f.1", "[::1]:80", "10.0.0.0/8" not used: addresses, localhost and raw connections need your own word, as in --allow`},
		{`sandbox.network.allowed = ["a.example"]`, "", keyAllowed, `["a.example"]`, ""},
		{`sandbox.network.allowed = ["a.example", "b.example"]`, `sandbox.network.allowed = ["B.example", "c.example", "x.a.example"]`, keyAllowed, `["B.example"]`,
			`sandbox.network.allowed: "c.example", "x.a.example" not used: ` + user},
		{`sandbox.network.allowed = []`, `sandbox.network.allowed = ["a.example"]`, keyAllowed, `[]`, `sandbox.network.allowed: "a.example" not used: ` + user},
		{`sandbox.network.policy = "deny"`, `sandbox.network.allowed = ["a.example"]`, keyAllowed, `[]`, ""},
		{`sandbox.network = { policy = "allow-all", allowed = [] }`, `sandbox.network = { policy = "allowlist", allowed = ["a.example"] }`, keyAllowed, `["a.example"]`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.user+"|"+tt.project, func(t *testing.T) {
			user, err := Parse("user.toml", []byte(tt.user))
			if err != nil {
				t.Fatal(err)
			}
			cfg, notes := Resolve(Sources{User: user, Project: mustParse(t, tt.project)})
			f := newIndex().fields[tt.key]
			if got := f.show(f.load(&cfg)); got != tt.want {
				t.Errorf("%s is %s, want %s", tt.key, got, tt.want)
			}
			var want []string
			if tt.note != "" {
				want = []string{"ralph.toml:1: " + tt.note}
			}
			if !slices.Equal(notes, want) {
				t.Errorf("notes\n%q, want\n%q", notes, want)
			}
		})
	}
}

// TestPersonHasTheLastWord: flags and environment override every bound.
func TestPersonHasTheLastWord(t *testing.T) {
	type values map[string]string
	tests := []struct {
		name, user, project string
		env                 values
		flags               values // comma separated for lists
		policy, allowed     string
		notes               int
	}{
		{"a flag opens what the user's file closed", `sandbox.network.policy = "deny"`, "", nil,
			values{keyPolicy: "allow-all"}, "allow-all", "", 0},
		{"a flag closes what the project opened", "", `sandbox.network.allowed = ["p.example"]`, nil,
			values{keyPolicy: "deny"}, "deny", "", 0},
		{"names are added", "", `sandbox.network.allowed = ["p.example"]`, values{keyAllowed: "e.example"},
			values{keyAllowed: "f.example"}, "allowlist", "p.example f.example e.example", 0},
		{"a name opens itself alone over a user's deny", `sandbox.network.policy = "deny"`, `sandbox.network.allowed = ["p.example"]`, nil,
			values{keyAllowed: "f.example"}, "allowlist", "f.example", 1},
		{"and over a project's deny", `sandbox.network.allowed = ["u.example"]`, `sandbox.network.policy = "deny"`, nil,
			values{keyAllowed: "f.example"}, "allowlist", "f.example", 1},
		{"and over a deny in the environment", "", `sandbox.network.allowed = ["p.example"]`, values{keyPolicy: "deny"},
			values{keyAllowed: "f.example"}, "allowlist", "f.example", 1},
		{"but not over a deny beside it", "", "", nil,
			values{keyPolicy: "deny", keyAllowed: "f.example"}, "deny", "", 0},
		{"nor over a deny above it", "", "", values{keyAllowed: "e.example"},
			values{keyPolicy: "deny"}, "deny", "", 0},
		{"nor in the environment over a deny there", "", "", values{keyPolicy: "deny", keyAllowed: "e.example"},
			nil, "deny", "", 0},
		{"a policy by flag does not let the project's names in", `sandbox.network.policy = "deny"`, `sandbox.network.allowed = ["p.example"]`, nil,
			values{keyPolicy: "allowlist"}, "allowlist", "", 1},
		{"notes are about what counts", `sandbox.network.policy = "deny"`, `sandbox.network.policy = "allow-all"`, nil,
			values{keyPolicy: "allow-all"}, "allow-all", "", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			vars := map[string]string{}
			for key, value := range tt.env {
				vars[environmentName(key)] = value
			}
			env, err := FromEnv(environment(vars))
			if err != nil {
				t.Fatal(err)
			}
			flags := &Layer{}
			for key, value := range tt.flags {
				if err := flags.Set("--flag", key, strings.Split(value, ",")...); err != nil {
					t.Fatal(err)
				}
			}
			cfg, notes := Resolve(Sources{Flags: flags, Env: env, Project: mustParse(t, tt.project), User: mustParse(t, tt.user)})
			got := cfg.Sandbox.Network
			if got.Policy != tt.policy || strings.Join(got.Allowed, " ") != tt.allowed || len(notes) != tt.notes {
				t.Errorf("got %+v, notes %q; want %s [%s], %d notes", got, notes, tt.policy, tt.allowed, tt.notes)
			}
		})
	}
}

func TestOnHost(t *testing.T) {
	for file, want := range map[string]bool{
		"": false, "sandbox.enabled = false": true, `sandbox.engine = "host"`: true, `execution.mode = "host"`: true,
	} {
		if cfg, _ := Resolve(Sources{User: mustParse(t, file)}); cfg.OnHost() != want {
			t.Errorf("%q: got %v, want %v", file, cfg.OnHost(), want)
		}
	}
}

func TestSet(t *testing.T) {
	good := []struct {
		key  string
		text []string
		want any
	}{
		{"sandbox.enabled", []string{"false"}, false},
		{"budget.max_iterations", []string{"5"}, 5},
		{"budget.max_cost_usd", []string{"2.50"}, 2.5},
		{"sandbox.resources.cpus", []string{"0.5"}, 0.5},
		{"loop.idle_timeout", []string{"0"}, time.Duration(0)},
		{"loop.idle_timeout", []string{"0d"}, time.Duration(0)},
		{"loop.max_wait", []string{"1d"}, 24 * time.Hour},
		{"notify.on", nil, []string(nil)},
		{"sandbox.resources.memory", []string{"2g"}, int64(2 << 30)},
		{"agent.command", []string{"sh", "-c", "a, b"}, []string{"sh", "-c", "a, b"}},
	}
	for _, tt := range good {
		var l Layer
		if err := l.Set("--x", tt.key, tt.text...); err != nil {
			t.Errorf("%s: %v", tt.key, err)
		}
		if s, _ := l.get(tt.key); !reflect.DeepEqual(s.value, tt.want) {
			t.Errorf("%s: got %v, want %v", tt.key, s.value, tt.want)
		}
	}
	for text, want := range map[string]string{"90s": "1.5", "2h": "120", "45": "45", "0.5": "0.5"} {
		var l Layer
		err := l.Set("--timeout", "sandbox.resources.timeout_minutes", text)
		if cfg, _ := Resolve(Sources{Flags: &l}); err != nil || fmt.Sprint(cfg.Sandbox.Resources.Timeout.Minutes()) != want {
			t.Errorf("--timeout %s: got %v, %v; want %s minutes", text, cfg.Sandbox.Resources.Timeout, err, want)
		}
	}
}

func TestSetRefuses(t *testing.T) {
	tests := []struct{ key, text, want string }{
		{"sandbox.resources.memory", "8x", `--x: "8x" is not a size: there is no unit "x"; write it like 512m or 8g`},
		{"sandbox.engine", "gviser", `--x: must be one of "auto", "gvisor", "docker", "podman", "bubblewrap", "docker-sandbox", "host", not "gviser"; did you mean "gvisor"?`},
		{"budget.max_iterations", "many", `--x: must be a whole number from 0 to 1000000, not "many"`},
		{"budget.max_cost_usd", "NaN", `--x: must be an amount of dollars from 0.01 to 1000000, not NaN`},
		{"sandbox.resources.timeout_minutes", "0", `--x: must be a number of minutes from 0.001 to 43200, not 0`},
		{"agent.command", "a\xff", `--x: "a\xff" is not UTF-8`},
		{"loop.cool_down", "-1m", `--x: a time of "-1m" is too short: it must be more than zero`},
		{"sandbox.network.allowed", "*", `--x: "*" would allow everything; say policy = "allow-all" if you mean that`},
	}
	for _, tt := range tests {
		var l Layer
		err := l.Set("--x", tt.key, tt.text)
		var bad *Error
		if !errors.As(err, &bad) || err.Error() != tt.want {
			t.Errorf("%s: got %v, want %s", tt.key, err, tt.want)
		}
		if len(l.settings) != 0 {
			t.Errorf("%s: the bad value was kept", tt.key)
		}
	}
	if err := new(Layer).Set("--x", "no.such", "1"); err == nil {
		t.Error("an unknown key was set")
	}
	if err := new(Layer).Set("--x", "agent.name", "mini", "claude"); err == nil {
		t.Error("a single value took two")
	}
}

func TestEnvironmentLists(t *testing.T) {
	for text, want := range map[string][]string{
		"a.example":                  {"a.example"},
		"a.example, *.b.example":     {"a.example", "*.b.example"},
		`["a.example", "b.example"]`: {"a.example", "b.example"},
	} {
		l, err := FromEnv(environment(map[string]string{"RALPH_SANDBOX_NETWORK_ALLOWED": text}))
		if err != nil || !slices.Equal(l.strings(keyAllowed), want) {
			t.Errorf("%s: got %v, %v; want %v", text, l, err, want)
		}
	}
	for text, want := range map[string]string{
		`["a.example"`: "RALPH_AGENT_COMMAND: is not a TOML array of strings",
		`[1]`:          "RALPH_AGENT_COMMAND: is not a TOML array of strings",
		"[]\nx=1":      "RALPH_AGENT_COMMAND: is not a TOML array of strings",
	} {
		if _, err := FromEnv(environment(map[string]string{"RALPH_AGENT_COMMAND": text})); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}
