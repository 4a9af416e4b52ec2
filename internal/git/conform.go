package git

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Trailers that tell which run and which iteration a commit is of.
const (
	trailerRun       = "Ralph-Run"
	trailerIteration = "Ralph-Iteration"
)

// commit is one that came from a sandbox.
type commit struct {
	name, tree        string
	parents           []string
	author, committer string // "name <address>"
	written, made     string // when, as git writes it
	message           string
	more              bool // it has headers that ralph did not ask for, such as a signature
}

// conform makes sure that every new commit is by the identity of the run and says
// where it is from. One that is not is written anew, with all that build on it: the
// sandbox cannot be relied on for either.
func (q *quarantine) conform(ctx context.Context, tip string, names []string, n int, found *Import) error {
	known, err := q.rewritten(ctx)
	if err != nil {
		return err
	}
	q.anew = map[string]string{}
	for _, name := range names {
		c, err := q.readCommit(ctx, name)
		if err != nil {
			return err
		}
		home, err := q.bringHome(ctx, c, n, known)
		if err != nil {
			return err
		}
		if home != name {
			known[name], q.anew[refRewritten+name] = home, home
		}
		found.Commits = append(found.Commits, home)
	}
	found.To, found.Rewritten = mapped(known, tip), len(q.anew)
	return nil
}

// newCommits lists the commits that the store does not have, parents first.
func (q *quarantine) newCommits(ctx context.Context, tip string) ([]string, error) {
	out, err := q.git.output(ctx, q.call("rev-list", "--topo-order", "--reverse", tip, "--not", q.Base, refSandbox, refHome))
	if err != nil {
		return nil, hostile(err)
	}
	names := strings.Fields(string(out))
	if len(names) > maxCommits {
		return nil, bad("there are %d of them, more than %d", len(names), maxCommits)
	}
	return names, nil
}

// rewritten lists what became of commits that were written anew.
func (s *Store) rewritten(ctx context.Context) (map[string]string, error) {
	out, err := s.git.output(ctx, s.call("for-each-ref", "--format=%(refname) %(objectname)", refRewritten))
	if err != nil {
		return nil, err
	}
	known := map[string]string{}
	for line := range strings.Lines(string(out)) {
		ref, home, _ := strings.Cut(strings.TrimSpace(line), " ")
		known[strings.TrimPrefix(ref, refRewritten)] = home
	}
	return known, nil
}

func mapped(known map[string]string, name string) string {
	if home, ok := known[name]; ok {
		return home
	}
	return name
}

// bringHome returns a commit as the user gets it.
func (q *quarantine) bringHome(ctx context.Context, c commit, n int, known map[string]string) (string, error) {
	moved := false
	for i, parent := range c.parents {
		c.parents[i] = mapped(known, parent)
		moved = moved || c.parents[i] != parent
	}
	if !moved && q.Sign == nil && q.conforms(c, n) {
		return c.name, nil
	}
	c.message = withTrailers(c.message, q.Run, iterationOf(c.message, q.Run, n))
	return q.write(ctx, c)
}

// conforms tells whether a commit is as ralph wants it.
func (s *Store) conforms(c commit, n int) bool {
	who := fmt.Sprintf("%s <%s>", s.Identity.Name, s.Identity.Email)
	return c.author == who && c.committer == who && !c.more &&
		c.message == withTrailers(c.message, s.Run, iterationOf(c.message, s.Run, n))
}

// iterationOf is the iteration that a commit says it is of, if that can be, and
// otherwise the one that it came with.
func iterationOf(message, run string, n int) int {
	said := 0
	for line := range strings.Lines(message) {
		if value, ok := strings.CutPrefix(strings.TrimRight(line, "\n"), trailerIteration+": "); ok {
			said, _ = strconv.Atoi(value)
		}
	}
	if said < 1 || said > n || !strings.Contains(message, trailerRun+": "+run+"\n") {
		return n
	}
	return said
}

// withTrailers is a message with the trailers of a run, each of them once.
func withTrailers(message, run string, n int) string {
	var lines []string
	for line := range strings.Lines(strings.ToValidUTF8(message, "\uFFFD")) {
		line = strings.TrimRight(line, "\r\n")
		if !hasTrailer(line, trailerRun) && !hasTrailer(line, trailerIteration) {
			lines = append(lines, line)
		}
	}
	text := strings.TrimRight(strings.Join(lines, "\n"), " \t\r\n") + "\n"
	if !endsInTrailers(text) {
		text += "\n"
	}
	return text + fmt.Sprintf("%s: %s\n%s: %d\n", trailerRun, run, trailerIteration, n)
}

func hasTrailer(line, name string) bool {
	key, _, ok := strings.Cut(line, ":")
	return ok && strings.EqualFold(strings.TrimSpace(key), name)
}

// trailerKey is what the name of a trailer is made of.
const trailerKey = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-"

// endsInTrailers tells whether the last paragraph of a message, which is not its
// first, is made of trailers.
func endsInTrailers(text string) bool {
	i := strings.LastIndex(text, "\n\n")
	if i < 0 {
		return false
	}
	return !slices.ContainsFunc(strings.Split(strings.TrimSpace(text[i:]), "\n"), func(line string) bool {
		key, _, ok := strings.Cut(line, ": ")
		return !ok || strings.Trim(key, trailerKey) != "" || key == ""
	})
}
