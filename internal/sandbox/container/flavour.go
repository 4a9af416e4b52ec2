package container

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/agent-loop/ralph/internal/sandbox/layout"
)

// Flavour is the word that users write in --engine.
type Flavour string

// The engines that have this command line.
const (
	Docker Flavour = "docker"
	Podman Flavour = "podman"
)

// flavour is all that differs between the two.
type flavour struct {
	name Flavour

	// oldest is the first version that has all the options we use.
	oldest [2]int

	// env are the variables that lead the command to its engine.
	env []string

	// info asks for all there is to know, in JSON, and parse reads it.
	info  []string
	parse func(text string) (facts, error)

	// containers is the format of a list of our containers: its id, and ours.
	containers string

	// remove ends a container now, whatever it does.
	remove []string

	// global are the arguments in front of the command, and run those of a new
	// container, that only this engine needs.
	global func(facts) []string
	run    func(request) []string

	// tmpfs are options that make the agent the owner of a place in memory.
	tmpfs func(layout.Mount) string

	// settled is the environment once the engine is found: without the settings of
	// the user's. The folder is empty but for an empty file of each kind.
	settled func(env []string, endpoint, folder string) []string

	// install, start and join are what to do when the command is not there, when
	// nobody answers, and when the caller may not ask.
	install, start, join string
}

// flavours is a function because nothing may change it.
func flavours(name Flavour) (flavour, error) {
	switch name {
	case Docker:
		return dockerFlavour(), nil
	case Podman:
		return podmanFlavour(), nil
	}
	return flavour{}, fmt.Errorf("%q is no container engine that ralph knows", name)
}

func dockerFlavour() flavour {
	return flavour{
		name:       Docker,
		oldest:     [2]int{20, 10},
		env:        []string{"PATH", "HOME", "DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CONFIG", "XDG_RUNTIME_DIR"},
		info:       []string{"info", "--format", "{{json .}}"},
		parse:      parseDocker,
		containers: `{{.ID}} {{.Label "` + labelSandbox + `"}}`,
		remove:     []string{"rm", "--force", "--volumes"},
		global:     func(facts) []string { return nil },
		run:        dockerRun,
		tmpfs:      dockerTmpfs,
		settled:    dockerSettled,
		install:    "install Docker Engine (apt install docker.io, or dnf install moby-engine), or use another engine",
		start:      "sudo systemctl start docker",
		join:       "sudo usermod -aG docker \"$USER\", then log in again; mind that this group is root on this machine. Podman needs no such group",
	}
}

func podmanFlavour() flavour {
	return flavour{
		name:   Podman,
		oldest: [2]int{4, 3},
		env: []string{
			"PATH", "HOME", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "DBUS_SESSION_BUS_ADDRESS", "TMPDIR",
			"CONTAINERS_CONF", "CONTAINERS_CONF_OVERRIDE", "CONTAINERS_STORAGE_CONF", "CONTAINER_HOST", "CONTAINER_CONNECTION",
		},
		info:       []string{"info", "--format", "json"},
		parse:      parsePodman,
		containers: `{{.ID}} {{index .Labels "` + labelSandbox + `"}}`,
		remove:     []string{"rm", "--force", "--time", "0", "--volumes"},
		global:     podmanGlobal,
		run:        podmanRun,
		tmpfs:      podmanTmpfs,
		settled:    podmanSettled,
		install:    "apt install podman uidmap, or dnf install podman",
		start:      "see what podman info says",
		join:       "see what podman info says",
	}
}

// dockerRun is what Docker alone needs. The processes, the host name and the users
// are the container's own by default, and no option says so.
func dockerRun(r request) []string {
	var args []string
	if r.runtime != "" {
		args = append(args, "--runtime", r.runtime)
	}
	if r.ipv6 { // Docker switches it off along with the network, and ::1 with it
		args = append(args, "--sysctl", "net.ipv6.conf.lo.disable_ipv6=0")
	}
	return args
}

// podmanGlobal repeats what was learned from the user's settings, which are not
// read again. What is an option of ours already comes after it and wins.
func podmanGlobal(f facts) []string {
	var args []string
	for _, option := range [][2]string{{"--runtime", f.runtimePath}, {"--cgroup-manager", f.cgroupManager}, {"--conmon", f.conmon}} {
		if option[1] != "" {
			args = append(args, option[0], option[1])
		}
	}
	return args
}

func podmanRun(r request) []string {
	args := []string{
		"--pid", "private",
		"--uts", "private",
		"--userns", r.userns,
		"--read-only-tmpfs=false", // we say which places are writable
		"--http-proxy=false",      // the host's proxy, with its password
		"--env-host=false",
		"--image-volume", "ignore",
		"--passwd=false",
		"--systemd", "false",
		"--detach-keys", "", // the stream may hold any bytes
	}
	args = append(args, r.ulimits...)
	if r.limits.Processes == 0 && r.facts.limitProcesses {
		args = append(args, "--pids-limit", "-1")
	}
	return args
}

func dockerTmpfs(m layout.Mount) string {
	return fmt.Sprintf("uid=%d,gid=%d", m.Owner.UID, m.Owner.GID)
}

// podmanTmpfs also keeps out what the image has at that place, as Docker does.
func podmanTmpfs(layout.Mount) string { return "notmpcopyup,U" }

// dockerSettled names the engine itself: contexts are part of the settings.
func dockerSettled(env []string, endpoint, folder string) []string {
	return append(only(env, "PATH", "HOME", "XDG_RUNTIME_DIR"), "DOCKER_HOST="+endpoint, "DOCKER_CONFIG="+folder)
}

func podmanSettled(env []string, _, folder string) []string {
	return append(only(env, "PATH", "HOME", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "DBUS_SESSION_BUS_ADDRESS", "TMPDIR", "CONTAINERS_STORAGE_CONF"),
		"CONTAINERS_CONF="+filepath.Join(folder, emptyFile))
}

// emptyFile is the name of settings that say nothing.
const emptyFile = "containers.conf"

// only picks variables out of an environment by their names. The last one of a
// name counts, as it does for programs.
func only(env []string, names ...string) []string {
	var picked []string
	for _, name := range names {
		if value := variable(env, name); value != "" {
			picked = append(picked, name+"="+value)
		}
	}
	return picked
}

func variable(env []string, name string) string {
	for _, entry := range slices.Backward(env) {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}

// olderThan compares versions such as 20.10.24+dfsg1. What is no version is older
// than all.
func olderThan(version string, oldest [2]int) bool {
	parts := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	var numbers [2]int
	for i := range numbers {
		if i >= len(parts) {
			return true
		}
		n, err := strconv.Atoi(strings.TrimRight(parts[i], "-+~abcdefghijklmnopqrstuvwxyz"))
		if err != nil || n < 0 {
			return true
		}
		numbers[i] = n
	}
	return slices.Compare(numbers[:], oldest[:]) < 0
}
