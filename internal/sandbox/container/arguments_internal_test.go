package container

import (
	"encoding/csv"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/agent-loop/ralph/internal/sandbox"
	"github.com/agent-loop/ralph/internal/sandbox/keeper"
	"github.com/agent-loop/ralph/internal/sandbox/layout"
)

// full is a container with something of everything.
func full() request {
	agent := sandbox.User{UID: 1000, GID: 1001}
	return request{
		id: "ralph-0123456789ab", state: "5d41402abc4b2a76", owner: 1000, image: "localhost/ralph-root:00ff", user: agent, userns: "keep-id",
		ulimits: []string{"--ulimit", "nofile=1024:1024"}, ipv6: true,
		limits: sandbox.Limits{Memory: 256 << 20, Processes: 100, CPUs: 1.5},
		mounts: []layout.Mount{
			{Kind: layout.Bind, Source: "/usr", Target: "/usr", ReadOnly: true},
			{Kind: layout.Tmpfs, Target: "/tmp", Size: 1 << 20, Mode: 0o1777, Owner: agent},
			{Kind: layout.Bind, Source: "/home/me/project", Target: "/project", User: true},
			{Kind: layout.Bind, Source: "/home/me/project/.git/hooks", Target: "/project/.git/hooks", ReadOnly: true, User: true},
		},
		facts: facts{client: "28.2.2", limitMemory: true, limitProcesses: true, limitCPUs: true, cpus: 4},
	}
}

// golden compares a command line with the one that is written down, one option a
// line, as a person would review it.
func golden(t *testing.T, name string, args []string) {
	t.Helper()
	var text strings.Builder
	for i, arg := range args {
		switch {
		case i == 0:
		case strings.HasPrefix(arg, "--") || !strings.HasPrefix(args[i-1], "--") || strings.Contains(args[i-1], "="):
			text.WriteByte('\n')
		default:
			text.WriteByte(' ')
		}
		if arg == "" {
			arg = "''"
		}
		text.WriteString(arg)
	}
	text.WriteByte('\n')
	file := filepath.Join("testdata", name)
	if os.Getenv("RALPH_UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(file, []byte(text.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want := captured(t, name); text.String() != want {
		t.Errorf("got\n%s\nwant\n%s", &text, want)
	}
}

func TestArguments(t *testing.T) {
	for _, f := range []flavour{dockerFlavour(), podmanFlavour()} {
		t.Run(string(f.name), func(t *testing.T) {
			args, err := f.arguments(full())
			if err != nil {
				t.Fatal(err)
			}
			golden(t, string(f.name)+"-run.txt", args)
		})
	}
}

// TestHardened lists what no container may be without, whatever else changes.
func TestHardened(t *testing.T) {
	for _, f := range []flavour{dockerFlavour(), podmanFlavour()} {
		args, err := f.arguments(request{mounts: full().mounts})
		if err != nil {
			t.Fatal(err)
		}
		line := " " + strings.Join(args, " ") + " "
		for _, want := range []string{
			"--network none", "--cap-drop ALL", "--security-opt no-new-privileges", "--read-only ", "--ipc private", "--pull never",
			"--init=false", "--no-healthcheck", "--log-driver none", "--entrypoint " + keeper.Path, "--user ",
		} {
			if !strings.Contains(line, " "+want) {
				t.Errorf("%s has no %s: %s", f.name, want, line)
			}
		}
		for _, never := range []string{"--privileged", "--cap-add", "--device", "--pid host", "--network host", "--volume", "seccomp", "apparmor", "label="} {
			if strings.Contains(line, " "+never) {
				t.Errorf("%s has %s: %s", f.name, never, line)
			}
		}
	}
}

