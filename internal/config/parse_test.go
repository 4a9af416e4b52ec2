package config

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// TestBrokenFiles shows what a user reads for each way to be wrong.
func TestBrokenFiles(t *testing.T) {
	const engines = `"auto", "gvisor", "docker", "podman", "bubblewrap", "docker-sandbox", "host"`
	const sections = `[agent], [execution], [sandbox], [sandbox.network], [sandbox.resources], [budget], [loop], [validation], [validation.network], [git], [run], [notify]`
	tests := []struct{ name, file, want string }{
		// keys and sections
		{"misspelt key", "[sandbox.resources]\nmemroy = \"8g\"",
			`ralph.toml:2: unknown key "memroy" in [sandbox.resources]; did you mean "memory"?`},
		{"key with dashes", "[budget]\nmax-cost-usd = 1",
			`ralph.toml:2: unknown key "max-cost-usd" in [budget]; did you mean "max_cost_usd"?`},
		{"key in capitals", "[sandbox]\nEngine = \"auto\"",
			`ralph.toml:2: unknown key "Engine" in [sandbox]; did you mean "engine"?`},
		{"key of another section", "[sandbox]\nmemory = \"8g\"",
			`ralph.toml:2: unknown key "memory" in [sandbox]; did you mean "sandbox.resources.memory"?`},
		{"key without a section", "policy = \"deny\"",
			`ralph.toml:1: unknown key "policy" at the top; did you mean "sandbox.network.policy"?`},
		{"key like no other", "[validation]\nzebra = 1",
			`ralph.toml:2: unknown key "zebra" in [validation]; there are setup, command, trusted, timeout, network`},
		{"misspelt inline section", "[sandbox]\nnetwrok = {}",
			`ralph.toml:2: unknown key "netwrok" in [sandbox]; did you mean "network"?`},
		{"misspelt section", "[sandbx]\nenabled = true\nx = 1",
			`ralph.toml:1: unknown section [sandbx]; did you mean [sandbox]?`},
		{"misspelt inner section", "[sandbox.netwrok]",
			`ralph.toml:1: unknown section [sandbox.netwrok]; did you mean [sandbox.network]?`},
		{"section in a dotted key", "sandbox.netwrok.policy = \"deny\"",
			`ralph.toml:1: unknown section [sandbox.netwrok]; did you mean [sandbox.network]?`},
		{"section like no other", "[kubernetes]",
			`ralph.toml:1: unknown section [kubernetes]; there are ` + sections},
		{"section name in quotes is another name", "[\"sandbox.network\"]\npolicy = \"deny\"",
			`ralph.toml:1: unknown section ["sandbox.network"]; did you mean [sandbox.network]?`},
		{"key as section", "[sandbox.image]",
			`ralph.toml:1: sandbox.image is a key, not a section`},
		{"section as key", "[sandbox]\nnetwork = \"deny\"",
			`ralph.toml:2: sandbox.network is a section, not a key`},
		{"list of sections", "[[sandbox]]\nenabled = true",
			`ralph.toml:1: [[sandbox]] is a list of sections; did you mean [sandbox]?`},

		// duplicates
		{"duplicate key", "[agent]\nname = \"mini\"\nname = \"mini\"",
			`ralph.toml:3: duplicate key agent.name, first set on line 2`},
		{"duplicate key, written otherwise", "agent.name = \"mini\"\nagent = { name = \"mini\" }",
			`ralph.toml:2: duplicate key agent.name, first set on line 1`},
		{"duplicate section", "[agent]\n\n[agent]\nname = \"mini\"",
			`ralph.toml:3: duplicate section [agent], first on line 1`},
		{"section and inline table", "agent = { name = \"mini\" }\n[agent]\nmodel = \"m\"",
			`ralph.toml:2: duplicate section [agent], first on line 1`},
		{"dotted key after its section", "[sandbox.network]\npolicy = \"deny\"\n[sandbox]\nnetwork.allowed = []",
			`ralph.toml:4: key network is already defined`},

		// types
		{"string for boolean", "[sandbox]\nenabled = \"yes\"",
			`ralph.toml:2: sandbox.enabled: must be true or false, not "yes"`},
		{"integer for size", "[sandbox.resources]\nmemory = 8",
			`ralph.toml:2: sandbox.resources.memory: must be a size such as "8g", not 8`},
		{"boolean for string", "[agent]\nmodel = true",
			`ralph.toml:2: agent.model: must be a string, not true`},
		{"string for list", "[sandbox.network]\nallowed = \"github.com\"",
			`ralph.toml:2: sandbox.network.allowed: must be a list of strings, not "github.com"`},
		{"list for string", "[sandbox]\nimage = [\"a\"]",
			`ralph.toml:2: sandbox.image: must be a string, not a list`},
		{"table for string", "[sandbox]\nimage = { name = \"a\" }",
			`ralph.toml:2: sandbox.image: must be a string, not a table`},
		{"date for time", "[budget]\nmax_time = 2026-01-01",
			`ralph.toml:2: budget.max_time: must be a time such as "8h", not 2026-01-01`},
		{"decimal for integer", "[budget]\nmax_iterations = 1.5",
			`ralph.toml:2: budget.max_iterations: must be a whole number from 0 to 1000000, not 1.5`},
		{"number in a list, on its own line", "[sandbox.network]\nallowed = [\n  \"github.com\",\n  5,\n]",
			`ralph.toml:4: sandbox.network.allowed: must be a string, not 5`},
		{"list in a list", "[validation]\ntrusted = [[\"a\"]]",
			`ralph.toml:2: validation.trusted: must be a string, not a list`},

		// values
		{"bad word, near", "[sandbox.network]\npolicy = \"alowlist\"",
			`ralph.toml:2: sandbox.network.policy: must be one of "deny", "allowlist", "allow-all", not "alowlist"; did you mean "allowlist"?`},
		{"bad word, far", "[sandbox]\nengine = \"vmware\"",
			`ralph.toml:2: sandbox.engine: must be one of ` + engines + `, not "vmware"`},
		{"bad size", "[sandbox.resources]\nmemory = \"8x\"",
			`ralph.toml:2: sandbox.resources.memory: "8x" is not a size: there is no unit "x"; write it like 512m or 8g`},
		{"no memory", "[sandbox.resources]\nmemory = \"0\"",
			`ralph.toml:2: sandbox.resources.memory: "0" is not a size: it is zero; write it like 512m or 8g`},
		{"too much memory", "[sandbox.resources]\nmemory = \"1PB\"",
			`ralph.toml:2: sandbox.resources.memory: a memory limit of "1PB" is too large: the most is 1t`},
		{"too little memory", "[sandbox.resources]\nmemory = \"8\"",
			`ralph.toml:2: sandbox.resources.memory: a memory limit of "8" is too small: the least is 64m`},
		{"too little disk", "[sandbox.resources]\ndisk = \"1k\"",
			`ralph.toml:2: sandbox.resources.disk: a disk limit of "1k" is too small: the least is 1m`},
		{"no CPU, as number", "[sandbox.resources]\ncpus = 0",
			`ralph.toml:2: sandbox.resources.cpus: 0 CPUs is out of range: it must be from 0.01 to 1024`},
		{"CPUs that are no number", "[sandbox.resources]\ncpus = nan",
			`ralph.toml:2: sandbox.resources.cpus: NaN CPUs is out of range: it must be from 0.01 to 1024`},
		{"CPUs in words", "[sandbox.resources]\ncpus = \"four\"",
			`ralph.toml:2: sandbox.resources.cpus: "four" is not a number of CPUs; write it like 4 or 0.5`},
		{"negative minutes", "[sandbox.resources]\ntimeout_minutes = -5",
			`ralph.toml:2: sandbox.resources.timeout_minutes: must be a number of minutes from 0.001 to 43200, not -5`},
		{"minutes with a unit", "[sandbox.resources]\ntimeout_minutes = \"1h\"",
			`ralph.toml:2: sandbox.resources.timeout_minutes: must be a number of minutes from 0.001 to 43200, not "1h"`},
		{"no processes", "[sandbox.resources]\nprocesses = 0",
			`ralph.toml:2: sandbox.resources.processes: must be a whole number from 1 to 1000000, not 0`},
		{"time without unit", "[budget]\nmax_time = \"8\"",
			`ralph.toml:2: budget.max_time: "8" is not a time: it has no unit; write it like 90s, 30m, 8h or 2d`},
		{"long time", "[budget]\nmax_time = \"31d\"",
			`ralph.toml:2: budget.max_time: a time of "31d" is too long: the most is 30d`},
		{"no money", "[budget]\nmax_cost_usd = 0",
			`ralph.toml:2: budget.max_cost_usd: must be an amount of dollars from 0.01 to 1000000, not 0`},
		{"endless money", "[budget]\nmax_cost_usd = inf",
			`ralph.toml:2: budget.max_cost_usd: must be an amount of dollars from 0.01 to 1000000, not +Inf`},
		{"option as image", "[sandbox]\nimage = \"--privileged\"",
			`ralph.toml:2: sandbox.image: "--privileged" begins with a dash`},
		{"credentials in upstream", "[agent]\nupstream = \"https://u:p@example.com\"",
			`ralph.toml:2: agent.upstream: "https://u:p@example.com" may hold a host and a path only, and no credentials`},
		{"upstream without scheme", "[agent]\nupstream = \"example.com\"",
			`ralph.toml:2: agent.upstream: "example.com" is not an http or https address`},
		{"star", "[sandbox.network]\nallowed = [\"*\"]",
			`ralph.toml:2: sandbox.network.allowed: "*" would allow everything; say policy = "allow-all" if you mean that`},
		{"address in list", "[sandbox.network]\nallowed = [\"https://github.com/x\"]",
			`ralph.toml:2: sandbox.network.allowed: "https://github.com/x" is a URL; give the host alone`},
		{"escaping path", "[sandbox]\nprotect = [\"a/../../b\"]",
			`ralph.toml:2: sandbox.protect: "a/../../b" holds .. and may lead out of the workspace`},
		{"absolute path", "[sandbox]\nprotect = [\"/etc\"]",
			`ralph.toml:2: sandbox.protect: "/etc" is absolute; paths are relative to the workspace`},
		{"drive path", "[sandbox]\nprotect = [\"C:/x\"]",
			`ralph.toml:2: sandbox.protect: "C:/x" is absolute; paths are relative to the workspace`},
		{"whole workspace", "[sandbox]\nprotect = [\"./\"]",
			`ralph.toml:2: sandbox.protect: "./" is the workspace itself; name paths below it`},
		{"pattern", "[sandbox]\nprotect = [\"*.sh\"]",
			`ralph.toml:2: sandbox.protect: "*.sh" looks like a pattern; name each path`},
		{"empty command", "[validation]\ncommand = \"\"",
			`ralph.toml:2: validation.command: "" is empty`},
		{"empty setup", "[validation]\nsetup = \"\"",
			`ralph.toml:2: validation.setup: "" is empty`},
		{"policy that a validation cannot have", "[validation.network]\npolicy = \"allow-all\"",
			`ralph.toml:2: validation.network.policy: must be one of "same", "deny", "allowlist", not "allow-all"`},
		{"star for a validation", "[validation.network]\nallowed = [\"*\"]",
			`ralph.toml:2: validation.network.allowed: "*" would allow everything; say policy = "allow-all" if you mean that`},
		{"unknown workspace", "[git]\nworkspace = \"inplace\"",
			`ralph.toml:2: git.workspace: must be one of "auto", "clone", "in-place", "worktree", not "inplace"; did you mean "in-place"?`},
		{"misspelt key of git", "[git]\nprotected = [\"main\"]",
			`ralph.toml:2: unknown key "protected" in [git]; there are workspace, checkout, branch, name, email, commit, objects, protected_branches, push, remote, sign, max_import, max_file`},
		{"too small an import", "[git]\nmax_import = \"1k\"",
			`ralph.toml:2: git.max_import: a limit of "1k" is too small: the least is 1m`},
		{"too large a file", "[git]\nmax_file = \"2t\"",
			`ralph.toml:2: git.max_file: a limit of "2t" is too large: the most is 1t`},
		{"number for an import", "[git]\nmax_import = 512",
			`ralph.toml:2: git.max_import: must be a size such as "512m", not 512`},
		{"prompt outside", "[loop]\nprompt = \"../PROMPT.md\"",
			`ralph.toml:2: loop.prompt: "../PROMPT.md" holds .. and may lead out of the workspace`},
		{"no prompt", "[loop]\nprompt = \"\"",
			`ralph.toml:2: loop.prompt: "" is empty`},
		{"tasks in a folder", "[loop]\ntasks = \"tasks/\"",
			`ralph.toml:2: loop.tasks: "tasks/" is a folder; name a file`},
		{"absolute once it is cleaned", "[sandbox]\nprotect = [\"./C:/x\"]",
			`ralph.toml:2: sandbox.protect: "./C:/x" is absolute; paths are relative to the workspace`},
		{"tag that comes by chance", "[loop]\ncompletion_tag = \"ok\"",
			`ralph.toml:2: loop.completion_tag: "ok" must have 4 to 200 characters`},
		{"tag on two lines", "[loop]\ncompletion_tag = \"all\\ndone\"",
			`ralph.toml:2: loop.completion_tag: "all\ndone" holds a character that cannot be printed`},
		{"tag with a space around it", "[loop]\ncompletion_tag = \" done\"",
			`ralph.toml:2: loop.completion_tag: " done" begins or ends with a space`},
		{"timer without unit", "[loop]\nidle_timeout = 30",
			`ralph.toml:2: loop.idle_timeout: must be a time such as "30m", or 0, not 30`},
		{"timer that may not be zero", "[loop]\ncompletion_timeout = \"0s\"",
			`ralph.toml:2: loop.completion_timeout: a time of "0s" is too short: it must be more than zero`},
		{"endless validation", "[validation]\ntimeout = \"0s\"",
			`ralph.toml:2: validation.timeout: a time of "0s" is too short: it must be more than zero`},
		{"negative count", "[loop]\nmax_same_error = -1",
			`ralph.toml:2: loop.max_same_error: must be a whole number from 0 to 1000, not -1`},
		{"folder of a home", "[run]\nfolder = \"~/runs\"",
			`ralph.toml:2: run.folder: "~/runs" begins with ~, which means nothing here; write the whole path`},
		{"the project as folder", "[run]\nfolder = \"./\"",
			`ralph.toml:2: run.folder: "./" is the project itself; name a folder`},
		{"folder with terminal tricks", "[run]\nfolder = \"a\\u001b\"",
			`ralph.toml:2: run.folder: "a\x1b" holds a control character`},
		{"nothing to run", "[notify]\ncommand = [\"\", \"x\"]",
			`ralph.toml:2: notify.command: the program's name is empty`},
		{"a program of the current folder", "[notify]\ncommand = [\"./notify.sh\"]",
			`ralph.toml:2: notify.command: the program must be a name on the PATH or an absolute path`},
		{"unknown occasion", "[notify]\non = [\n  \"done\",\n  \"eror\",\n]",
			`ralph.toml:4: notify.on: must be one of "done", "needs-attention", "error", "limit", "stopped", not "eror"; did you mean "error"?`},
		{"terminal tricks are shown, not played", "[sandbox]\n\"\\u001b[2J\" = 1",
			`ralph.toml:2: unknown key "\x1b[2J" in [sandbox]; there are ` + "enabled, engine, oci_runtime, prefer, image, reuse_container, use_local_image, protect, readonly_secrets, inner, network, resources"},

		// syntax
		{"open section", "[agent]\nname = \"mini\"\n[sandbox\nenabled = true",
			`ralph.toml:3: expected ']' to close table name`},
		{"no value", "[agent]\r\nname =\r\n",
			`ralph.toml:2: unexpected character U+000D at start of value`},
		{"open string", "[agent]\nname = \"mini\n",
			`ralph.toml:2: basic strings cannot have new lines`},
		{"open list", "[sandbox]\nprotect = [\"a\"",
			`ralph.toml:2: array is incomplete`},
		{"bare word", "[agent]\nname = claude",
			`ralph.toml:2: unexpected character U+0063 'c' at start of value`},
		{"octal", "[budget]\nmax_tokens = 0755",
			`ralph.toml:2: integers cannot have leading zeroes`},
		{"number too large for TOML", "[budget]\nmax_tokens = 99999999999999999999",
			`ralph.toml:2: budget.max_tokens: must be a whole number from 0 to 1000000000000, not 99999999999999999999`},
		{"a problem before the syntax error counts too", "[agent]\nnam = \"mini\"\n=",
			"ralph.toml:2: unknown key \"nam\" in [agent]; did you mean \"name\"?\n" +
				"ralph.toml:3: invalid character at start of key: U+003D '='"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			layer, err := Parse("ralph.toml", []byte(tt.file))
			if err == nil {
				t.Fatalf("loaded as %v", layer.settings)
			}
			if err.Error() != tt.want {
				t.Errorf("got:\n%s\nwant:\n%s", err, tt.want)
			}
		})
	}
}

