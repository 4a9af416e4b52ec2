package layout

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agent-loop/ralph/internal/sandbox"
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
		"/etc/hosts":         "127.0.0.1 localhost " + Hostname + "\n::1 localhost ip6-localhost ip6-loopback\n",
		"/etc/hostname":      Hostname + "\n",
		"/etc/nsswitch.conf": "passwd: files\ngroup: files\nshadow: files\nhosts: files\nservices: files\nprotocols: files\n",
		"/etc/resolv.conf":   "# no resolver: names are resolved by the proxy at " + sandbox.GateAddress + "\n",
		"/etc/machine-id":    strings.Repeat("0", 32) + "\n",
	}
}

// overImageFiles are those of an image that must not be its own: who there is,
// and what container engines write about the host.
var overImageFiles = []string{"/etc/group", "/etc/hostname", "/etc/hosts", "/etc/passwd", "/etc/resolv.conf"}

// skipInRootfs are the folders that a sandbox has of its own.
var skipInRootfs = map[string]bool{"proc": true, "sys": true, "dev": true, "tmp": true, "run": true, "home": true, ".ralph": true}

// fromHost builds the root from made-up files and the host's system directories,
// read-only.
func (k *skeleton) fromHost(agent sandbox.User) ([]Mount, error) {
	for path, text := range madeUpFiles(agent) {
		if err := k.file(path, text); err != nil {
			return nil, err
		}
	}
	var mounts []Mount
	for _, path := range slices.Concat(systemDirs, systemFiles) {
		mount, err := k.system(path, path)
		if err != nil {
			return nil, err
		}
		mounts = append(mounts, mount...)
	}
	return mounts, nil
}

// fromFolder builds the root from a folder that the user named, read-only.
func (k *skeleton) fromFolder(rootfs string) ([]Mount, error) {
	entries, err := os.ReadDir(rootfs)
	if err != nil {
		return nil, fmt.Errorf("reading the root file system: %w", err)
	}
	var mounts []Mount
	for _, e := range entries {
		if skipInRootfs[e.Name()] {
			continue
		}
		mount, err := k.system(filepath.Join(rootfs, e.Name()), "/"+e.Name())
		if err != nil {
			return nil, err
		}
		mounts = append(mounts, mount...)
	}
	return mounts, nil
}

// overImage makes the files that replace an image's.
func (k *skeleton) overImage(dir string, agent sandbox.User) ([]Mount, error) {
	files := madeUpFiles(agent)
	var mounts []Mount
	for _, target := range overImageFiles {
		if err := k.file(target, files[target]); err != nil {
			return nil, err
		}
		mounts = append(mounts, readOnly(filepath.Join(dir, filepath.FromSlash(target)), target))
	}
	return mounts, nil
}

// system copies a link of the host, or prepares a mount point for a file or
// folder and returns its mount. What is not there is left out.
func (k *skeleton) system(source, target string) ([]Mount, error) {
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
		return []Mount{readOnly(source, target)}, k.mountPoint(target, info.IsDir())
	}
	return nil, nil
}