func TestLimitArguments(t *testing.T) {
	all := facts{limitMemory: true, limitProcesses: true, limitCPUs: true, cpus: 2}
	for _, test := range []struct {
		name   string
		limits sandbox.Limits
		facts  facts
		want   string
	}{
		{"none", sandbox.Limits{}, all, ""},
		{"all", sandbox.Limits{Memory: 1 << 20, Processes: 10, CPUs: 0.5}, all, "--memory 1048576 --memory-swap 1048576 --pids-limit 42 --cpus 0.5"},
		{"a sliver of a processor", sandbox.Limits{CPUs: 0.001}, all, "--cpus 0.01"},
		{"as many processors as there are", sandbox.Limits{CPUs: 2}, all, ""},
		{"more processors than there are", sandbox.Limits{CPUs: 64}, all, ""},
		{"nothing that would be ignored", sandbox.Limits{Memory: 1 << 20, Processes: 10, CPUs: 1}, facts{cpus: 2}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := strings.Join(request{limits: test.limits, facts: test.facts}.limitArguments(), " "); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// TestMountsSurviveCSV: paths arrive as they are, whatever they hold.
func TestMountsSurviveCSV(t *testing.T) {
	for _, path := range []string{"/plain", "/with space", "/a,b", `/quo"te`, "/col:on", "/a=b", `/,"`, " /leading", "/readonly=false,x", "/ünïcode"} {
		for _, f := range []flavour{dockerFlavour(), podmanFlavour()} {
			args, err := f.mountArguments(layout.Mount{Kind: layout.Bind, Source: path, Target: path, ReadOnly: true, User: true}, facts{})
			if err != nil {
				t.Fatal(err)
			}
			fields, err := csv.NewReader(strings.NewReader(args[1])).Read()
			if err != nil {
				t.Fatalf("%s: %v", args[1], err)
			}
			for _, want := range []string{"type=bind", "src=" + path, "dst=" + path, "readonly=true", "bind-nonrecursive=true"} {
				if !slices.Contains(fields, want) {
					t.Errorf("%s: %q has no %q", f.name, fields, want)
				}
			}
		}
	}
}

func TestNotRecursiveFollowsTheClient(t *testing.T) {
	for client, want := range map[string]string{
		"": "bind-nonrecursive=true", "20.10.24": "bind-nonrecursive=true", "24.0.7": "bind-nonrecursive=true",
		"25.0.0": "bind-recursive=disabled", "29.0.1": "bind-recursive=disabled",
	} {
		if got := dockerFlavour().notRecursive(facts{client: client}); got != want {
			t.Errorf("docker %s: got %s", client, got)
		}
	}
	if got := podmanFlavour().notRecursive(facts{client: "29.0"}); got != "bind-nonrecursive=true" {
		t.Errorf("podman: got %s", got)
	}
}

func TestTmpfsWithColonIsRefused(t *testing.T) {
	_, err := dockerFlavour().mountArguments(layout.Mount{Kind: layout.Tmpfs, Target: "/a:ro"}, facts{})
	var refused *sandbox.RefusedError
	if !errors.As(err, &refused) {
		t.Errorf("got %v", err)
	}
}

// TestSettings: the keeper holds what the kernel does not, and nothing twice.
func TestSettings(t *testing.T) {
	spec := sandbox.Spec{
		Mounts: []sandbox.Mount{{Source: "/a"}}, Network: sandbox.NetworkGate,
		Limits: sandbox.Limits{Memory: 1 << 20, Processes: 5, CPUs: 1, Disk: 1 << 30},
	}
	one := func(float64) []int { return []int{7} }
	for _, test := range []struct {
		name  string
		facts facts
		want  keeper.Settings
	}{
		{"the kernel keeps all", facts{runtime: "runc", limitMemory: true, limitProcesses: true, limitCPUs: true, filtered: true},
			keeper.Settings{Gate: true, FileSize: 1 << 30, MemoryGroup: true}},
		{"the kernel keeps nothing", facts{runtime: "crun", filtered: true},
			keeper.Settings{Gate: true, FileSize: 1 << 30, Processes: 5, Memory: 1 << 20, CPUs: []int{7}}},
		{"a kernel of its own", facts{runtime: "runsc", limitMemory: true, limitProcesses: true, limitCPUs: true},
			keeper.Settings{Gate: true, OwnKernel: true, UnixSockets: true, FileSize: 1 << 30, MemoryGroup: true}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := test.facts.settings(spec, one); !reflect.DeepEqual(got, test.want) {
				t.Errorf("got  %+v\nwant %+v", got, test.want)
			}
		})
	}
}

// TestEnvironment: the command gets a few variables, and none of the user's
// settings once the engine is found.
func TestEnvironment(t *testing.T) {
	env := []string{
		"PATH=/bin", "HOME=/home/me", "HOME=/home/you", "SECRET=x", "HTTP_PROXY=http://user:word@proxy", "DOCKER_HOST=unix:///a", "DOCKER_CONFIG=/c",
		"CONTAINERS_CONF=/conf", "CONTAINERS_CONF_OVERRIDE=/more", "CONTAINERS_STORAGE_CONF=/storage", "CONTAINER_HOST=tcp://a", "XDG_RUNTIME_DIR=/run/user/1",
	}
	for _, test := range []struct {
		name string
		got  []string
		want []string
	}{
		{"docker, asking", only(env, dockerFlavour().env...), []string{"PATH=/bin", "HOME=/home/you", "DOCKER_HOST=unix:///a", "DOCKER_CONFIG=/c", "XDG_RUNTIME_DIR=/run/user/1"}},
		{"docker", dockerFlavour().settled(env, "unix:///b", "/empty"), []string{"PATH=/bin", "HOME=/home/you", "XDG_RUNTIME_DIR=/run/user/1", "DOCKER_HOST=unix:///b", "DOCKER_CONFIG=/empty"}},
		{"podman", podmanFlavour().settled(env, "", "/empty"), []string{"PATH=/bin", "HOME=/home/you", "XDG_RUNTIME_DIR=/run/user/1", "CONTAINERS_STORAGE_CONF=/storage", "CONTAINERS_CONF=/empty/containers.conf"}},
	} {
		if !slices.Equal(test.got, test.want) {
			t.Errorf("%s: got %q, want %q", test.name, test.got, test.want)
		}
	}
}
