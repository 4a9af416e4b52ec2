package config

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// candidates are texts that each key takes, as Layer.Set wants them; the items
// of lists are parted by "|".
var candidates = map[string][]string{
	"agent.name":               {"claude", "mini", "command"},
	"agent.model":              {"m-1", "house/model:2"},
	"agent.command":            {"", "sh|-c|a, b|", " x |\x1b[2J|é"},
	"agent.upstream":           {"https://api.openai.com", "http://127.0.0.1:9/v1"},
	"agent.credential":         {"", "env:KEY", "command:pass show x"},
	"agent.provider_fetch":     {"true", "false"},
	"execution.mode":           {ModeHost, ModeContainer},
	keyBypass:                  {"true", "false"},
	"sandbox.enabled":          {"true", "false"},
	"sandbox.engine":           {EngineAuto, "gvisor", "bubblewrap", EngineHost},
	"sandbox.oci_runtime":      {"", "runsc"},
	"sandbox.prefer":           {PreferSpeed, PreferStrength},
	"sandbox.image":            {"", "ralph:latest", "a@sha256:00"},
	"sandbox.reuse_container":  {"true", "false"},
	"sandbox.use_local_image":  {"true", "false"},
	keyProtect:                 {"", "deploy/|./Makefile", "a b/c|deploy"},
	"sandbox.readonly_secrets": {"", "~/.gitconfig", "/home/u/.ssh/id|~/.x y"},
	"sandbox.inner":            {"", InnerSRT},
	keyPolicy:                  {PolicyDeny, PolicyAllowlist, PolicyAllowAll},
	keyAllowed:                 {"", "a.example|@npm", "b.example|127.0.0.1:80|a.example"},
	keyDenied:                  {"", "x.example", "y.example|x.example"},

	"sandbox.resources.memory":          {"64m", "1.5g", "1073741825", "1t"},
	"sandbox.resources.cpus":            {"0.01", "0.3", "3.3333333333333335", "1024"},
	"sandbox.resources.processes":       {"1", "1000000"},
	"sandbox.resources.disk":            {"1m", "1048577", "64t"},
	"sandbox.resources.timeout_minutes": {"0.001", "60", "0.3333", "90s", "1ns", "1h0m0.000000001s", "30d"},

	"budget.max_cost_usd":   {"0.01", "0.1", "12.34", "1000000"},
	"budget.max_iterations": {"0", "7"},
	"budget.max_tokens":     {"0", "1000000000000"},
	"budget.max_time":       {"1ns", "1.5d", "1h1s", "30d"},
	"budget.name":           {"", "team"},
	"budget.unknown_model":  {UnknownRefuse, UnknownDearest},
	"budget.steer":          {"true", "false"},

	"loop.prompt":                 {"PROMPT.md", "./a/[b].md"},
	"loop.tasks":                  {"", "tasks.json"},
	"loop.completion_tag":         {"", "<done/>", "ALL DONE"},
	"loop.max_turns":              {"0", "40"},
	"loop.idle_timeout":           {"0", "1m", "30d"},
	"loop.completion_timeout":     {"1s", "2h"},
	"loop.empty_retries":          {"0", "10"},
	"loop.max_consecutive_errors": {"0", "9"},
	"loop.max_same_error":         {"0", "9"},
	"loop.max_no_progress":        {"0", "9"},
	"loop.max_denials":            {"0", "9"},
	"loop.cool_down":              {"0s", "1h"},
	"loop.max_wait":               {"0d", "3d"},
	"loop.idle_threshold":         {"0", "9"},

	"validation.setup":           {"npm ci", "a\nb"},
	"validation.command":         {"go test ./...", "a\nb"},
	"validation.trusted":         {"", "**/*_test.go|x"},
	"validation.timeout":         {"1s", "2d"},
	"validation.network.policy":  {PolicySame, PolicyDeny, PolicyAllowlist},
	"validation.network.allowed": {"", "a.example|@npm", "A.example|127.0.0.1:80"},

	"git.workspace":  {WorkspaceAuto, WorkspaceClone, WorkspaceInPlace, WorkspaceWorktree},
	"git.branch":     {"ralph/{run}", "loop"},
	"git.name":       {"Ralph Loop", "É. O'Neil"},
	"git.email":      {"ralph@localhost", "loop@acme.example"},
	"git.checkout":   {CheckoutAuto, CheckoutFolder, CheckoutInside},
	"git.commit":     {CommitAuto, CommitAgent},
	"git.objects":    {ObjectsShare, ObjectsCopy},
	keyBranches:      {"", "main|stable-?", "release/**|main"},
	"git.push":       {"true", "false"},
	"git.remote":     {"origin", "mine/fork"},
	"git.sign":       {"true", "false"},
	"git.max_import": {"1m", "1073741825", "1t"},
	"git.max_file":   {"1m", "1.5g", "1t"},

	"run.folder":     {".ralph/runs", "/var/runs", `C:\runs`},
	"notify.command": {"", "notify|--token|s3cret"},
	"notify.webhook": {"", "https://hooks.example/s3cret"},
	"notify.desktop": {"true", "false"},
	"notify.on":      {"", "done", "limit|stopped"},
}

