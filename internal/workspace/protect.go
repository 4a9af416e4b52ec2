package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/agent-loop/ralph/internal/sandbox"
)

// Protected are the names in a workspace that a program on the host would later
// execute or obey: git's directory, ralph's own settings, and the settings of
// editors, agents and shells that can name commands. They are read-only inside
// even though the workspace is writable. A configuration may add to the list,
// never take from it.
func Protected() []string {
	return []string{
		".git", ".ralph", "ralph.toml", ".agent-loop",
		".vscode", ".idea", ".devcontainer",
		".claude", ".codex", ".cursor", ".gemini", ".opencode", ".mcp.json",
		".envrc", ".husky",
	}
}

// maxFiles bounds the search for nested git directories.
const maxFiles = 1 << 20

// survey looks at a workspace and returns the paths that must be read-only, and
// those of them that do not exist yet. A missing name would be the agent's to
// create, so it will get an empty stand-in while the sandbox runs.
func survey(root *os.Root, extra []string) (protect, missing []string, err error) {
	names, err := protectedNames(extra)
	if err != nil {
		return nil, nil, err
	}
	for _, name := range names {
		info, err := root.Lstat(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			missing = append(missing, name)
		case err != nil:
			return nil, nil, fmt.Errorf("looking at %s: %w", name, err)
		case !info.IsDir() && !info.Mode().IsRegular():
			return nil, nil, &sandbox.RefusedError{
				What: "workspace",
				Why:  name + " in it is neither a folder nor a plain file, so it cannot be made read-only",
				Fix:  "replace or remove " + filepath.Join(root.Name(), name),
			}
		}
	}
	nested, err := nestedGit(root)
	if err != nil {
		return nil, nil, err
	}
	return append(names, nested...), missing, nil
}

// protectedNames joins the fixed list and the configuration's additions.
func protectedNames(extra []string) ([]string, error) {
	names := Protected()
	for _, name := range extra {
		if !filepath.IsLocal(name) || name == "." || strings.ContainsRune(name, 0) {
			return nil, &sandbox.RefusedError{What: fmt.Sprintf("protected path %q", name), Why: "it does not lie in the workspace"}
		}
		if name = filepath.Clean(name); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names, nil
}

// nestedGit finds git directories and git files below the top of the workspace:
// submodules, vendored clones, worktrees.
func nestedGit(root *os.Root) ([]string, error) {
	var found []string
	seen := 0
	err := fs.WalkDir(root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			if d != nil && d.IsDir() {
				return fs.SkipDir // unreadable for us, so for the guest too
			}
			return nil
		}
		if seen++; seen > maxFiles {
			return fmt.Errorf("looking for nested git directories: more than %d files", maxFiles)
		}
		if d.Name() != ".git" {
			return nil
		}
		if path != ".git" && (d.IsDir() || d.Type().IsRegular()) {
			found = append(found, path)
		}
		if d.IsDir() {
			return fs.SkipDir
		}
		return nil
	})
	return found, err
}

// createStandIn makes a file or folder that says nothing, of the kind that the
// name usually is.
func createStandIn(root *os.Root, name string) error {
	if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	text, isFile := standInText(name)
	if !isFile {
		return root.Mkdir(name, 0o755)
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
	switch ext := filepath.Ext(name); {
	case ext == ".json":
		return "{}\n", true
	case name == ".envrc", ext != "" && ext != filepath.Base(name):
		return "", true
	default:
		return "", false
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

// removeStandIns takes stand-ins away again. Whatever is not empty any more was
// filled by somebody on the host, and stays.
func removeStandIns(root *os.Root, names []string) error {
	var errs []error
	for _, name := range names {
		errs = append(errs, removeStandIn(root, name))
	}
	return errors.Join(errs...)
}

func removeStandIn(root *os.Root, name string) error {
	info, err := root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && info.Mode().IsRegular() {
		var data []byte
		data, err = root.ReadFile(name)
		if text, _ := standInText(name); err == nil && string(data) != text {
			return nil
		}
	}
	if err == nil {
		err = root.Remove(name)
	}
	if err != nil && !errors.Is(err, syscall.ENOTEMPTY) {
		return fmt.Errorf("removing the stand-in %s: %w", name, err)
	}
	return nil
}
