package gvisor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	specs "github.com/opencontainers/runtime-spec/specs-go"

	"github.com/agent-loop/ralph/internal/sandbox"
)

const (
	// helperPath is where this binary is found inside.
	helperPath = "/.ralph/ralph"
	// The others are links to it whose names say what it is to do.
	initPath  = "/.ralph/" + initName
	doorPath  = "/.ralph/" + doorName
	bytesPath = "/.ralph/" + bytesName
)

// systemDirs are the host's programs and libraries. Where a distribution has
// merged them into /usr, the links are copied instead.
var systemDirs = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"}

// systemFiles are the parts of /etc that programs need to run: where libraries,
// certificates, time zones and names of services are. Nothing in them is
// private; directories that also hold keys (/etc/ssl/private) are left out.
var systemFiles = []string{
	"/etc/alternatives", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d",
	"/etc/ssl/certs", "/etc/ssl/openssl.cnf", "/etc/ca-certificates", "/etc/pki/tls/certs",
	"/etc/pki/ca-trust/extracted", "/etc/crypto-policies",
	"/etc/localtime", "/etc/timezone", "/etc/locale.conf", "/etc/terminfo",
	"/etc/mime.types", "/etc/magic", "/etc/protocols", "/etc/services", "/etc/ethertypes",
	"/etc/debian_version", "/etc/lsb-release", "/etc/redhat-release", "/etc/fonts",
}

// madeUpFiles are the ones whose host version would say too much or be wrong
// inside. There is no resolver: names are the gate's business.
func madeUpFiles(user sandbox.User) map[string]string {
	return map[string]string{
		"/etc/passwd": fmt.Sprintf("root:x:0:0:root:/nonexistent:/usr/sbin/nologin\n"+
			"agent:x:%d:%d:agent:%s:/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n", user.UID, user.GID, sandbox.Home),
		"/etc/group":         fmt.Sprintf("root:x:0:\nagent:x:%d:\nnogroup:x:65534:\n", user.GID),
		"/etc/hosts":         "127.0.0.1 localhost ralph\n::1 localhost ip6-localhost ip6-loopback\n",
		"/etc/hostname":      hostname + "\n",
		"/etc/nsswitch.conf": "passwd: files\ngroup: files\nshadow: files\nhosts: files\nservices: files\nprotocols: files\n",
		"/etc/resolv.conf":   "# no resolver: names are resolved by the proxy at " + sandbox.GateAddress + "\n",
		"/etc/machine-id":    strings.Repeat("0", 32) + "\n",
	}
}

// skeleton is the almost empty root file system of a sandbox, on the host. What
// is created in it goes through an os.Root: a copied link, or one that a user's
// root file system brings along, must not lead a write to the host's own files.
type skeleton struct{ root *os.Root }

func newSkeleton(dir string) (*skeleton, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("preparing the root: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("preparing the root: %w", err)
	}
	return &skeleton{root}, nil
}

// buildRoot fills the skeleton and returns the read-only mounts of the host's
// system directories that complete it.
func (k *skeleton) buildRoot(user sandbox.User) ([]specs.Mount, error) {
	for path, text := range madeUpFiles(user) {
		if err := k.file(path, text); err != nil {
			return nil, err
		}
	}
	var mounts []specs.Mount
	for _, path := range slices.Concat(systemDirs, systemFiles) {
		mount, err := k.system(path, path)
		if err != nil {
			return nil, err
		}
		mounts = append(mounts, mount...)
	}
	return mounts, nil
}

// system copies a link of the host, or prepares a mount point for a file or
// folder and returns its mount. What is not there is left out.
func (k *skeleton) system(source, target string) ([]specs.Mount, error) {
	info, err := os.Lstat(source)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("looking at %s: %w", source, err)
	}
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		return nil, k.link(source, target)
	case info.IsDir(), info.Mode().IsRegular():
		return []specs.Mount{bindMount(source, target, true)}, k.mountPoint(target, info.IsDir())
	}
	return nil, nil
}

// link copies a link of the host.
func (k *skeleton) link(source, target string) error {
	to, err := os.Readlink(source)
	if err != nil {
		return fmt.Errorf("reading the link %s: %w", source, err)
	}
	return k.symlink(to, target)
}

func (k *skeleton) symlink(to, target string) error {
	target = below(target)
	err := k.root.MkdirAll(filepath.Dir(target), 0o755)
	if err == nil {
		err = k.root.Symlink(to, target)
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("preparing the root: %w", err)
	}
	return nil
}

// mountPoint makes an empty folder or file for a mount to cover. gVisor would
// make it too, but not when the root is read-only to it.
func (k *skeleton) mountPoint(target string, isDir bool) error {
	if !isDir {
		return k.file(target, "")
	}
	if err := k.root.MkdirAll(below(target), 0o755); err != nil {
		return fmt.Errorf("preparing the mount point %s: %w", target, err)
	}
	return nil
}

// file creates a file. One that exists, or a link in its place, stays.
func (k *skeleton) file(target, text string) error {
	target = below(target)
	err := k.root.MkdirAll(filepath.Dir(target), 0o755)
	if err != nil {
		return fmt.Errorf("preparing the root: %w", err)
	}
	f, err := k.root.OpenFile(target, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err == nil {
		_, err = f.WriteString(text)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return fmt.Errorf("preparing %s: %w", target, err)
	}
	return nil
}

// below turns a path inside into one relative to the root.
func below(target string) string { return strings.TrimPrefix(filepath.Clean(target), "/") }

func bindMount(source, target string, readOnly bool) specs.Mount {
	mode := "rw"
	if readOnly {
		mode = "ro"
	}
	return specs.Mount{
		Destination: target,
		Type:        "bind",
		Source:      source,
		Options:     []string{"rbind", mode, "nosuid", "nodev"},
	}
}

func tmpfsMount(target string, size int64, options ...string) specs.Mount {
	return specs.Mount{
		Destination: target,
		Type:        "tmpfs",
		Source:      "tmpfs",
		Options:     append([]string{"nosuid", "nodev", fmt.Sprintf("size=%d", size)}, options...),
	}
}