// TestSettingsRoundTrip makes configurations of random sources, and each again
// of what a run would keep of it.
func TestSettingsRoundTrip(t *testing.T) {
	for _, f := range schema() {
		if len(candidates[f.key]) < 2 {
			t.Fatalf("candidates has too few values of %s", f.key)
		}
	}
	checkRoundTrip(t, Defaults())
	random := rand.New(rand.NewPCG(1, 2))
	onHost, denied := 0, 0
	for range 500 {
		cfg, _ := Resolve(Sources{
			Flags: randomLayer(t, random), Env: randomLayer(t, random), Project: randomLayer(t, random), User: randomLayer(t, random),
		})
		checkRoundTrip(t, cfg)
		if cfg.OnHost() {
			onHost++
		}
		if cfg.Sandbox.Network.Policy == PolicyDeny {
			denied++
		}
	}
	if onHost < 50 || onHost > 450 || denied < 50 {
		t.Errorf("%d on the host and %d denied of 500: not random enough", onHost, denied)
	}
}

// randomLayer sets a random part of the keys, from none to half of them.
func randomLayer(t *testing.T, random *rand.Rand) *Layer {
	t.Helper()
	l := &Layer{}
	part := random.Float64() / 2
	for _, f := range schema() {
		if random.Float64() >= part {
			continue
		}
		choices := candidates[f.key]
		text := []string{choices[random.IntN(len(choices))]}
		if f.list {
			text = items(text[0])
		}
		if problems := l.setText(f, "--random", text); len(problems) > 0 {
			t.Fatal(problems)
		}
	}
	return l
}

func items(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, "|")
}

// checkRoundTrip restores a configuration from what a run keeps of it. The
// secrets are where the user has them.
func checkRoundTrip(t *testing.T, cfg Config) {
	t.Helper()
	settings := cfg.Settings()
	for _, f := range schema() {
		if _, ok := settings[f.key]; !ok {
			t.Errorf("%s is not kept", f.key)
		}
	}
	got, notes, err := Restore(settings, environment(nil), nil)
	if err != nil {
		t.Fatalf("restoring %q: %v", settings, err)
	}
	want := cfg
	want.Notify.Command, want.Notify.Webhook = nil, ""
	want.Credentials, want.Prices = nil, nil
	if !reflect.DeepEqual(got, want) || len(notes) > 0 {
		t.Fatalf("restored\n%+v, notes %q, want\n%+v", got, notes, want)
	}
}

