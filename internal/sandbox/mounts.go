package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Host is what the mount checks need to know about this machine.
type Host struct {
	Home  string // the user's home directory
	State string // where ralph keeps its own state
	// Program is the path of ralph itself, which no sandbox may replace.
	Program string
	// Run is the folder of the run that the sandbox belongs to, if it has one:
	// the only folder below a .ralph directory that may be mounted.
	Run string
}

// CheckMounts refuses mounts that would hand the sandbox more of the host than
// a user can mean to give. It looks at the real file system but changes
// nothing. Every refusal is a *RefusedError; all of them are reported.
func CheckMounts(mounts []Mount, host Host) error {
	var errs []error
	for i, m := range mounts {
		why, fix := host.refuse(m)
		if why == "" {
			why, fix = refuseOverlap(m, mounts[:i])
		}
		if why != "" {
			errs = append(errs, &RefusedError{What: fmt.Sprintf("mount of %q", m.Source), Why: why, Fix: fix})
		}
	}
	return errors.Join(errs...)
}

// refusePlace refuses a place inside that another mount has, or that would have
// to be created in that one's files on the host.
func refusePlace(m, other Mount) (why, fix string) {
	rel, err := filepath.Rel(other.Target, m.Target)
	switch {
	case err != nil || !filepath.IsLocal(rel):
		return "", ""
	case rel == ".":
		return fmt.Sprintf("its place inside, %s, is taken", m.Target), "choose another place"
	}
	if _, err := os.Lstat(filepath.Join(other.Source, rel)); err != nil {
		return fmt.Sprintf("its place inside, %s, does not exist in %s", m.Target, other.Source), "create it there, or choose another place"
	}
	return "", ""
}

// CheckRootfs refuses a root file system that would show the host's own files. An
// empty dir is none.
func (h Host) CheckRootfs(dir string) error {
	if dir == "" {
		return nil
	}
	why, fix := h.refusePath(dir)
	if info, err := os.Stat(dir); why == "" && (err != nil || !info.IsDir()) {
		why, fix = "it is not a folder", "unpack the root file system first"
	}
	if why != "" {
		return &RefusedError{What: fmt.Sprintf("root file system %q", dir), Why: why, Fix: fix}
	}
	return nil
}

// refuseOverlap refuses a second way to write to the same files: what is
// protected on one way would be open on the other.
func refuseOverlap(m Mount, before []Mount) (why, fix string) {
	for _, other := range before {
		if !m.ReadOnly && !other.ReadOnly && Overlap(m.Source, other.Source) && !hidden(m.Source, other, before) {
			return fmt.Sprintf("it shares files with %s, which is writable already", other.Source), "mount it read-only, or not at all"
		}
		if why, fix = refusePlace(m, other); why != "" {
			return why, fix
		}
	}
	return "", ""
}

// hidden tells whether a path that lies in a mount cannot be reached there, because
// another one covers it.
func hidden(source string, in Mount, mounts []Mount) bool {
	rel, err := filepath.Rel(in.Source, source)
	if err != nil || !filepath.IsLocal(rel) || rel == "." {
		return false
	}
	place := filepath.Join(in.Target, rel)
	return slices.ContainsFunc(mounts, func(m Mount) bool {
		return m.Target != in.Target && Within(m.Target, in.Target) && Within(place, m.Target) && !Overlap(m.Source, source)
	})
}

// refusePath refuses a path of the host that no sandbox may see, as it is
// written and as the kernel sees it.
func (h Host) refusePath(path string) (why, fix string) {
	if why, fix = CheckPath(path); why != "" {
		return why, fix
	}
	if why, fix = h.refuseSource(path); why != "" {
		return why, fix
	}
	return h.real().refuseSource(realPath(path))
}

func (h Host) refuse(m Mount) (why, fix string) {
	if why, fix = h.refusePath(m.Source); why != "" {
		return why, fix
	}
	if why, fix = refuseKind(m.Source); why != "" {
		return why, fix
	}
	if !m.ReadOnly && h.Program != "" && Within(realPath(h.Program), realPath(m.Source)) {
		return "ralph itself lies in it, and the agent could replace it", "install ralph elsewhere: make install"
	}
	return badTarget(m.Target)
}

// CheckPath refuses spellings of a host path that can mean something else than
// they seem to, and paths that are not there. An empty why means that the path
// is fine.
func CheckPath(path string) (why, fix string) {
	switch {
	case !filepath.IsAbs(path):
		return "the path is not absolute", "write the whole path"
	case strings.ContainsFunc(path, unicode.IsControl):
		return "the path holds a control character", "rename the folder"
	case !utf8.ValidString(path): // records of it, in JSON, would name another path
		return "the path is not UTF-8 text", "rename the folder"
	case hasDotDot(path):
		return "the path has a .. in it", "write it as " + filepath.Clean(path)
	}
	real, err := filepath.EvalSymlinks(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "it does not exist", "create it first, or check the spelling"
	case errors.Is(err, fs.ErrPermission):
		return "it cannot be read", "check its permissions"
	case err != nil:
		return err.Error(), ""
	}
	if link := firstSymlink(path); link != "" {
		return fmt.Sprintf("%s is a symbolic link; what it leads to can change under our feet", link), "give the real path, " + real
	}
	return "", ""
}

func hasDotDot(path string) bool {
	for part := range strings.SplitSeq(filepath.ToSlash(path), "/") {
		if part == ".." {
			return true
		}
	}
	return false
}

// firstSymlink returns the first component of path that is a symbolic link.
// Links in the root directory are the system's own (/tmp and /var on macOS):
// only root can make those.
func firstSymlink(path string) string {
	var parents []string
	for p := filepath.Clean(path); filepath.Dir(p) != p; p = filepath.Dir(p) {
		parents = append(parents, p)
	}
	for i := len(parents) - 2; i >= 0; i-- {
		info, err := os.Lstat(parents[i])
		if err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return parents[i]
		}
	}
	return ""
}

