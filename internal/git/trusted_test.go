package git_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/agent-loop/ralph/internal/git"
)

// checks are files that a project's validation stands on.
const checks = `mkdir -p tests/unit scripts sub
echo 'package a' >src/a_test.go; echo 'def test(): pass' >tests/unit/test_a.py
printf '#!/bin/sh\nexit 0\n' >scripts/check.sh; chmod +x scripts/check.sh
echo '*.txt text' >.gitattributes
echo 'sub' >sub/sub_test.go
git add -A && git commit -qm checks`

// Whatever an agent does to trusted files, the tree has them as the base has them,
// and everything else as the agent left it.
func TestTrustedTree(t *testing.T) {
	all := []string{"*_test.go", "tests/", "**/conftest.py"}
	tests := map[string]struct {
		patterns []string // nil: all of the above
		command  string
		agent    string
		changed  []string
	}{
		"nothing of it":        {agent: `echo new >src/new.go; echo x >>README`},
		"changed":              {agent: `echo 'package b' >src/a_test.go`, changed: []string{"M src/a_test.go"}},
		"mode alone":           {agent: `chmod +x src/a_test.go`, changed: []string{"M src/a_test.go"}},
		"deleted":              {agent: `rm src/a_test.go`, changed: []string{"D src/a_test.go"}},
		"added":                {agent: `echo 'os.Exit(0)' >src/zz_test.go`, changed: []string{"A src/zz_test.go"}},
		"added in new folders": {agent: `mkdir -p n/m; echo >conftest.py; echo >n/m/conftest.py`, changed: []string{"A conftest.py", "A n/m/conftest.py"}},
		"renamed":              {agent: `git mv src/a_test.go src/b.go`, changed: []string{"D src/a_test.go"}},
		"in another case":      {agent: `git mv tests Tests`, changed: []string{"A Tests/unit/test_a.py", "D tests/unit/test_a.py"}},
		"became a link":        {agent: `ln -sf ../README src/a_test.go`, changed: []string{"M src/a_test.go"}},
		"became a folder":      {agent: `rm src/a_test.go; mkdir src/a_test.go; echo >src/a_test.go/x`, changed: []string{"A src/a_test.go/x", "D src/a_test.go"}},
		"its folder became a link": {
			agent:   `mkdir evil; mv tests/unit evil/unit; echo evil >evil/unit/test_a.py; rm -r tests; ln -s evil tests`,
			changed: []string{"A tests", "D tests/unit/test_a.py"},
		},
		"its folder became a file": {agent: `rm -r tests; echo >tests`, changed: []string{"A tests", "D tests/unit/test_a.py"}},
		"its folder became a submodule": {
			agent:   `rm -r tests; git rm -qr --cached tests; git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),tests; mkdir tests; git commit -qm link`,
			changed: []string{"A tests", "D tests/unit/test_a.py"},
		},
		"a folder above became a link": {
			patterns: []string{"src/*_test.go"},
			agent:    `mkdir evil; echo evil >evil/a_test.go; rm -r src; ln -s evil src`,
			changed:  []string{"A src", "D src/a_test.go"},
		},
		"a folder above became a file": {
			patterns: []string{"src/*_test.go"},
			agent:    `rm -r src; echo >src`,
			changed:  []string{"A src", "D src/a_test.go"},
		},
		"a folder above became a submodule": {
			patterns: []string{"src/*_test.go"},
			agent:    `rm -r src; git rm -qr --cached src; git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),src; mkdir src; git commit -qm link`,
			changed:  []string{"A src", "D src/a_test.go"},
		},
		"a link brings what a pattern names": {
			patterns: []string{"checks/conftest.py"},
			agent:    `mkdir evil; echo evil >evil/conftest.py; ln -s evil checks`,
			changed:  []string{"A checks"},
		},
		"a link that leads nowhere near": {patterns: []string{"checks/*.py"}, agent: `ln -s src code`},
		"attributes":                     {agent: `echo '*.go eol=crlf' >src/.gitattributes; echo '* -text' >.gitattributes`, changed: []string{"A src/.gitattributes", "M .gitattributes"}},
		"attributes, nothing trusted":    {patterns: []string{}, agent: `echo '* -text' >.gitattributes`},
		"script of the command":          {patterns: []string{}, command: `sh -e "./scripts/check.sh" --all`, agent: `echo 'exit 0' >scripts/check.sh`, changed: []string{"M scripts/check.sh"}},
		"script and its attributes":      {patterns: []string{}, command: `scripts/check.sh`, agent: `echo '* eol=crlf' >.gitattributes`, changed: []string{"M .gitattributes"}},
		"no script of the base":          {patterns: []string{}, command: `new.sh src ../x :!y :(z) /etc/passwd`, agent: `echo >new.sh; echo >src/b.go; chmod +x src/a.go`},
		"pattern: in every folder":       {patterns: []string{"sub_test.go"}, agent: `echo >sub/sub_test.go`, changed: []string{"M sub/sub_test.go"}},
		"pattern: from the top":          {patterns: []string{"./src/*.go"}, agent: `echo >src/a.go; mkdir src/deep; echo >src/deep/b.go`, changed: []string{"M src/a.go"}},
		"pattern: two stars":             {patterns: []string{"**/*_test.go"}, agent: `echo >x_test.go; echo >sub/sub_test.go`, changed: []string{"A x_test.go", "M sub/sub_test.go"}},
		"pattern: stars in the middle":   {patterns: []string{"tests/**/*.py"}, agent: `echo >tests/b.py; echo >tests/unit/test_a.py; echo >tests/c.txt`, changed: []string{"A tests/b.py", "M tests/unit/test_a.py"}},
		"pattern: all in a folder":       {patterns: []string{"tests/**"}, agent: `echo >tests/b.py; mkdir -p sub/tests; echo >sub/tests/c`, changed: []string{"A tests/b.py"}},
		"pattern: a folder":              {patterns: []string{"tests"}, agent: `echo >tests/b.py; mkdir -p sub/tests; echo >sub/tests/c`, changed: []string{"A sub/tests/c", "A tests/b.py"}},
		"pattern: everything":            {patterns: []string{"."}, agent: `echo >tests/b.py; rm README`, changed: []string{"A tests/b.py", "D README"}},
		"pattern: question and set":      {patterns: []string{"src/[ab]?test.go"}, agent: `echo >src/a_test.go; echo >src/c_test.go`, changed: []string{"M src/a_test.go"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, checks)
			r.agent("1", test.agent)
			tip := r.mustBring(1).To
			patterns := test.patterns
			if patterns == nil {
				patterns = all
			}
			tree, changed, err := r.store.TrustedTree(r.ctx(), tip, patterns, git.CommandFiles(test.command))
			must(t, err)
			if !slices.Equal(changed, test.changed) {
				t.Errorf("changed %q, want %q", changed, test.changed)
			}
			r.checkTrusted(tree, tip, changed)
		})
	}
}

