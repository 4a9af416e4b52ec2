package git_test

import (
	"bytes"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/agent-loop/ralph/internal/git"
)

func (r *rig) diff(from, to string, o git.DiffOptions) string {
	r.t.Helper()
	var out bytes.Buffer
	must(r.t, r.store.Diff(r.ctx(), &out, from, to, o))
	return out.String()
}

// A patch, applied to the base by plain git, makes exactly the tree that the agent made.
func TestDiffApplies(t *testing.T) {
	changes := map[string]string{
		"text":                `echo more >>README`,
		"no newline at end":   `printf 'no newline' >README; printf 'no newline either' >new`,
		"carriage returns":    `printf 'a\r\nb\r\n' >README; printf 'x\r' >new`,
		"binary":              `head -c 5000 /dev/urandom >bin; printf '\0\1\2' >README`,
		"invalid utf-8":       `printf 'a\377\376b\n' >README`,
		"empty":               `: >empty; : >README`,
		"link":                `ln -s README link; ln -sf nowhere src/a.go`,
		"mode":                `chmod +x README`,
		"deleted":             `git rm -q README`,
		"moved":               `git mv src/a.go b.go; git mv README 'name with spaces'`,
		"strange names":       `echo >'a "b" c'; echo >'ä ö'; echo >'-n'; mkdir ' d'; echo >' d/ b'`,
		"became a folder":     `rm README; mkdir README; echo >README/x`,
		"submodule":           `git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),sub; mkdir sub; git commit -qm sub`,
		"nothing":             `true`,
		"hidden by attribute": `printf '*.go binary\nREADME -diff\n' >.gitattributes; echo more >>README; echo more >>src/a.go`,
		"long lines":          `head -c 300000 /dev/zero | tr '\0' x >long; printf '\n\n\n' >>README`,
		"looks like a patch":  `printf -- '--- a/README\n+++ b/README\n@@ -1 +1 @@\n-hello\n+evil\n\\ No newline at end of file\n' >README`,
	}
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.agent("1", change)
			got := r.mustBring(1)
			patch := t.TempDir() + "/patch"
			must(t, writeText(patch, r.diff(got.From, got.To, git.DiffOptions{})))
			r.sh(r.user, `git clone -q --no-local --single-branch . ../base`) // without the agent's objects
			tree := r.sh(filepath.Dir(r.user)+"/base", `test ! -s `+patch+` || git apply --cached --whitespace=nowarn `+patch+`; git write-tree`)
			if want := r.sh(r.user, "git rev-parse "+got.To+"^{tree}"); tree != want {
				t.Errorf("the patch makes another tree:\n%s", readAll(patch))
			}
		})
	}
}

func TestDiffOptions(t *testing.T) {
	r := newRig(t)
	r.agent("1", `printf '*.go binary\n' >.gitattributes; echo 'func f() {}' >>src/a.go; mkdir 'gl*b'; echo >'gl*b/ä'; mkdir glob; echo >glob/x; git mv README moved`)
	got := r.mustBring(1)
	tests := map[string]struct {
		options   git.DiffOptions
		want, not string
	}{
		"patch":          {want: "+func f() {}", not: "\x1b"},
		"color":          {options: git.DiffOptions{Color: true}, want: "\x1b[32m+"},
		"stat":           {options: git.DiffOptions{Stat: true}, want: " src/a.go        | 1 +\n", not: "@@"},
		"names":          {options: git.DiffOptions{NamesOnly: true}, want: ".gitattributes\nREADME\ngl*b/ä\nglob/x\nmoved\nsrc/a.go\n", not: "@@"},
		"a file":         {options: git.DiffOptions{NamesOnly: true, Paths: []string{"src/a.go"}}, want: "src/a.go\n", not: "README"},
		"a folder":       {options: git.DiffOptions{NamesOnly: true, Paths: []string{"src"}}, want: "src/a.go\n", not: "README"},
		"no pattern":     {options: git.DiffOptions{NamesOnly: true, Paths: []string{"gl*b"}}, want: "gl*b/ä\n", not: "glob/x"},
		"no magic":       {options: git.DiffOptions{NamesOnly: true, Paths: []string{":(top)", "s*"}}, not: "a"},
		"no flag":        {options: git.DiffOptions{Paths: []string{"--output=evil"}}, not: "a"},
		"moved is moved": {want: "rename from README\nrename to moved\n", not: "-hello"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			out := r.diff(got.From, got.To, test.options)
			if !strings.Contains(out, test.want) || test.not != "" && strings.Contains(out, test.not) {
				t.Errorf("want %q and not %q in\n%s", test.want, test.not, out)
			}
		})
	}
}

var errFull = errors.New("full")

// full takes so many bytes and no more.
type full int

func (f *full) Write(data []byte) (int, error) {
	if *f -= full(len(data)); *f < 0 {
		return 0, errFull
	}
	return len(data), nil
}

func TestDiffEnds(t *testing.T) {
	r := newRig(t)
	r.agent("1", `head -c 900000 /dev/urandom >bin`)
	got := r.mustBring(1)
	var out bytes.Buffer
	err := r.store.Diff(r.ctx(), &out, got.From, got.To, git.DiffOptions{Max: 100_000})
	if err == nil || !strings.Contains(err.Error(), "more than can be shown") || out.Len() > 100_000 {
		t.Errorf("%d bytes, error %v", out.Len(), err)
	}
	small := full(100_000)
	if err := r.store.Diff(r.ctx(), &small, got.From, got.To, git.DiffOptions{}); !errors.Is(err, errFull) {
		t.Errorf("error %v, want that of the writer", err)
	}
	for _, name := range []string{"", "-p", "--output=x", strings.Repeat("1", 40), "HEAD:README"} {
		if err := r.store.Diff(r.ctx(), &out, r.base, name, git.DiffOptions{}); err == nil {
			t.Errorf("%q: no error", name)
		}
	}
}

func TestCommits(t *testing.T) {
	r := newRig(t)
	r.agent("1", `echo 1 >1; git add 1; GIT_AUTHOR_DATE='@1700000000 +0000' git commit -qm 'First
line

and body'
echo 2 >2; git add 2; git commit -qm "$(printf 'esc \033[2J %0300d' 0)"; echo 3 >3; git add 3; git commit -qm "$(printf '%0150d' 0 | sed 's/0/ä€/g')"`)
	got := r.mustBring(1)
	commits, err := r.store.Commits(r.ctx(), got.From, got.To)
	must(t, err)
	if len(commits) != 3 {
		t.Fatalf("got %+v", commits)
	}
	first := git.CommitInfo{Hash: got.Commits[0], Subject: "First line", Author: "Ralph Loop", When: time.Unix(1700000000, 0).UTC()}
	if commits[0] != first {
		t.Errorf("got %+v, want %+v", commits[0], first)
	}
	for i, c := range commits {
		if c.Hash != got.Commits[i] || len([]rune(c.Subject)) > 200 || strings.ContainsRune(c.Subject, 0x1b) || !utf8.ValidString(c.Subject) {
			t.Errorf("got %+v", c)
		}
	}
	none, err := r.store.Commits(r.ctx(), got.To, got.To)
	if err != nil || len(none) != 0 {
		t.Errorf("got %v, error %v", none, err)
	}
	if _, err := r.store.Commits(r.ctx(), "--all", got.To); err == nil {
		t.Error("a flag was taken for a commit")
	}
}
