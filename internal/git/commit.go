package git

import (
	"context"
	"fmt"
	"regexp"
	"strings"
)

const maxMessage = 1 << 20

// readCommit reads a commit that fsck has passed.
func (q *quarantine) readCommit(ctx context.Context, name string) (commit, error) {
	out, err := q.git.output(ctx, q.call("cat-file", "commit", name))
	if err != nil {
		return commit{}, hostile(err)
	}
	if len(out) > maxMessage {
		return commit{}, bad("commit %s has %d bytes, more than %d", short(name), len(out), maxMessage)
	}
	return parseCommit(name, string(out)), nil
}

// parseCommit takes a commit apart.
func parseCommit(name, text string) commit {
	c := commit{name: name}
	head, message, _ := strings.Cut(text, "\n\n")
	c.message = message
	for line := range strings.SplitSeq(head, "\n") {
		key, value, _ := strings.Cut(line, " ")
		switch key {
		case "tree":
			c.tree = value
		case "parent":
			c.parents = append(c.parents, value)
		case "author":
			c.author, c.written = parseIdentity(value)
		case "committer":
			c.committer, c.made = parseIdentity(value)
		default:
			c.more = true
		}
	}
	return c
}

// parseIdentity parts who from when.
func parseIdentity(text string) (who, when string) {
	i := strings.LastIndex(text, "> ")
	if i < 0 {
		return text, ""
	}
	return text[:i+1], text[i+2:]
}

// zones are those that there are.
var zones = regexp.MustCompile(`^[+-](0[0-9]|1[0-4])[0-5][0-9]$`)

// possible is a time in a zone that git writes as it reads it.
func possible(when string) string {
	seconds, zone, _ := strings.Cut(when, " ")
	if !zones.MatchString(zone) {
		zone = "+0000"
	}
	return seconds + " " + zone
}

// write writes a commit anew, by the run's identity.
func (q *quarantine) write(ctx context.Context, c commit) (string, error) {
	args := []string{"commit-tree", c.tree}
	for _, parent := range c.parents {
		args = append(args, "-p", parent)
	}
	env := append(q.Identity.env(""), "GIT_AUTHOR_DATE=@"+possible(c.written), "GIT_COMMITTER_DATE=@"+possible(c.made))
	if q.Sign != nil {
		args, env = append(args, "-S"), append(env, q.Sign.env()...)
	}
	call := q.call(args...)
	call.env = append(call.env, env...)
	call.stdin = strings.NewReader(c.message)
	name, err := q.git.line(ctx, call)
	if err != nil {
		return "", fmt.Errorf("writing commit %s anew: %w", short(c.name), err)
	}
	return name, nil
}