// TestRestoreKeepsWhatWasJoined starts a run and resumes it: values stay that a
// project could not have chosen, and what was nobody's word stays so.
func TestRestoreKeepsWhatWasJoined(t *testing.T) {
	type values map[string]string
	const host = "sandbox.enabled"
	tests := []struct {
		name          string
		user, project string
		flags, resume values // lists are parted by "|"
		key, want     string
		notes         int // when it resumes
	}{
		{"a flag's high price", "budget.max_cost_usd = 5", "", values{"budget.max_cost_usd": "400"}, nil, "budget.max_cost_usd", "400", 0},
		{"and more of it", "", "", nil, values{"budget.max_cost_usd": "400"}, "budget.max_cost_usd", "400", 0},
		{"an upstream of the user", `agent.upstream = "https://a.example"`, "", nil, nil, "agent.upstream", `"https://a.example"`, 0},
		{"memory that nobody limited", "", "", nil, nil, "sandbox.resources.memory", `"0b"`, 0},
		{"memory that a project wanted more of", "", `sandbox.resources.memory = "16g"`, nil, nil, "sandbox.resources.memory", `"8g"`, 0},
		{"a timeout that no number of minutes is", "", "", values{"sandbox.resources.timeout_minutes": "1.0001s"}, nil, "sandbox.resources.timeout_minutes", "0.016668333333333334", 0},

		{"protected paths are united once more", `sandbox.protect = ["a"]`, `sandbox.protect = ["b/"]`, nil, values{keyProtect: "./b|c"}, keyProtect, `["a", "b", "c"]`, 0},
		{"so are denied names", `sandbox.network.denied = ["a.example"]`, "", nil, values{keyDenied: "b.example"}, keyDenied, `["a.example", "b.example"]`, 0},

		{"and branches, where the defaults are the run's by now", "", `git.protected_branches = ["p"]`, nil, values{keyBranches: "r|p"}, keyBranches, `["main", "master", "trunk", "release/*", "p", "r"]`, 0},
		{"no branch but one that the user wanted", `git.protected_branches = ["u"]`, "", nil, nil, keyBranches, `["u"]`, 0},
		{"none at all", `git.protected_branches = []`, "", nil, nil, keyBranches, `[]`, 0},
		{"a large import of the user's", `git.max_import = "2g"`, `git.max_import = "4g"`, nil, nil, "git.max_import", `"2g"`, 0},
		{"the user's own files", `git.workspace = "in-place"`, "", nil, nil, "git.workspace", `"in-place"`, 0},
		{"a validation that nobody sets up", "", "", nil, nil, "validation.setup", `""`, 0},

		{"names of all sources", "", `sandbox.network.allowed = ["p.example"]`, values{keyAllowed: "127.0.0.1:80"}, nil, keyAllowed, `["p.example", "127.0.0.1:80"]`, 0},
		{"a name is added", "", `sandbox.network.allowed = ["p.example"]`, nil, values{keyAllowed: "r.example"}, keyAllowed, `["p.example", "r.example"]`, 0},
		{"a flag had opened a name over a deny", `sandbox.network.policy = "deny"`, `sandbox.network.allowed = ["p.example"]`, values{keyAllowed: "f.example"}, nil, keyAllowed, `["f.example"]`, 0},
		{"and the policy is what it became", `sandbox.network.policy = "deny"`, "", values{keyAllowed: "f.example"}, nil, keyPolicy, `"allowlist"`, 0},
		{"deny stays", `sandbox.network.policy = "deny"`, `sandbox.network.allowed = ["p.example"]`, nil, nil, keyPolicy, `"deny"`, 0},
		{"a name opens itself alone over a deny", `sandbox.network.policy = "deny"`, `sandbox.network.allowed = ["p.example"]`, nil, values{keyAllowed: "r.example"}, keyAllowed, `["r.example"]`, 1},
		{"a policy does not let a project's names in later", `sandbox.network.policy = "deny"`, `sandbox.network.allowed = ["p.example"]`, nil, values{keyPolicy: "allowlist"}, keyAllowed, `[]`, 0},
		{"a deny closes what was open", "", `sandbox.network.allowed = ["p.example"]`, nil, values{keyPolicy: "deny"}, keyAllowed, `[]`, 0},

		{"in a sandbox the agent does not ask", "", "", nil, nil, keyBypass, "true", 0},
		{"unless someone said so", "", keyBypass + " = false", nil, nil, keyBypass, "false", 0},
		{"on the host it asks", "sandbox.enabled = false", keyBypass + " = true", nil, nil, keyBypass, "false", 0},
		{"unless the user said so", "sandbox.enabled = false\n" + keyBypass + " = true", "", nil, nil, keyBypass, "true", 0},
		{"a default does not count on the host", "", "", nil, values{host: "false"}, keyBypass, "false", 0},
		{"nor does a project's word", "", keyBypass + " = true", nil, values{host: "false"}, keyBypass, "false", 0},
		{"a flag's does", "", "", nil, values{host: "false", keyBypass: "true"}, keyBypass, "true", 0},
		{"who had to ask on the host asks in a sandbox too", "sandbox.enabled = false\n" + keyBypass + " = false", "", nil, values{host: "true"}, keyBypass, "false", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg, _ := Resolve(Sources{Flags: layerOf(t, tt.flags), Project: mustParse(t, tt.project), User: mustParse(t, tt.user)})
			got, notes, err := Restore(cfg.Settings(), environment(nil), layerOf(t, tt.resume))
			if err != nil {
				t.Fatal(err)
			}
			f := newIndex().fields[tt.key]
			if shown := f.show(f.load(&got)); shown != tt.want || len(notes) != tt.notes {
				t.Errorf("%s is %s, notes %q; want %s, %d notes", tt.key, shown, notes, tt.want, tt.notes)
			}
		})
	}
}

