package config

import (
	"errors"
	"strings"
	"testing"
)

// sourcesOf makes the layers of a test: flags and variables are given as key=value,
// one a line, files as TOML.
func sourcesOf(t *testing.T, flags, env, project, user string) Sources {
	t.Helper()
	s := Sources{Flags: &Layer{}, Env: &Layer{}}
	for l, text := range map[*Layer]string{s.Flags: flags, s.Env: env} {
		for line := range strings.FieldsSeq(text) {
			key, value, _ := strings.Cut(line, "=")
			origin := "--" + key
			if l == s.Env {
				origin = environmentName(key)
			}
			if err := l.Set(origin, key, value); err != nil {
				t.Fatal(err)
			}
		}
	}
	var err error
	s.Project = mustParse(t, project)
	if s.User, err = Parse("user.toml", []byte(user)); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestTheStrongestSourceDecidesThePlace: with whichever key it says so.
func TestTheStrongestSourceDecidesThePlace(t *testing.T) {
	for name, tt := range map[string]struct {
		flags, env, project, user string
		engine                    string
	}{
		"nobody says anything":                      {engine: "auto"},
		"a file's engine":                           {user: `sandbox.engine = "podman"`, engine: "podman"},
		"a flag's":                                  {flags: "sandbox.engine=gvisor", user: `sandbox.engine = "podman"`, engine: "gvisor"},
		"a flag over a file that is off":            {flags: "sandbox.engine=docker", user: "sandbox.enabled = false", engine: "docker"},
		"auto is enough":                            {flags: "sandbox.engine=auto", user: `execution.mode = "host"`, engine: "auto"},
		"so is that there be a sandbox":             {flags: "sandbox.enabled=true", user: `sandbox.engine = "host"`, engine: "auto"},
		"which leaves the file's engine":            {flags: "sandbox.enabled=true", user: "sandbox.enabled = true\nsandbox.engine = \"docker\"", engine: "docker"},
		"container is any sandbox":                  {flags: "execution.mode=container", user: `sandbox.engine = "gvisor"`, engine: "gvisor"},
		"a flag leads to the host":                  {flags: "sandbox.engine=host", user: `sandbox.engine = "docker"`, project: "sandbox.enabled = true", engine: "host"},
		"by its mode":                               {flags: "execution.mode=host", project: `sandbox.engine = "gvisor"`, engine: "host"},
		"a flag over a variable":                    {flags: "sandbox.enabled=true", env: "execution.mode=host", engine: "auto"},
		"a variable over the files":                 {env: "sandbox.enabled=false", user: `sandbox.engine = "docker"`, engine: "host"},
		"a project wants a sandbox over the user's": {project: "sandbox.enabled = true", user: `sandbox.engine = "host"`, engine: "auto"},
		"by naming an engine":                       {project: `sandbox.engine = "docker"`, user: "sandbox.enabled = false", engine: "docker"},
		"a project alone does not lead to the host": {project: `execution.mode = "host"`, engine: "auto"},
		"nor away from the user's engine":           {project: "sandbox.enabled = false", user: `sandbox.engine = "bubblewrap"`, engine: "bubblewrap"},
	} {
		t.Run(name, func(t *testing.T) {
			s := sourcesOf(t, tt.flags, tt.env, tt.project, tt.user)
			if problems := s.contradictions(); len(problems) > 0 {
				t.Fatalf("a contradiction: %v", problems)
			}
			cfg, _ := Resolve(s)
			host := tt.engine == EngineHost
			if cfg.Sandbox.Engine != tt.engine || cfg.OnHost() != host || cfg.Sandbox.Enabled == host || (cfg.Execution.Mode == ModeHost) != host {
				t.Errorf("got %q, enabled %v, mode %q; want %q", cfg.Sandbox.Engine, cfg.Sandbox.Enabled, cfg.Execution.Mode, tt.engine)
			}
		})
	}
}

// TestContradictions: both sides are named, and where each comes from.
func TestContradictions(t *testing.T) {
	const place = ": the one leads to the host, the other to a sandbox"
	const runtime = ": docker and podman alone have such runtimes"
	for name, tt := range map[string]struct {
		flags, env, project, user string
		want                      string
	}{
		"off, and an engine": {project: "sandbox.enabled = false\nsandbox.engine = \"docker\"",
			want: `ralph.toml:1: sandbox.enabled = false contradicts sandbox.engine = "docker" (ralph.toml:2)` + place},
		"host, and an engine": {project: "execution.mode = \"host\"\nsandbox.engine = \"docker\"",
			want: `ralph.toml:1: execution.mode = "host" contradicts sandbox.engine = "docker" (ralph.toml:2)` + place},
		"auto is no host": {user: "sandbox.enabled = false\nsandbox.engine = \"auto\"",
			want: `user.toml:1: sandbox.enabled = false contradicts sandbox.engine = "auto" (user.toml:2)` + place},
		"on, and the host": {user: "sandbox.engine = \"host\"\nexecution.mode = \"container\"",
			want: `user.toml:1: sandbox.engine = "host" contradicts execution.mode = "container" (user.toml:2)` + place},
		"of flags": {flags: "execution.mode=host sandbox.enabled=true",
			want: `--execution.mode: execution.mode = "host" contradicts sandbox.enabled = true (--sandbox.enabled)` + place},
		"of variables": {env: "sandbox.enabled=false execution.mode=container",
			want: `RALPH_SANDBOX_ENABLED: sandbox.enabled = false contradicts execution.mode = "container" (RALPH_EXECUTION_MODE)` + place},
		"a runtime that the engine has not": {project: "sandbox.engine = \"gvisor\"\nsandbox.oci_runtime = \"runsc\"",
			want: `ralph.toml:2: sandbox.oci_runtime = "runsc" contradicts sandbox.engine = "gvisor" (ralph.toml:1)` + runtime},
		"a runtime over a file's engine": {flags: "sandbox.oci_runtime=runsc", user: `sandbox.engine = "bubblewrap"`,
			want: `--sandbox.oci_runtime: sandbox.oci_runtime = "runsc" contradicts sandbox.engine = "bubblewrap" (user.toml:1)` + runtime},
		"a runtime on the host": {flags: "sandbox.oci_runtime=runc sandbox.engine=host",
			want: `--sandbox.oci_runtime: sandbox.oci_runtime = "runc" contradicts sandbox.engine = "host" (--sandbox.engine)` + runtime},
		"a closed network with a name": {flags: "sandbox.network.policy=deny sandbox.network.allowed=a.example",
			want: `--sandbox.network.policy: sandbox.network.policy = "deny" contradicts sandbox.network.allowed = ["a.example"] (--sandbox.network.allowed): the one closes the network, the other opens it`},
		"a network on the host": {flags: "sandbox.network.policy=deny execution.mode=host",
			want: `--sandbox.network.policy: sandbox.network.policy = "deny" contradicts execution.mode = "host" (--execution.mode): on the host nothing keeps a network policy`},

		"a weaker source does not count": {flags: "sandbox.engine=docker", user: "sandbox.enabled = false"},
		"nor does its runtime":           {flags: "sandbox.engine=gvisor", user: `sandbox.oci_runtime = "runsc"`},
		"nor a project's":                {user: `sandbox.engine = "gvisor"`, project: `sandbox.oci_runtime = "runsc"`},
		"no runtime is none":             {flags: "sandbox.oci_runtime=", user: `sandbox.engine = "gvisor"`},
		"all of them agree":              {user: "sandbox.enabled = true\nexecution.mode = \"container\"\nsandbox.engine = \"docker\"\nsandbox.oci_runtime = \"runsc\""},
		"a list beside a policy":         {user: "sandbox.network.policy = \"deny\"\nsandbox.network.allowed = [\"a.example\"]"},
		"an open network with a name":    {flags: "sandbox.network.policy=allow-all sandbox.network.allowed=10.0.0.1"},
	} {
		t.Run(name, func(t *testing.T) {
			got := (&Error{Problems: sourcesOf(t, tt.flags, tt.env, tt.project, tt.user).contradictions()}).Error()
			if got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

func TestReadReportsContradictions(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/"+ProjectFile, "sandbox.enabled = false\nsandbox.engine = \"docker\"\n")
	_, _, err := Read(dir, environment(nil), nil)
	if bad := new(Error); !errors.As(err, &bad) || len(bad.Problems) != 1 {
		t.Errorf("error is %v", err)
	}
	flags := layerOf(t, map[string]string{keyRuntime: "runsc"})
	stored, _ := Resolve(sourcesOf(t, "sandbox.engine=gvisor", "", "", ""))
	if _, _, err := Restore(stored.Settings(), environment(nil), flags); err == nil || !strings.Contains(err.Error(), `stored setting "sandbox.engine"`) {
		t.Errorf("restored with %v", err)
	}
}

func TestARuntimeNobodyCanUseIsTold(t *testing.T) {
	cfg, notes := Resolve(sourcesOf(t, "sandbox.engine=gvisor", "", "", `sandbox.oci_runtime = "runsc"`))
	if cfg.Sandbox.OCIRuntime != "" || len(notes) != 1 || !strings.Contains(notes[0], "gvisor has no such runtimes") {
		t.Errorf("runtime %q, notes %q", cfg.Sandbox.OCIRuntime, notes)
	}
}

// TestTwoFlagsForOneKey: they may agree.
func TestTwoFlagsForOneKey(t *testing.T) {
	var l Layer
	for _, flag := range []string{"--engine", "--container-runtime"} {
		if err := l.Set(flag, keyEngine, "docker"); err != nil {
			t.Errorf("%s: %v", flag, err)
		}
	}
	const want = `--no-sandbox: sandbox.engine = "host" contradicts sandbox.engine = "docker" (--container-runtime): one of the two is enough`
	if err := l.Set("--no-sandbox", keyEngine, "host"); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestReadOnlySecrets: a project cannot name any.
func TestReadOnlySecrets(t *testing.T) {
	cfg, notes := Resolve(sourcesOf(t, "", "", `sandbox.readonly_secrets = ["~/.ssh/id"]`, `sandbox.readonly_secrets = ["~/.gitconfig"]`))
	if got := strings.Join(cfg.Sandbox.ReadOnlySecrets, " "); got != "~/.gitconfig" || len(notes) != 1 {
		t.Errorf("got %q, notes %q", got, notes)
	}
	for path, ok := range map[string]bool{
		"~/.gitconfig": true, "~/.ssh/id deploy": true, "/home/u/.netrc": true,
		"": false, "~": false, "~/": false, "~/.": false, ".gitconfig": false, "~/../other/.ssh/id": false, "~u/.ssh/id": false, "~/a\x00": false, "~/a\n": false,
	} {
		if why := aHomePath(path); (why == "") != ok {
			t.Errorf("%q: %q", path, why)
		}
	}
}