// TestAllProblemsAtOnce keeps a user from mending a file ten times.
func TestAllProblemsAtOnce(t *testing.T) {
	const file = `[agent]
name = "cluade"
modell = "m"
[execution]
mode = 5
[sandbox]
enabled = "true"
enabled = false
protect = [
  "/etc",
  "ok",
  "..",
]
[sandbox.resources]
memory = "lots"
[bugdet]
max_time = "never read"
[validation]
command = 
`
	want := strings.Split(`ralph.toml:2: agent.name: must be one of "claude", "codex", "opencode", "gemini", "mini", "command", not "cluade"; did you mean "claude"?
ralph.toml:3: unknown key "modell" in [agent]; did you mean "model"?
ralph.toml:5: execution.mode: must be one of "host", "container", not 5
ralph.toml:7: sandbox.enabled: must be true or false, not "true"
ralph.toml:8: duplicate key sandbox.enabled, first set on line 7
ralph.toml:10: sandbox.protect: "/etc" is absolute; paths are relative to the workspace
ralph.toml:12: sandbox.protect: ".." holds .. and may lead out of the workspace
ralph.toml:15: sandbox.resources.memory: "lots" is not a size: it has no number; write it like 512m or 8g
ralph.toml:16: unknown section [bugdet]; did you mean [budget]?
ralph.toml:19: unexpected character U+000A at start of value`, "\n")

	_, err := Parse("ralph.toml", []byte(file))
	var all *Error
	if !errors.As(err, &all) {
		t.Fatalf("got %v, want an *Error", err)
	}
	if len(all.Problems) != 10 {
		t.Errorf("got %d problems, want 10", len(all.Problems))
	}
	for i, p := range all.Problems {
		if i < len(want) && p.String() != want[i] {
			t.Errorf("problem %d:\n got %s\nwant %s", i, p, want[i])
		}
	}
	first := Problem{File: "ralph.toml", Line: 3, Key: "agent.modell", Message: `unknown key "modell" in [agent]`, Suggestion: "model"}
	if all.Problems[1] != first {
		t.Errorf("got %+v, want %+v", all.Problems[1], first)
	}
}

