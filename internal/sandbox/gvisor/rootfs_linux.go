package gvisor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
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

// buildRoot fills dir with an almost empty root file system and returns the
// read-only mounts of the host's system directories that complete it.
func buildRoot(dir string, user sandbox.User) ([]specs.Mount, error) {
	for path, text := range madeUpFiles(user) {
		if err := writeFile(filepath.Join(dir, path), text); err != nil {
			return nil, err
		}
	}
	var mounts []specs.Mount
	for _, path := range append(append([]string{}, systemDirs...), systemFiles...) {
		mount, err := systemMount(dir, path)
		if err != nil {
			return nil, err
		}
		if mount != nil {
			mounts = append(mounts, *mount)
		}
	}
	return mounts, nil
}

// systemMount copies a link, or prepares a mount point and returns its mount.
func systemMount(dir, path string) (*specs.Mount, error) {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("looking at %s: %w", path, err)
	}
	inside := filepath.Join(dir, path)
	if info.Mode()&fs.ModeSymlink != 0 {
		return nil, copyLink(path, inside)
	}
	if err := mountPoint(inside, info.IsDir()); err != nil {
		return nil, err
	}
	m := bindMount(path, path, true)
	return &m, nil
}

func copyLink(from, to string) error {
	target, err := os.Readlink(from)
	if err != nil {
		return fmt.Errorf("reading the link %s: %w", from, err)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return fmt.Errorf("preparing the root: %w", err)
	}
	if err := os.Symlink(target, to); err != nil {
		return fmt.Errorf("preparing the root: %w", err)
	}
	return nil
}

// mountPoint makes an empty folder or file for a mount to cover. gVisor would
// make it too, but not when the root is read-only to it.
func mountPoint(path string, isDir bool) error {
	if !isDir {
		return writeFile(path, "")
	}
	if err := os.MkdirAll(path, 0o755); err != nil {
		return fmt.Errorf("preparing a mount point: %w", err)
	}
	return nil
}

func writeFile(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("preparing the root: %w", err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		return fmt.Errorf("preparing the root: %w", err)
	}
	return nil
}

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
