package layout

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
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

// fromFolder builds the root from a folder that the user named, read-only, with
// room for places that are going to be mounted on.
func (k *skeleton) fromFolder(rootfs string, places []string) ([]Mount, error) {
	return k.entries(rootfs, "/", places, func(name string) bool { return skipInRootfs[name] })
}

// entries takes over what a folder holds, one by one.
func (k *skeleton) entries(source, target string, places []string, skip func(string) bool) ([]Mount, error) {
	entries, err := os.ReadDir(source)
	if err != nil {
		return nil, fmt.Errorf("reading the root file system: %w", err)
	}
	var mounts []Mount
	for _, e := range entries {
		if skip(e.Name()) {
			continue
		}
		more, err := k.entry(filepath.Join(source, e.Name()), path.Join(target, e.Name()), places)
		if err != nil {
			return nil, err
		}
		mounts = append(mounts, more...)
	}
	return mounts, nil
}

// entry takes over a file or folder as it is; but nothing can be added to a folder
// that is mounted read-only, so one that lacks a place is taken over by its parts.
func (k *skeleton) entry(source, target string, places []string) ([]Mount, error) {
	lacks := func(place string) bool {
		rel, err := filepath.Rel(target, place)
		if err != nil || rel == "." || !filepath.IsLocal(rel) {
			return false
		}
		_, err = os.Lstat(filepath.Join(source, rel))
		return errors.Is(err, fs.ErrNotExist)
	}
	info, err := os.Lstat(source)
	if err != nil || !info.IsDir() || !slices.ContainsFunc(places, lacks) {
		return k.system(source, target)
	}
	if err := k.mountPoint(target, true); err != nil {
		return nil, err
	}
	return k.entries(source, target, places, func(string) bool { return false })
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