func layerOf(t *testing.T, values map[string]string) *Layer {
	t.Helper()
	l := &Layer{}
	for key, value := range values {
		if err := l.Set("--flag", key, items(value)...); err != nil {
			t.Fatal(err)
		}
	}
	return l
}

// TestRestoreReadsTheUsersOwnNow: files and variables may say what they like by
// then, except for what a run does not keep.
func TestRestoreReadsTheUsersOwnNow(t *testing.T) {
	env := map[string]string{"XDG_CONFIG_HOME": t.TempDir(), "RALPH_AGENT_NAME": "codex", "RALPH_BUDGET_STEER": "no value of this key"}
	write(t, UserFile(environment(env)), "[agent]\nname = \"gemini\"\n[notify]\ncommand = [\"by-file\"]\nwebhook = \"https://file.example\"\non = []\n"+entries)
	env["RALPH_NOTIFY_WEBHOOK"] = "https://variable.example"

	cfg, notes, err := Restore(Defaults().Settings(), environment(env), nil)
	if err != nil || len(notes) != 0 {
		t.Fatalf("notes %q, error %v", notes, err)
	}
	if len(cfg.Credentials) != 3 || len(cfg.Prices) != 1 {
		t.Errorf("got %d credentials and %d prices, want 3 and 1", len(cfg.Credentials), len(cfg.Prices))
	}
	want := Defaults()
	want.Notify.Command, want.Notify.Webhook = []string{"by-file"}, "https://variable.example"
	cfg.Credentials, cfg.Prices = nil, nil
	if !reflect.DeepEqual(cfg, want) {
		t.Errorf("got %+v\nwant %+v", cfg, want)
	}
}

// TestSettingsHoldNoSecrets: an agent may be able to read its run's record.
func TestSettingsHoldNoSecrets(t *testing.T) {
	cfg, _ := Resolve(Sources{User: mustParse(t, "[notify]\ncommand = [\"n\", \"s3cret\"]\nwebhook = \"https://hooks.example/s3cret\"\n"+
		"[[credential]]\nhost = \"a.example\"\nheader = \"X\"\nfrom = \"command:echo s3cret\"")})
	if text := fmt.Sprint(cfg.Settings()); strings.Contains(text, "s3cret") {
		t.Errorf("a secret is kept: %s", text)
	}
}

// TestBrokenConfigIsNotRestored: a value that no source could have given is kept
// as it is, and refused.
func TestBrokenConfigIsNotRestored(t *testing.T) {
	cfg := Defaults()
	cfg.Sandbox.Engine, cfg.Sandbox.Resources.Memory = "warp", -1
	_, _, err := Restore(cfg.Settings(), environment(nil), nil)
	var bad *Error
	if !errors.As(err, &bad) || len(bad.Problems) != 2 {
		t.Errorf("got %v, want two problems", err)
	}
}

func TestSettingsAreTheCallers(t *testing.T) {
	cfg := Defaults()
	cfg.Settings()["notify.on"][0] = "changed"
	if cfg.Notify.On[0] != NotifyDone {
		t.Error("changing the settings changes the configuration")
	}
}

// TestLongJoinedLists: a project cannot keep a run from going on with a list
// that is as long as a list may be.
func TestLongJoinedLists(t *testing.T) {
	long := func(prefix string) *Layer {
		var paths []string
		for i := range maxListItems {
			paths = append(paths, fmt.Sprintf("%s%d", prefix, i))
		}
		l := &Layer{}
		if err := l.Set("--x", keyProtect, paths...); err != nil {
			t.Fatal(err)
		}
		return l
	}
	cfg, _ := Resolve(Sources{User: long("u"), Project: long("p")})
	if len(cfg.Sandbox.Protect) != 2*maxListItems {
		t.Fatalf("%d paths", len(cfg.Sandbox.Protect))
	}
	checkRoundTrip(t, cfg)
}