// TestFloodOfProblems keeps a hostile file from filling the terminal, in
// whatever way it repeats itself.
func TestFloodOfProblems(t *testing.T) {
	var inline strings.Builder
	for i := range 50_000 {
		fmt.Fprintf(&inline, "k%d=1,", i)
	}
	for name, file := range map[string]string{
		"lines":    strings.Repeat("x = 1\n", 100_000),
		"sections": strings.Repeat("[x]\n", 100_000),
		"inline":   "sandbox = {" + inline.String() + "z=1}",
		"items":    "sandbox.protect = [" + strings.Repeat("1,", 1000) + "]",
	} {
		_, err := Parse("ralph.toml", []byte(file))
		var all *Error
		if !errors.As(err, &all) || len(all.Problems) != maxProblems+1 {
			t.Errorf("%s: got %d problems, want %d", name, len(all.Problems), maxProblems+1)
			continue
		}
		const last = "ralph.toml: has many problems; the first 100 are shown"
		if got := all.Problems[maxProblems].String(); got != last {
			t.Errorf("%s: got %q last, want %q", name, got, last)
		}
	}
}

// TestDeepNesting holds no more than a short answer to a megabyte of brackets
// or dots.
func TestDeepNesting(t *testing.T) {
	const n = maxFileSize/2 - 10
	for name, file := range map[string]string{
		"lists":          "agent.command = " + strings.Repeat("[", n) + strings.Repeat("]", n),
		"nine thousand":  "agent.command = " + strings.Repeat("[", 9000) + strings.Repeat("]", 9000),
		"tables":         "agent = " + strings.Repeat("{a=", n/2) + "1" + strings.Repeat("}", n/2),
		"dots":           "agent" + strings.Repeat(".a", n) + " = 1",
		"section":        "[agent" + strings.Repeat(".a", n) + "]",
		"long key":       strings.Repeat("a", 2*n) + " = 1",
		"skipped keys":   "[x]\n" + strings.Repeat("a=1\n", n/2),
		"long list":      "agent.command = [" + strings.Repeat("'',", n/2) + "]",
		"unknown number": "agent.name = " + strings.Repeat("9", n),
	} {
		_, err := Parse("ralph.toml", []byte(file))
		if err == nil {
			t.Errorf("%s: loaded", name)
		} else if len(err.Error()) > 500 {
			t.Errorf("%s: %d bytes of message", name, len(err.Error()))
		}
	}
}