// checkTrusted compares a tree, by plain git, with what it was made of: told paths
// are as in the base, the rest as in the commit.
func (r *rig) checkTrusted(tree, commit string, changed []string) {
	r.t.Helper()
	env := "GIT_DIR=" + r.store.Dir
	want := map[string]string{}
	for line := range strings.Lines(r.sh(r.store.Dir, "git ls-tree -r "+commit, env)) {
		about, path, _ := strings.Cut(strings.TrimSpace(line), "\t")
		want[path] = about
	}
	for _, c := range changed {
		path := c[2:]
		delete(want, path)
		if was := r.sh(r.store.Dir, "git ls-tree "+r.base+" -- "+path, env); c[0] != 'A' {
			want[path], _, _ = strings.Cut(was, "\t")
		}
	}
	got := map[string]string{}
	for line := range strings.Lines(r.sh(r.store.Dir, "git ls-tree -r "+tree, env)) {
		about, path, _ := strings.Cut(strings.TrimSpace(line), "\t")
		got[path] = about
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		r.t.Errorf("the tree is\n%v\nwant\n%v", got, want)
	}
}

// Patterns and commands are those of the project, which may lie in a folder whose
// name means something in a pattern.
func TestTrustedTreeOfAFolder(t *testing.T) {
	r := newRig(t, `mkdir 'p[r]*'; for d in . 'p[r]*'; do echo 1 >"$d/x_test.go"; echo 1 >"$d/check.sh"; done; git add -A; git commit -qm checks`)
	r.repo.Prefix = "p[r]*"
	r.agent("1", `for d in . 'p[r]*'; do echo 2 >"$d/x_test.go"; echo 2 >"$d/check.sh"; done; mkdir evil prx; echo >evil/x_test.go; echo >prx/x_test.go; ln -s ../evil 'p[r]*/more'`)
	tip := r.mustBring(1).To
	_, changed, err := r.store.TrustedTree(r.ctx(), tip, []string{"*_test.go"}, nil)
	must(t, err)
	if want := []string{"A p[r]*/more", "M p[r]*/x_test.go"}; !slices.Equal(changed, want) {
		t.Errorf("changed %q, want %q", changed, want)
	}
	_, changed, err = r.store.TrustedTree(r.ctx(), tip, nil, []string{"./check.sh"})
	must(t, err)
	if want := []string{"M check.sh", "M p[r]*/check.sh"}; !slices.Equal(changed, want) {
		t.Errorf("changed %q, want %q", changed, want)
	}
}