// forbiddenTargets are where the engine itself puts things, with all below, and
// systemTargets what a root file system is made of.
var (
	forbiddenTargets = []string{"/proc", "/sys", "/dev", "/.ralph"}
	systemTargets    = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/tmp", "/run", "/home", Home}
)

func badTarget(target string) (why, fix string) {
	const fixTarget = "mount it at a path of its own, such as /mnt/data"
	switch {
	case !strings.HasPrefix(target, "/"):
		return fmt.Sprintf("its place inside, %q, is not an absolute path", target), fixTarget
	case hasDotDot(target) || strings.ContainsFunc(target, unicode.IsControl) || !utf8.ValidString(target):
		return fmt.Sprintf("its place inside, %q, is not a plain path", target), fixTarget
	case filepath.ToSlash(filepath.Clean(target)) == "/":
		return "it would replace the sandbox's root", fixTarget
	}
	if slices.Contains(systemTargets, filepath.ToSlash(filepath.Clean(target))) {
		return fmt.Sprintf("it would hide %s of the sandbox", target), fixTarget
	}
	for _, t := range forbiddenTargets {
		if Within(target, t) {
			return fmt.Sprintf("%s inside belongs to the sandbox", t), fixTarget
		}
	}
	return "", ""
}

// systemDirs hold the host's secrets, devices or sockets. Neither they nor
// anything in them is ever mounted on request.
var systemDirs = []string{
	"/proc", "/sys", "/dev", "/boot", "/etc", "/run", "/var/run",
	"/private/etc", "/private/var/run", // where macOS has them
}

// secretNames are the places below a home directory where keys and tokens lie.
var secretNames = []string{
	".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".config/gcloud", ".config/gh", ".config/ralph",
	".netrc", ".git-credentials", ".npmrc", ".pypirc", ".password-store", ".local/share/keyrings",
	".claude", ".claude.json", ".codex", ".gemini", ".cargo/credentials.toml",
}

// isHome recognises home directories by where systems put them, and the folders
// that hold them all.
func isHome(path string) bool {
	path = filepath.ToSlash(path)
	switch filepath.ToSlash(filepath.Dir(path)) {
	case "/home", "/Users":
		return true
	}
	return path == "/home" || path == "/Users" || path == "/root" || path == "/var/root" || path == "/private/var/root"
}

// homes returns the home directories that path may lie in or hold: the user's
// own, and those of others above it.
func (h Host) homes(path string) []string {
	var found []string
	if h.Home != "" {
		found = append(found, h.Home)
	}
	for dir := path; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if isHome(dir) {
			found = append(found, dir)
		}
	}
	return found
}

// real is h as the kernel sees it. A home directory is often reached by a link,
// while a mount must be spelled without one.
func (h Host) real() Host {
	return Host{Home: realPath(h.Home), State: realPath(h.State), Program: realPath(h.Program), Run: realPath(h.Run)}
}

// realPath resolves the links in path. What is not there yet is taken as it is
// written, below the part that is.
func realPath(path string) string {
	if path == "" {
		return ""
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	if parent := filepath.Dir(path); parent != path {
		return filepath.Join(realPath(parent), filepath.Base(path))
	}
	return path
}

func (h Host) refuseSource(source string) (why, fix string) {
	const fixSource = "mount only the folder that the work needs"
	source = filepath.Clean(source)
	switch {
	case filepath.Dir(source) == source:
		return "that is the whole file system", fixSource
	case h.Home != "" && Within(h.Home, source), isHome(source):
		return "it is or holds a home directory, with its keys and tokens", fixSource
	case h.State != "" && Overlap(source, h.State):
		return "it holds ralph's own state, with the records of other runs", fixSource
	}
	for _, dir := range systemDirs {
		if Overlap(source, dir) {
			return fmt.Sprintf("%s belongs to the system", dir), fixSource
		}
	}
	for _, home := range h.homes(source) {
		if name := secretIn(home, source); name != "" {
			return fmt.Sprintf("~/%s holds keys or tokens", name), "let the gate hold credentials; they stay outside"
		}
	}
	if h.otherRun(source) {
		return "it belongs to another run", "a run sees its own folder only"
	}
	return "", ""
}

// secretIn returns the secret below home that source is, holds or lies in.
func secretIn(home, source string) string {
	for _, name := range secretNames {
		if Overlap(source, filepath.Join(home, name)) {
			return name
		}
	}
	return ""
}

// otherRun reports whether path lies in a .ralph folder that is not this run's.
func (h Host) otherRun(path string) bool {
	if h.Run != "" && Within(path, h.Run) {
		return false
	}
	for part := range strings.SplitSeq(filepath.ToSlash(path), "/") {
		if part == ".ralph" {
			return true
		}
	}
	return false
}

// refuseKind refuses what is neither a folder nor a plain file: a socket is a
// way out, and a device is the machine itself.
func refuseKind(source string) (why, fix string) {
	info, err := os.Stat(source)
	if err != nil {
		return err.Error(), ""
	}
	switch mode := info.Mode(); {
	case mode&fs.ModeSocket != 0:
		return "it is a socket: whoever holds it speaks to a program on the host", "use --allow for hosts; agents and daemons stay outside"
	case !mode.IsDir() && !mode.IsRegular():
		return "it is neither a folder nor a plain file", ""
	}
	if f, err := os.Open(source); err != nil {
		return "it cannot be read", "check its permissions"
	} else {
		f.Close()
	}
	return "", ""
}
