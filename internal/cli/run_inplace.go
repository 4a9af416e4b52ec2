package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/agent-loop/ralph/internal/git"
	"github.com/agent-loop/ralph/internal/sandbox"
	"github.com/agent-loop/ralph/internal/workspace"
)

// standInNames are files and folders that may be in a project only because nobody
// else is to make them there.
func standInNames() []string {
	return slices.DeleteFunc(workspace.Protected(), func(name string) bool { return name == ".git" })
}

// coverGit lays the private git directory over the project's own, which the agent
// does not get to see. That of a linked work tree is a file, and so is what covers it.
// Submodules have theirs in the project's; they are shown, read-only.
func (g *runGit) coverGit() ([]sandbox.Mount, error) {
	private, dotGit := g.clone().GitDir, filepath.Join(g.plan.spec.Project, ".git")
	objects := sandbox.Mount{Source: g.store.Objects(), Target: git.InsideObjects, ReadOnly: true, Exclusive: true}
	info, err := os.Lstat(dotGit)
	if err != nil {
		return nil, fmt.Errorf("covering the repository: %w", err)
	}
	if !info.IsDir() {
		file := filepath.Join(g.run.Path(), "dotgit")
		if err := os.WriteFile(file, []byte("gitdir: "+git.InsideGitDir+"\n"), 0o644); err != nil {
			return nil, fmt.Errorf("covering the repository: %w", err)
		}
		return []sandbox.Mount{objects, {Source: file, Target: dotGit, ReadOnly: true}, {Source: private, Target: git.InsideGitDir}}, nil
	}
	mounts := []sandbox.Mount{objects, {Source: private, Target: dotGit}}
	if modules := filepath.Join(dotGit, "modules"); isFolder(modules) {
		if err := os.MkdirAll(filepath.Join(private, "modules"), 0o755); err != nil {
			return nil, fmt.Errorf("covering the repository: %w", err)
		}
		mounts = append(mounts, sandbox.Mount{Source: modules, Target: modules, ReadOnly: true})
	}
	return mounts, nil
}

func isFolder(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.IsDir()
}

// withoutCovered are the protected paths of the first mount that no other covers.
func withoutCovered(mounts []sandbox.Mount) []string {
	return slices.DeleteFunc(mounts[0].Protect, func(path string) bool {
		place := filepath.Join(mounts[0].Target, path)
		return slices.ContainsFunc(mounts[1:], func(m sandbox.Mount) bool { return m.Target == place })
	})
}