func TestTrustedTreeIsToldInPart(t *testing.T) {
	r := newRig(t, checks)
	r.agent("1", `for i in $(seq 300); do echo >tests/$i; done`)
	_, changed, err := r.store.TrustedTree(r.ctx(), r.mustBring(1).To, []string{"tests"}, nil)
	must(t, err)
	if len(changed) != 200 {
		t.Errorf("%d files are told", len(changed))
	}
}

func TestTrustedTreeRefusesPatterns(t *testing.T) {
	r := newRig(t)
	for _, pattern := range []string{"", "/", "../x", "a/../../b", "a\x00b"} {
		if tree, _, err := r.store.TrustedTree(r.ctx(), r.base, []string{pattern}, nil); err == nil || tree != "" {
			t.Errorf("%q: tree %q, error %v", pattern, tree, err)
		}
	}
	if tree, _, err := r.store.TrustedTree(r.ctx(), strings.Repeat("1", 40), nil, nil); err == nil || tree != "" {
		t.Errorf("no such commit: tree %q, error %v", tree, err)
	}
}

// The clone of a trusted tree has its files, and the trusted ones as in the base.
func TestCloneOfATrustedTree(t *testing.T) {
	r := newRig(t, checks)
	r.agent("1", `echo evil >src/a_test.go; rm -r tests; ln -s src tests; echo new >src/new.go`)
	tip := r.mustBring(1).To
	tree, _, err := r.store.TrustedTree(r.ctx(), tip, []string{"*_test.go", "tests"}, nil)
	must(t, err)
	dir := t.TempDir()
	clone := git.Clone{GitDir: dir + "/private", Tree: dir + "/work"}
	must(t, r.store.Clone(r.ctx(), clone, tip, tree))
	if got := r.sh(clone.Tree, `cat src/a_test.go src/new.go tests/unit/test_a.py; test -x scripts/check.sh`); got != "package a\nnew\ndef test(): pass" {
		t.Errorf("the files are %q", got)
	}
}

func TestCommandFiles(t *testing.T) {
	for command, want := range map[string]string{
		`go test ./...`:                       "go|test|./...",
		`sh -c "./a.sh && X=b.sh ./c.sh"`:     "sh|-c|./a.sh|X|b.sh|./c.sh",
		"./a.sh <in.txt>out.txt;(b.sh|c.sh)&": "./a.sh|in.txt|out.txt|b.sh|c.sh",
		"  ":                                  "",
	} {
		if got := strings.Join(git.CommandFiles(command), "|"); got != want {
			t.Errorf("%s: %s, want %s", command, got, want)
		}
	}
}
