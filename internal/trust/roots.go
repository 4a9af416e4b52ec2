package trust

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// maxRoots is the most that is read as a bundle of roots. Those of today have
// about 220 kB.
const maxRoots = 8 << 20

// places are where systems keep all their roots in one file. Links among them
// lead to others of them.
var places = []string{
	"/etc/ssl/certs/ca-certificates.crt",                // Debian, Ubuntu, Arch, Alpine, Gentoo, NixOS
	"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", // Fedora, RHEL, CentOS
	"/etc/pki/tls/certs/ca-bundle.crt",                  // the same, by the name that programs use
	"/etc/ssl/ca-bundle.pem",                            // openSUSE
	"/var/lib/ca-certificates/ca-bundle.pem",            // the same
	"/etc/ssl/cert.pem",                                 // Alpine, macOS, BSD
	"/etc/ssl/certs/ca-bundle.crt",                      // NixOS
	"/usr/share/ssl/certs/ca-bundle.crt",                // old
}

// Roots returns the certificates that programs trust in the file system below
// root: "/" for this machine's own, or the folder of a root file system. A
// certFile, if there is one, is used instead, as with SSL_CERT_FILE.
func Roots(root, certFile string) ([]byte, error) {
	if certFile != "" {
		return readRoots(os.DirFS(filepath.Dir(certFile)), filepath.Base(certFile))
	}
	in, closeIn, err := openRoot(root)
	if err != nil {
		return nil, fmt.Errorf("looking for certificates: %w", err)
	}
	defer func() { _ = closeIn() }() // nothing was written
	var unread error
	for _, place := range places {
		found, err := readRoots(in, strings.TrimPrefix(place, "/"))
		if err == nil {
			return found, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			unread = errors.Join(unread, err)
		}
	}
	return nil, errors.Join(fmt.Errorf("no file with the system's certificates was found below %s: install the package ca-certificates", root), unread)
}

// openRoot opens this machine's own file system as it is, and any other one so
// that no link leads out of it.
func openRoot(root string) (fs.FS, func() error, error) {
	if root == "/" {
		return os.DirFS(root), func() error { return nil }, nil
	}
	in, err := os.OpenRoot(root)
	if err != nil {
		return nil, nil, err
	}
	return in.FS(), in.Close, nil
}

// readRoots reads one bundle and wants certificates in it.
func readRoots(in fs.FS, name string) ([]byte, error) {
	f, err := in.Open(name)
	if err != nil {
		return nil, fmt.Errorf("reading certificates: %w", err)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(fmt.Errorf("reading certificates: %s is not a plain file", name), err)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxRoots+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading certificates: %w", err)
	case len(text) > maxRoots:
		return nil, fmt.Errorf("reading certificates: %s has more than %d bytes", name, maxRoots)
	}
	if len(parse(text)) == 0 {
		return nil, fmt.Errorf("reading certificates: %s holds none", name)
	}
	return text, nil
}

// Places returns the files in the file system below root that hold all the roots
// of a system, for the bundle to be mounted over. Links are left out: what they
// lead to is there as well, or cannot be mounted over.
func Places(root string) ([]string, error) {
	in, closeIn, err := openRoot(root)
	if err != nil {
		return nil, fmt.Errorf("looking for certificates: %w", err)
	}
	defer func() { _ = closeIn() }() // nothing was written
	var found []string
	for _, place := range places {
		if info, err := fs.Lstat(in, strings.TrimPrefix(place, "/")); err == nil && info.Mode().IsRegular() {
			found = append(found, place)
		}
	}
	return found, nil
}
