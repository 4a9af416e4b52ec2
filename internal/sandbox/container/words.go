package container

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/agent-loop/ralph/internal/sandbox"
)

// lastWords is what an engine's command said last that says something, without
// the names in front of it.
func lastWords(said string) string {
	lines := strings.Split(said, "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		line := strings.TrimSpace(lines[i])
		if line == "" || isAdvice(line) {
			continue
		}
		line = message(line)
		for _, prefix := range []string{"docker: ", "Error response from daemon: ", "Error: ", "ralph: "} {
			line = strings.TrimPrefix(line, prefix)
		}
		return oneLine(line)
	}
	return ""
}

// message is what a line of podman's log is about.
func message(line string) string {
	if !strings.HasPrefix(line, "time=") {
		return line
	}
	_, quoted, found := strings.Cut(line, " msg=")
	if text, err := strconv.Unquote(quoted); found && err == nil {
		return text
	}
	return line
}

// isAdvice recognises what commands add to an error, and their warnings.
func isAdvice(line string) bool {
	for _, prefix := range []string{"See 'docker", "Run 'docker", "See 'podman", "WARNING: ", "Resource limits are not supported"} {
		if strings.HasPrefix(line, prefix) {
			return true
		}
	}
	return strings.HasPrefix(line, "time=") && strings.Contains(line, "level=warning")
}

// explanation is what words of an engine mean, and what to do about it. Without a
// reason, its own words are the best there is.
type explanation struct {
	signs       []string // any of them, in lower case
	unavailable bool     // the engine cannot run, not just this container
	reason, fix string
}

func (f flavour) explanations() []explanation {
	name := string(f.name)
	return []explanation{
		{
			signs:       []string{"permission denied while trying to connect", "connect: permission denied"},
			unavailable: true, fix: f.join,
			reason: "this user may not use " + name,
		},
		{
			// The last that a client hears of a daemon that is killed.
			signs: []string{"unexpected eof", "error waiting for container", "\": eof"},
			fix:   f.start, reason: name + " went away while the container ran",
		},
		{
			signs:       []string{"cannot connect to the", "is the docker daemon running", "connect: ", "error during connect"},
			unavailable: true, fix: f.start,
			reason: name + " does not answer",
		},
		{
			signs:       []string{"newuidmap", "newgidmap", "no subuid ranges", "no subgid ranges"},
			unavailable: true,
			reason:      "podman has no users to map: newuidmap or the ranges in /etc/subuid are missing",
			fix:         subordinateFix,
		},
		{
			signs:       []string{"unknown or invalid runtime", "unknown runtime specified", "default oci runtime", "invalid runtime name"},
			unavailable: true, reason: "it does not know that OCI runtime",
			fix: "choose one of those that " + name + " info lists, or none",
		},
		{
			signs:       []string{"cgroups in hybrid mode not supported"},
			unavailable: true, reason: "crun does not run beside control groups of both versions",
			fix: "use another runtime: --oci-runtime runc",
		},
		{
			signs:  []string{"no space left on device", "disk quota exceeded"},
			reason: "the disk that " + name + " keeps its files on is full",
			fix:    name + " system df shows what takes the room, and " + name + " system prune frees some",
		},
		{
			signs:  []string{"no such image", "unable to find image", "image not known", "pull policy"},
			reason: "the image is not on this machine",
			fix:    name + " pull the image first, or build it",
		},
		{
			signs:  []string{"is already in use"},
			reason: "a container of that name exists already",
			fix:    "try again: every sandbox gets a name of its own",
		},
	}
}

const subordinateFix = "apt install uidmap, then sudo usermod --add-subuids 100000-165535 --add-subgids 100000-165535 \"$USER\" and podman system migrate"

// explain makes an error of what an engine's command said.
func (f flavour) explain(words string) error {
	if words == "" {
		return nil
	}
	lower := strings.ToLower(words)
	for _, e := range f.explanations() {
		for _, sign := range e.signs {
			if !strings.Contains(lower, sign) {
				continue
			}
			if e.unavailable {
				return &sandbox.UnavailableError{Engine: string(f.name), Reason: e.reason + " (" + words + ")", Fix: e.fix}
			}
			return &Error{Reason: e.reason, Words: words, Fix: e.fix}
		}
	}
	return errors.New(words)
}

// Error is a failure of the engine that a user can mend.
type Error struct {
	Reason string
	Words  string // the engine's own
	Fix    string
}

func (e *Error) Error() string { return e.Reason + " (" + e.Words + ")" }

// Hint is what to do next.
func (e *Error) Hint() string { return e.Fix }

// cannotRun makes sure that an engine that does not say what it is counts as one
// that cannot run, whatever its words were.
func (f flavour) cannotRun(ctx context.Context, err error) error {
	var unavailable *sandbox.UnavailableError
	if ctx.Err() != nil || errors.As(err, &unavailable) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return &sandbox.UnavailableError{Engine: string(f.name), Reason: err.Error(), Fix: "see what " + string(f.name) + " info says"}
}