func TestBadSettings(t *testing.T) {
	for _, tt := range []struct {
		settings map[string][]string
		want     string
	}{
		{nil, ""},
		{map[string][]string{"agent.model": {}, "notify.webhook": nil, "sandbox.resources.disk": {}}, ""},
		{map[string][]string{"sandbox.engin": {"auto"}}, `stored setting "sandbox.engin": there is no such key; did you mean "sandbox.engine"?`},
		{map[string][]string{"\x1b": {"x"}}, `stored setting "\x1b": there is no such key`},
		{map[string][]string{"sandbox.engine": {"warp"}}, `stored setting "sandbox.engine": must be one of "auto", "gvisor", "docker", "podman", "bubblewrap", "docker-sandbox", "host", not "warp"`},
		{map[string][]string{"sandbox.enabled": {}}, `stored setting "sandbox.enabled": it takes one value, not 0`},
		{map[string][]string{"agent.model": {""}}, `stored setting "agent.model": "" is empty`},
		{map[string][]string{"agent.model": {"a", "b"}}, `stored setting "agent.model": it takes one value, not 2`},
		{map[string][]string{"sandbox.resources.memory": {"0b"}}, `stored setting "sandbox.resources.memory": "0b" is not a size: it is zero; write it like 512m or 8g`},
		{map[string][]string{keyProtect: slices.Repeat([]string{"x"}, maxStored+1)}, `stored setting "sandbox.protect": has 10001 items: the most is 10000`},
		{map[string][]string{"budget.max_tokens": {"-1"}, keyAllowed: {"a.example", "*"}},
			`stored setting "budget.max_tokens": must be a whole number from 0 to 1000000000000, not -1` + "\n" +
				`stored setting "sandbox.network.allowed": "*" would allow everything; say policy = "allow-all" if you mean that`},
	} {
		layer, err := FromSettings(tt.settings)
		_, _, restoreErr := Restore(tt.settings, environment(nil), nil)
		var bad *Error
		switch {
		case tt.want == "" && (err != nil || restoreErr != nil || layer == nil):
			t.Errorf("%q: %v, %v", tt.settings, err, restoreErr)
		case tt.want != "" && (!errors.As(err, &bad) || err.Error() != tt.want || restoreErr == nil || restoreErr.Error() != tt.want):
			t.Errorf("got %v and %v, want %s", err, restoreErr, tt.want)
		}
	}
}

// TestRestoreTellsAllProblems: those of what was stored, of the user's file or of
// a variable, at once.
func TestRestoreTellsAllProblems(t *testing.T) {
	env := map[string]string{"XDG_CONFIG_HOME": t.TempDir(), "RALPH_NOTIFY_WEBHOOK": "nowhere"}
	file := UserFile(environment(env))
	write(t, file, "nope = 1")
	_, _, err := Restore(map[string][]string{"agent.name": {"nobody"}}, environment(env), nil)
	var bad *Error
	if !errors.As(err, &bad) || len(bad.Problems) != 3 {
		t.Errorf("got %v, want three problems", err)
	}
	if runtime.GOOS == "windows" {
		return // where a file as a folder is a file that does not exist
	}
	// What is no mistake in a file is no *Error.
	write(t, filepath.Join(env["XDG_CONFIG_HOME"], "file"), "")
	env = map[string]string{"XDG_CONFIG_HOME": filepath.Join(env["XDG_CONFIG_HOME"], "file")}
	if _, _, err := Restore(nil, environment(env), nil); err == nil || errors.As(err, &bad) {
		t.Errorf("a file as a folder: got %v, want another error", err)
	}
}

// FuzzSettings: no stored settings are accepted that do not make a configuration
// which in turn can be stored and restored.
func FuzzSettings(f *testing.F) {
	for key, texts := range candidates {
		for _, text := range texts {
			f.Add(key, text, "agent.name", "mini")
		}
	}
	f.Add("sandbox.protect", "./ |a/./b|./C:/x", keyPolicy, "deny")
	f.Add("sandbox.resources.timeout_minutes", "1e-3", keyAllowed, "a.example|A.example")
	f.Add("no.such", "\xff", "", "\x00")
	f.Fuzz(func(t *testing.T, key, text, key2, text2 string) {
		settings := map[string][]string{key: items(text), key2: items(text2)}
		cfg, notes, err := Restore(settings, environment(nil), nil)
		if err != nil {
			checkError(t, err, 0)
			return
		}
		if len(notes) > 0 {
			t.Errorf("notes %q", notes)
		}
		checkRoundTrip(t, cfg)
	})
}
