package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/agent-loop/ralph/internal/sandbox"
)

// Protected are the names in a workspace that a program on the host would later
// execute or obey: git's directory, ralph's own settings, and the settings of
// editors, agents and shells that can name commands. They are read-only inside
// even though the workspace is writable. A configuration may add to the list,
// never take from it.
func Protected() []string {
	return []string{
		".git", ".githooks", ".hg", ".jj", ".ralph", "ralph.toml", ".agent-loop",
		".vscode", ".idea", ".zed", ".devcontainer", ".exrc", ".nvim.lua",
		".claude", ".codex", ".cursor", ".gemini", ".opencode", ".mcp.json",
		".envrc", ".mise.toml", ".husky",
	}
}

// survey looks at a workspace and returns the paths that must be read-only, and
// what of them does not exist yet: a missing name would be the agent's to create,
// so it will get an empty stand-in while the sandbox runs. Folders that a
// stand-in needs above it come before it and end in a slash.
// linked is the number of files with names outside the workspace.
func survey(ctx context.Context, root *os.Root, extra []string) (protect, missing []string, linked int, err error) {
	names, err := protectedNames(extra)
	if err != nil {
		return nil, nil, 0, err
	}
	if _, err := root.Lstat(".git"); errors.Is(err, fs.ErrNotExist) {
		// Without .git, a folder with HEAD, objects and refs in it is a bare
		// repository to git, configuration and all.
		names = append(names, "HEAD")
	}
	for _, name := range names {
		absent, err := missingParts(root, name)
		if err != nil {
			return nil, nil, 0, err
		}
		for _, part := range absent {
			if !slices.Contains(missing, part) {
				missing = append(missing, part)
			}
		}
	}
	repositories, linked, err := findGit(ctx, root, names)
	if err != nil {
		return nil, nil, 0, err
	}
	return outermost(append(names, repositories...)), missing, linked, nil
}

// missingParts returns name and the folders above it, as far as they do not
// exist. None may be a link: what it leads to could be changed.
func missingParts(root *os.Root, name string) ([]string, error) {
	var absent, parts []string
	for _, dir := range sandbox.FoldersAbove(name) {
		parts = append(parts, dir+string(filepath.Separator))
	}
	for _, part := range append(parts, name) {
		info, err := root.Lstat(filepath.Clean(part))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			absent = append(absent, part)
		case err != nil:
			return nil, fmt.Errorf("looking at %s: %w", part, err)
		case !info.IsDir() && (part != name || !info.Mode().IsRegular()):
			return nil, refuseUnprotectable(root.Name(), part)
		}
	}
	return absent, nil
}

// protectedNames joins the fixed list and the configuration's additions.
func protectedNames(extra []string) ([]string, error) {
	names := Protected()
	for _, name := range extra {
		if !isPlainName(name) {
			return nil, &sandbox.RefusedError{
				What: fmt.Sprintf("protected path %q", name),
				Why:  "it is not a plain path of something in the workspace",
				Fix:  "write it relative to the workspace, without ..",
			}
		}
		names = append(names, filepath.Clean(name))
	}
	return outermost(names), nil
}

// isPlainName reports whether name is that of something below a folder, in
// characters that the record of a claim can hold.
func isPlainName(name string) bool {
	return filepath.IsLocal(name) && filepath.Clean(name) != "." &&
		utf8.ValidString(name) && !strings.ContainsFunc(name, unicode.IsControl)
}

// outermost drops the names that lie below another one, which is read-only with
// all it holds. An engine that mounted both could open the outer one again.
func outermost(names []string) []string {
	protected := map[string]bool{}
	for _, name := range names {
		protected[filepath.FromSlash(name)] = true
	}
	var kept []string
	seen := map[string]bool{}
	for _, name := range names {
		inner := slices.ContainsFunc(sandbox.FoldersAbove(name), func(dir string) bool { return protected[dir] })
		if !inner && !seen[name] {
			seen[name] = true
			kept = append(kept, name)
		}
	}
	return kept
}

func refuseWorkspace(why, fix string) error {
	return &sandbox.RefusedError{What: "workspace", Why: why, Fix: fix}
}

func refuseUnprotectable(dir, name string) error {
	return refuseWorkspace(filepath.Clean(name)+" in it is neither a folder nor a plain file, so it cannot be made read-only",
		"replace or remove "+filepath.Join(dir, name))
}

// createStandIn makes a file or folder that says nothing, of the kind that the
// name usually is.
func createStandIn(root *os.Root, name string) error {
	text, isFile := standInText(name)
	if !isFile {
		return root.Mkdir(filepath.Clean(name), 0o755)
	}
	f, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// standInText is what a file without content looks like to its readers: some
// programs complain about an empty JSON file.
func standInText(name string) (text string, isFile bool) {
	base, ext := filepath.Base(name), filepath.Ext(name)
	switch {
	case os.IsPathSeparator(name[len(name)-1]):
		return "", false
	case ext == ".json":
		return "{}\n", true
	default:
		return "", base == ".envrc" || base == ".exrc" || ext != "" && ext != base
	}
}

// createStandIns makes all stand-ins, or none.
func createStandIns(root *os.Root, names []string) error {
	for i, name := range names {
		if err := createStandIn(root, name); err != nil {
			return errors.Join(fmt.Errorf("protecting %s: %w", name, err), removeStandIns(root, names[:i]))
		}
	}
	return nil
}

// removeStandIns takes stand-ins away again, what lies in folders before these.
// Whatever is not empty any more was filled by somebody on the host, and stays.
// So does everything that cannot have been a stand-in: names come from a file.
func removeStandIns(root *os.Root, names []string) error {
	var errs []error
	for _, name := range slices.Backward(names) {
		if isPlainName(name) {
			errs = append(errs, removeStandIn(root, name))
		}
	}
	return errors.Join(errs...)
}

func removeStandIn(root *os.Root, name string) error {
	if !reachedByFolders(root, name) {
		return nil
	}
	err := removeIfEmpty(root, name)
	if err == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrExist) { // ErrExist: not empty
		return nil
	}
	return fmt.Errorf("removing the stand-in %s: %w", name, err)
}

// reachedByFolders reports whether all above name are folders, as they were when
// a stand-in was made there. What lies behind a link now is not ours.
func reachedByFolders(root *os.Root, name string) bool {
	return !slices.ContainsFunc(sandbox.FoldersAbove(filepath.Clean(name)), func(dir string) bool {
		info, err := root.Lstat(dir)
		return err != nil && !errors.Is(err, fs.ErrPermission) || err == nil && !info.IsDir()
	})
}

// removeIfEmpty removes a folder without entries, or a file as createStandIn
// makes it.
func removeIfEmpty(root *os.Root, name string) error {
	text, _ := standInText(name)
	name = filepath.Clean(name)
	info, err := root.Lstat(name)
	switch {
	case err != nil:
		return err
	case info.IsDir():
		return root.Remove(name)
	case !info.Mode().IsRegular():
		return nil
	case info.Size() == 0: // killed before it was written, perhaps
		return root.Remove(name)
	case info.Size() != int64(len(text)):
		return nil
	}
	if data, err := root.ReadFile(name); err != nil || string(data) != text {
		return err
	}
	return root.Remove(name)
}

// ignoresCase reports whether a folder, which has a .git by now, also has it
// under another spelling.
func ignoresCase(root *os.Root) bool {
	git, err1 := root.Lstat(".git")
	other, err2 := root.Lstat(".gIT")
	return runtime.GOOS == "linux" && err1 == nil && err2 == nil && os.SameFile(git, other)
}
