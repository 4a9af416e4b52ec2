package git

import (
	"fmt"
	"strings"
	"unicode"
)

// Collect is the command that is run inside to bring an iteration's work out: it
// commits what the agent left, if commit says so, and prints the tip and a bundle of
// what is new since the given commit. Whatever is wrong with what it prints, Import
// finds.
func (s *Store) Collect(since string, commit bool) []string {
	mode := "agent"
	if commit {
		mode = "auto"
	}
	return []string{"sh", "-c", collectScript, "sh", s.Branch, since, s.Base, mode}
}

// CollectEnv is the environment of that command.
func (s *Store) CollectEnv() []string {
	return append(s.Identity.env(""), configEnv([][2]string{
		{"core.hooksPath", "/dev/null"}, {"core.fsmonitor", "false"}, {"commit.gpgSign", "false"}, {"gc.auto", "0"}, {"advice.addEmbeddedRepo", "false"},
	})...)
}

// collectScript leaves half-done merges alone, and takes what is checked out for the
// run's branch, whatever the agent calls it. A file or a nested repository that git
// cannot add keeps the rest from nothing. Locks are those of processes that were
// killed: nothing else runs.
const collectScript = `set -eu
branch=$1 since=$2 base=$3 mode=$4
dir=$(git rev-parse --absolute-git-dir)
rm -f "$dir"/*.lock "$dir/refs/heads/$branch.lock"
if [ "$(git symbolic-ref -q HEAD || :)" != "refs/heads/$branch" ]; then
	git checkout -q -B "$branch" >&2 || git update-ref "refs/heads/$branch" HEAD
fi
if [ "$mode" = auto ] && [ -z "$(git ls-files -u | head -n 1)" ]; then
	git add -A --ignore-errors >&2 || :
	git diff --cached --quiet || git commit -q --no-verify -F - >&2
fi
echo "tip $(git rev-parse --verify "refs/heads/$branch^{commit}")"
git cat-file -e "$since" 2>/dev/null || since=$base
if [ -n "$(git rev-list -n 1 "refs/heads/$branch" "^$since" "^$base")" ]; then
	git bundle create -q - "refs/heads/$branch" "^$since" "^$base"
fi
`

const maxSubject = 72

// Message is that of a commit which ralph makes of what an agent left.
func (s *Store) Message(n int, subject, body string) string {
	subject = plain(strings.Join(strings.Fields(subject), " "))
	if subject == "" {
		subject = fmt.Sprintf("Work of iteration %d", n)
	}
	if runes := []rune(subject); len(runes) > maxSubject {
		subject = string(runes[:maxSubject-1]) + "…"
	}
	text := subject + "\n"
	if body = strings.TrimSpace(plain(body)); body != "" {
		text += "\n" + body + "\n"
	}
	return withTrailers(text, s.Run, n)
}

// plain is a text without what a terminal would obey.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, ""))
}
