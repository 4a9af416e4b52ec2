package probe

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

func gitProbes() []Probe {
	return []Probe{
		{"git-hook-write", "plants or changes a git hook that the host's git would run", Git, ways(gitHookWrite)},
		{"git-config-write", "changes .git/config, directly and as git does, by a lock file", Git, ways(gitConfigWrite)},
		{"git-obeyed-files", "creates files that git obeys: commondir, config.worktree, alternates, attributes", Git, ways(gitObeyedFiles)},
		{"git-rename", "moves .git away or exchanges it for a folder of its own", Git, ways(gitRename)},
		{"git-hooks-symlink", "reaches .git/hooks through a symbolic link and a directory handle", Git, ways(gitHooksSymlink)},
		{"git-case-alias", "reaches .git by a name that differs in case or is written with dots", Git, ways(gitCaseAlias)},
		{"project-file-write", "writes to ralph.toml in place", Git, ways(projectFileWrite)},
		{"project-file-rename", "renames a file of its own over ralph.toml, or ralph.toml away", Git, ways(projectFileRename)},
		{"project-file-unlink", "deletes ralph.toml and creates it anew", Git, ways(projectFileUnlink)},
		{"protected-create", "creates files in every protected folder", Git, ways(protectedCreate)},
		{"protected-attributes", "changes mode, times and extended attributes of protected files", Git, ways(protectedAttributes)},
		{"protected-hardlink", "hard-links a protected file and writes through the link", Git, ways(protectedHardLink)},
		{"protected-parent-move", "moves the folders above protected paths out of the way", Git, ways(protectedParentMove)},
		{"protected-bind", "mounts a file of its own over a protected one", Git, ways(protectedBind)},
		{"protected-remount", "remounts protected paths for writing", Git, ways(protectedRemount)},
		{"protected-umount", "unmounts what keeps protected paths read-only", Git, ways(protectedUmount)},
	}
}

// protected returns a path in the workspace if it is a protected one or lies
// below one, and otherwise nothing, so that no way is made of it.
func (f Facts) protected(name string) string {
	covers := func(p string) bool { return name == p || strings.HasPrefix(name, p+"/") }
	if f.Workspace == "" || !slices.ContainsFunc(f.Protected, covers) {
		return ""
	}
	return filepath.Join(f.Workspace, name)
}

// protectedPaths are the protected paths themselves.
func (f Facts) protectedPaths() []string {
	var list []string
	for _, p := range f.Protected {
		list = append(list, f.protected(p))
	}
	return list
}

// protectedFiles are the regular files at and below the protected paths.
func (f Facts) protectedFiles() []string {
	var list []string
	for _, p := range f.protectedPaths() {
		list = append(list, regularFiles(p)...)
	}
	return list
}

// regularFiles lists files at and below a path, up to a bound.
func regularFiles(root string) []string {
	var list []string
	// What cannot be listed cannot be attacked by name either.
	_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || len(list) >= 64 {
			return fs.SkipAll
		}
		if d.Type().IsRegular() {
			list = append(list, path)
		}
		return nil
	})
	return list
}

func gitHookWrite(f Facts) []way {
	hooks := f.protected(".git/hooks")
	if hooks == "" {
		return nil
	}
	list := eachPath("create a file in", canCreateIn, hooks)
	list = append(list, eachPath("write", canWrite, regularFiles(hooks)...)...)
	return append(list, eachPath("move", moveAndBack, hooks)...)
}

func gitConfigWrite(f Facts) []way {
	config := f.protected(".git/config")
	if config == "" {
		return nil
	}
	list := eachPath("write", canWrite, config)
	list = append(list, eachPath("append to", func(p string) error { return canOpen(p, unix.O_WRONLY|unix.O_APPEND) }, config)...)
	list = append(list, eachPath("truncate to its own size", keepSize, config)...)
	list = append(list, eachPath("create", canCreate, config+".lock")...)
	return append(list, eachPath("move", moveAndBack, config)...)
}

func keepSize(path string) error {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return err
	}
	return unix.Truncate(path, st.Size)
}

func gitObeyedFiles(f Facts) []way {
	return eachPath("create", canCreate,
		f.protected(".git/commondir"), f.protected(".git/gitdir"), f.protected(".git/config.worktree"),
		f.protected(".git/objects/info/alternates"), f.protected(".git/info/attributes"), f.protected(".git/index.lock"),
		f.protected(".git/"+newName()))
}

func gitRename(f Facts) []way {
	exchange := func(path string) error {
		return f.inWorkspace(func(own string) error {
			err := unix.Renameat2(unix.AT_FDCWD, own, unix.AT_FDCWD, path, unix.RENAME_EXCHANGE)
			if err != nil {
				return err
			}
			return unix.Renameat2(unix.AT_FDCWD, own, unix.AT_FDCWD, path, unix.RENAME_EXCHANGE)
		})
	}
	git := f.protected(".git")
	return append(eachPath("move", moveAndBack, git), eachPath("exchange", exchange, git)...)
}

func gitHooksSymlink(f Facts) []way {
	throughLink := func(hooks string) error {
		return f.inWorkspace(func(dir string) error {
			link := filepath.Join(dir, "link")
			if err := os.Symlink(hooks, link); err != nil {
				return notTried(err)
			}
			return canCreateIn(link)
		})
	}
	throughHandle := func(hooks string) error {
		fd, err := open(hooks, unix.O_RDONLY|unix.O_DIRECTORY)
		if err != nil {
			return notTried(err)
		}
		defer unix.Close(fd)
		name := newName()
		file, err := unix.Openat(fd, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC, 0o700)
		if err != nil {
			return err
		}
		unix.Close(file)
		return unix.Unlinkat(fd, name, 0)
	}
	hooks := f.protected(".git/hooks")
	return append(eachPath("link to", throughLink, hooks), eachPath("directory handle of", throughHandle, hooks)...)
}

func gitCaseAlias(f Facts) []way {
	if f.protected(".git") == "" {
		return nil
	}
	var paths []string
	for _, alias := range []string{".GIT", ".Git", ".git/.", "./.git", ".git/../.git", ".g\u200cit"} {
		paths = append(paths, f.Workspace+"/"+alias+"/config")
	}
	return eachPath("write", canWrite, paths...)
}

func projectFileWrite(f Facts) []way {
	file := f.protected("ralph.toml")
	list := eachPath("write", canWrite, file)
	list = append(list, eachPath("open for reading and writing", func(p string) error { return canOpen(p, unix.O_RDWR) }, file)...)
	return append(list, eachPath("truncate to its own size", keepSize, file)...)
}
