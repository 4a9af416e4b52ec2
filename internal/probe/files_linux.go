package probe

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

func fileProbes() []Probe {
	return []Probe{
		{"home-by-path", "reads a file of the user's home directory by its absolute path", Files, ways(homeByPath)},
		{"home-by-dotdot", "climbs out of the workspace with .. to a file of the home directory", Files, ways(homeByDotDot)},
		{"home-by-proc-root", "reads a file of the home directory through the root and working directory of every process", Files, ways(homeByProcRoot)},
		{"home-by-descriptor", "reads a file of the home directory relative to the directories it holds open", Files, ways(homeByDescriptor)},
		{"home-by-symlink", "plants symbolic links in the workspace to a file of the home directory and reads through them", Files, ways(homeBySymlink)},
		{"home-by-hardlink", "hard-links a file of the home directory into the workspace", Files, ways(homeByHardLink)},
		{"home-by-handle", "opens the root of the workspace's file system by a guessed file handle", Files, ways(homeByHandle)},
		{"home-by-mount-alias", "looks for the home directory below every mount point it is told of", Files, ways(homeByMountAlias)},
		{"other-homes", "looks for what the host keeps in its users' home directories", Files, ways(otherHomes)},
		{"host-passwords", "reads the host's password hashes, sudo rules and server keys", Files, ways(hostPasswords)},
		{"sibling-run", "reads another run's folder beside the workspace", Files, ways(siblingRun)},
		{"secret-search", "searches every file it can read for the host's secret", Files, ways(secretSearch)},
	}
}

func homeByPath(f Facts) []way { return eachPath("read", f.hasSecret, f.HomeFile) }

func homeByDotDot(f Facts) []way {
	if f.HomeFile == "" {
		return nil
	}
	return eachPath("read", f.hasSecret,
		f.Workspace+"/"+upAll+f.HomeFile,
		upAll+f.HomeFile,
		"/"+upAll+f.HomeFile,
		"/tmp/"+upAll+f.HomeFile)
}

func homeByProcRoot(f Facts) []way {
	if f.HomeFile == "" {
		return nil
	}
	paths := []string{"/proc/self/root" + f.HomeFile, "/proc/thread-self/root" + f.HomeFile}
	for _, pid := range append([]int{1, f.HostPID}, processes()...) {
		paths = append(paths, procPath(pid, "root"+f.HomeFile), procPath(pid, "cwd/"+upAll+f.HomeFile))
	}
	return eachPath("read", f.hasSecret, paths...)
}

// homeByDescriptor finds directories that leaked in from the host: a relative
// .. from one of them leads out.
func homeByDescriptor(f Facts) []way {
	if f.HomeFile == "" {
		return nil
	}
	var paths []string
	for fd := range 64 {
		paths = append(paths, fmt.Sprintf("/proc/self/fd/%d/%s%s", fd, upAll, f.HomeFile))
	}
	return eachPath("read", f.hasSecret, paths...)
}

func homeBySymlink(f Facts) []way {
	if f.HomeFile == "" || f.Workspace == "" {
		return nil
	}
	through := func(below string) func(string) error {
		return func(target string) error {
			return f.inWorkspace(func(dir string) error {
				link := filepath.Join(dir, "link")
				if err := os.Symlink(target, link); err != nil {
					return notTried(err)
				}
				return f.hasSecret(link + below)
			})
		}
	}
	list := eachPath("link to", through(""), f.HomeFile)
	list = append(list, eachPath("link to", through("/"+filepath.Base(f.HomeFile)), filepath.Dir(f.HomeFile))...)
	return append(list, eachPath("link to", through(f.HomeFile), "/", "/proc/1/root", "/proc/self/root", upAll)...)
}

func homeByHardLink(f Facts) []way {
	try := func(flags int) func(string) error {
		return func(path string) error {
			return f.inWorkspace(func(dir string) error {
				name := filepath.Join(dir, "linked")
				if err := unix.Linkat(unix.AT_FDCWD, path, unix.AT_FDCWD, name, flags); err != nil {
					return err
				}
				return f.hasSecret(name)
			})
		}
	}
	return append(eachPath("link", try(0), f.HomeFile), eachPath("link following", try(unix.AT_SYMLINK_FOLLOW), f.HomeFile)...)
}

func homeByMountAlias(f Facts) []way {
	if f.HomeFile == "" {
		return nil
	}
	var paths []string
	for _, m := range mountPoints() {
		paths = append(paths, m+f.HomeFile, m+"/../"+f.HomeFile)
		// A mount of any folder above the file shows its tail.
		for rest := f.HomeFile; rest != ""; {
			_, rest, _ = strings.Cut(rest[1:], "/")
			if rest != "" {
				rest = "/" + rest
				paths = append(paths, m+rest)
			}
		}
	}
	return eachPath("read", f.hasSecret, paths...)
}

// mountPoints lists where file systems are mounted, as the kernel tells it.
func mountPoints() []string {
	data, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return []string{"/"}
	}
	var list []string
	for line := range strings.Lines(string(data)) {
		if fields := strings.Fields(line); len(fields) > 4 {
			list = append(list, strings.TrimSuffix(fields[4], "/"))
		}
	}
	return list
}

func otherHomes(f Facts) []way {
	exists := func(path string) error {
		var st unix.Stat_t
		return unix.Lstat(path, &st)
	}
	return eachPath("find", exists, f.HostPaths...)
}

func hostPasswords(Facts) []way {
	paths := []string{
		"/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/sudoers", "/etc/sudoers.d/README",
		"/etc/ssh/ssh_host_ed25519_key", "/etc/ssh/ssh_host_rsa_key", "/etc/ssl/private/ssl-cert-snakeoil.key",
	}
	return eachPath("read", canRead, paths...)
}

func siblingRun(f Facts) []way {
	if f.SiblingRun == "" {
		return nil
	}
	lists := func(dir string) error {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if e.Name() == filepath.Base(f.SiblingRun) {
				return nil
			}
		}
		return errOther
	}
	list := eachPath("list", lists, filepath.Dir(f.SiblingRun), f.Workspace+"/..")
	return append(list, eachPath("search", f.searchTree, f.SiblingRun, f.Workspace+"/../"+filepath.Base(f.SiblingRun))...)
}

// secretSearch leaves out the system directories, which every sandbox shows on
// purpose, and /proc and /sys, which have probes of their own.
func secretSearch(f Facts) []way {
	if f.Secret == "" {
		return nil
	}
	return eachPath("search", f.searchTree, "/")
}

// searchTree works when a file below root holds the secret.
func (f Facts) searchTree(root string) error {
	skip := map[string]bool{"/proc": true, "/sys": true, "/usr": true, "/nix": true}
	deadline := time.Now().Add(10 * time.Second)
	files, found := 0, false
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil && path == root:
			return err
		case err != nil:
			return fs.SkipDir // a folder that cannot be read hides its files
		case d.IsDir() && skip[path]:
			return fs.SkipDir
		case time.Now().After(deadline):
			return notTried(fmt.Errorf("too many files: %d searched", files))
		case !d.Type().IsRegular():
			return nil
		}
		files++
		if f.hasSecret(path) == nil {
			found = true
			return fs.SkipAll
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case found:
		return nil
	}
	return fmt.Errorf("%w: %d files searched", errOther, files)
}
