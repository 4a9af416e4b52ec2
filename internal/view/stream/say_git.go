package stream

import (
	"fmt"
	"strings"
	"time"

	"github.com/agent-loop/ralph/internal/rundir"
)

// listed is how many paths of a kind a line names.
const listed = 20

// imports says what came home.
func imports(i rundir.Import) said {
	if i.Refused != "" {
		return said{tone: warn, text: "commits refused: " + i.Refused}
	}
	fresh := count(int64(len(i.Commits)), "new commit")
	what := said{quiet: len(i.Commits) == 0, text: join(", ",
		fmt.Sprintf("%s on %s (%s)", fresh, i.Branch, commit(i.To)),
		some(int64(i.Files), count(int64(i.Files), "file")+" changed"),
		some(int64(i.Rewritten), fmt.Sprintf("%d rewritten", i.Rewritten)),
		some(i.Bytes, size(i.Bytes)))}
	what.warn("the branch was not moved: ", i.Held)
	what.warn("programs of yours would obey what was changed: ", paths(i.Protected))
	what.warn("new links to other repositories: ", paths(i.Links))
	return what
}

// warn adds a line below, if it says anything; then nobody is to miss it.
func (s *said) warn(before, text string) {
	if text != "" {
		s.tone, s.quiet, s.more = warn, false, append(s.more, before+text)
	}
}

// paths names some of a list.
func paths(list []string) string {
	rest := some(int64(len(list)-listed), fmt.Sprintf("and %d more", len(list)-listed))
	return join(", ", strings.Join(head(list, listed), ", "), rest)
}

// commit is how people write the name of a commit.
func commit(name string) string { return name[:min(len(name), 12)] }

func rewinds(r rundir.Rewind) said {
	to := fmt.Sprintf("iteration %d", r.To)
	if r.To == 0 {
		to = "its beginning"
	}
	return said{tone: warn, text: "run taken back to " + to + with(", ", commit(r.Commit))}
}

func pushes(p rundir.Push) said {
	what := fmt.Sprintf("%s (%s) to %s", p.Branch, commit(p.Commit), p.Remote)
	if p.Error != "" {
		return said{tone: bad, text: "could not push " + what + ": " + p.Error}
	}
	return said{tone: good, text: "pushed " + what}
}

// confirms says what a validation came to that was to confirm the work.
func confirms(v rundir.Validation) said {
	on := "in a new sandbox"
	if v.Commit != "" {
		on = "on a clean checkout of " + commit(v.Commit)
	}
	command := ": " + v.Command + " (" + span(of(v.DurationMS, time.Millisecond)) + ")"
	const shown = 10
	var what said
	switch v.Outcome {
	case rundir.Verified:
		what = said{tone: good, text: "verified " + on + command}
	case rundir.NotVerified:
		what = said{tone: bad, text: fmt.Sprintf("not verified: it fails with %d %s%s", v.ExitCode, on, command) + with(": ", v.Error), more: lastLines(v.Output, shown)}
	default:
		what = said{tone: warn, text: "cannot be verified here" + command + with(": ", v.Error), more: lastLines(v.Output, shown)}
	}
	if len(v.Trusted) > 0 {
		what.more = append(what.more, "check files differ from the base's, which were used instead: "+paths(v.Trusted))
	}
	return what
}
