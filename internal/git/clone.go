package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Where a sandbox has the parts of a clone.
const (
	InsideGitDir  = "/opt/ralph-git"     // the private git directory, writable
	InsideObjects = "/opt/ralph-objects" // the store's objects, read-only
)

// Clone is what a sandbox works on. On the host it is two folders that do not know
// of each other: in the tree there is a .git file that leads to a place which exists
// inside only, so that no git on the host takes the tree for a repository of the
// agent's.
type Clone struct {
	GitDir  string   // its private git directory
	Tree    string   // its files
	Exclude []string // paths of files that are no part of the work, and not committed
}

// Clone lays out a clone at a commit. In the tree there must be nothing yet; an
// empty Tree makes the git directory alone, for files that are elsewhere. The files
// are those of tree, where that is not empty, and of the commit otherwise.
func (s *Store) Clone(ctx context.Context, c Clone, commit, tree string) error {
	if err := s.layOut(c, commit); err != nil {
		return fmt.Errorf("making a clone: %w", err)
	}
	if tree == "" {
		tree = commit
	}
	read := s.call("read-tree", tree)
	read.index = filepath.Join(c.GitDir, "index")
	if err := s.git.run(ctx, read); err != nil {
		return fmt.Errorf("making a clone: %w", err)
	}
	if c.Tree == "" {
		return nil
	}
	if err := s.checkOut(ctx, c.Tree, read.index); err != nil {
		return fmt.Errorf("making a clone: %w", err)
	}
	return os.WriteFile(filepath.Join(c.Tree, ".git"), []byte("gitdir: "+InsideGitDir+"\n"), 0o444)
}

// checkOut writes the files of an index to an empty folder.
func (s *Store) checkOut(ctx context.Context, tree, index string) error {
	if err := os.Mkdir(tree, 0o755); err != nil {
		return err
	}
	c := s.call("-c", "checkout.workers=0", "-c", "core.bare=false", "checkout-index", "--all", "--index", "--quiet")
	c.index, c.tree = index, tree
	return s.git.run(ctx, c)
}

// layOut writes the private git directory.
func (s *Store) layOut(c Clone, commit string) error {
	for _, dir := range []string{"objects/info", "objects/pack", "refs/heads", "refs/tags", "info", "hooks"} {
		if err := os.MkdirAll(filepath.Join(c.GitDir, dir), 0o755); err != nil {
			return err
		}
	}
	files := map[string]string{
		"HEAD":                    "ref: refs/heads/" + s.Branch + "\n",
		"refs/heads/" + s.Branch:  commit + "\n",
		"config":                  s.cloneConfig(),
		"objects/info/alternates": InsideObjects + "\n",
		"info/exclude":            excludes(c.Exclude),
	}
	if from := s.Repo.Head(); from != "" && compatible(from, s.Branch) {
		files["refs/heads/"+from] = s.Base + "\n"
	}
	for name, text := range files {
		if err := writeFile(filepath.Join(c.GitDir, filepath.FromSlash(name)), text, 0o644); err != nil {
			return err
		}
	}
	if s.Repo.shallow {
		if err := copyFile(filepath.Join(s.Dir, "shallow"), filepath.Join(c.GitDir, "shallow")); err != nil {
			return err
		}
	}
	return writeFile(filepath.Join(c.GitDir, "hooks/prepare-commit-msg"), trailerHook, 0o755)
}

// excludes is a file that names what is not committed. Names are taken as they are.
func excludes(paths []string) string {
	escape := strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, " ", `\ `)
	text := "/.ralph/\n"
	for _, path := range paths {
		if path == "" {
			continue
		}
		text += "/" + escape.Replace(path) + "\n"
	}
	return text
}

// compatible tells whether two branches can exist side by side.
func compatible(a, b string) bool {
	return a != b && !strings.HasPrefix(a+"/", b+"/") && !strings.HasPrefix(b+"/", a+"/")
}

// cloneConfig is that of the private git directory. File systems of sandboxes have
// numbers and times of their own, which say nothing about a file.
func (s *Store) cloneConfig() string {
	return baseConfig(s.Repo.Format, false) + fmt.Sprintf(`[core]
	checkStat = minimal
	trustctime = false
[user]
	name = %s
	email = %s
[gc]
	auto = 0
[advice]
	detachedHead = false
`, quoted(s.Identity.Name), quoted(s.Identity.Email))
}

// quoted is a value for a configuration file.
func quoted(value string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(value) + `"`
}

// trailerHook says in each commit which run and which iteration it is of. An agent
// can leave it out; commits without are mended when they come home.
const trailerHook = `#!/bin/sh
[ -n "$RALPH_RUN" ] && [ -n "$RALPH_ITERATION" ] || exit 0
exec git interpret-trailers --in-place --if-exists replace \
	--trailer "` + trailerRun + `: $RALPH_RUN" --trailer "` + trailerIteration + `: $RALPH_ITERATION" "$1"
`

func writeFile(path, text string, mode os.FileMode) error {
	return errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), mode))
}
