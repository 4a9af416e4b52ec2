package git

import (
	"context"
	"fmt"
	"net/url"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"unicode"
)

// protocols are those that a push may use. None of them runs a command that an
// address names.
func protocols() []string { return []string{"https", "http", "ssh", "git", "file"} }

// remoteAddress reads where a remote is. That is all that counts of what the
// repository says about it.
func (r *Repository) remoteAddress(ctx context.Context, name string) (string, error) {
	if CheckBranch(name) != nil { // the same signs are bad in both
		return "", fmt.Errorf("%q cannot be a remote", name)
	}
	for _, key := range []string{"pushurl", "url"} {
		out, err := r.config(ctx, "--null", "--get-all", "remote."+name+"."+key)
		if err != nil {
			return "", err
		}
		switch found := splitNul(out); len(found) {
		case 0:
		case 1:
			return checkAddress(r.Top, name, found[0])
		default:
			return "", refuse("the remote "+name, fmt.Sprintf("it has %d addresses", len(found)), "push by hand, or set remote."+name+".pushurl to one of them")
		}
	}
	return "", refuse("the remote "+name, "the repository has no address for it", "git remote add "+name+" <address>")
}

var (
	helper = regexp.MustCompile(`^[^/\\@\[]*::`)
	drive  = regexp.MustCompile(`^[A-Za-z]:[/\\]`)
)

// checkAddress refuses what would run something, and makes paths absolute. Git tells
// the forms of addresses apart by the same signs.
func checkAddress(top, name, address string) (string, error) {
	no := func(why string) (string, error) {
		return "", refuse("the remote "+name, why, "give it an address that begins with https:// or ssh://: git remote set-url "+name+" <address>")
	}
	protocol, _, isURL := strings.Cut(address, "://") // wherever that is: git looks no closer
	colon, slash := strings.Index(address, ":"), strings.Index(address, "/")
	switch {
	case address == "" || strings.HasPrefix(address, "-"):
		return no("its address is empty or looks like a flag")
	case strings.ContainsFunc(address, unicode.IsControl):
		return no("its address has a control character in it")
	case helper.MatchString(address):
		return no("its address names a program to run")
	case isURL && protocol == "file":
		return checkFolder(top, no, address)
	case isURL:
		return checkServer(no, protocol, address)
	case runtime.GOOS == "windows" && drive.MatchString(address):
		return checkFolder(top, no, address)
	case colon >= 0 && (slash < 0 || colon < slash):
		return checkHost(no, address[:colon], address) // user@host:path
	}
	if !filepath.IsAbs(address) {
		return no("it is a folder beside the repository, whose hooks may have come with it; name it by its whole path")
	}
	return checkFolder(top, no, address)
}

func checkServer(no func(string) (string, error), protocol, address string) (string, error) {
	if !slices.Contains(protocols(), protocol) {
		return no("its protocol is " + plain(protocol))
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return no("its address cannot be read")
	}
	return checkHost(no, u.Host, address)
}

// checkHost looks at a host with the user before it. Where the user ends is for ssh
// to say, so no part may look like a flag.
func checkHost(no func(string) (string, error), host, address string) (string, error) {
	for part := range strings.SplitSeq(host, "@") {
		if part == "" || strings.HasPrefix(part, "-") {
			return no("its host is missing or looks like a flag")
		}
	}
	return address, nil
}

// checkFolder refuses a repository inside the work tree: whoever wrote the files
// wrote its hooks, and those of a folder run here.
func checkFolder(top string, no func(string) (string, error), address string) (string, error) {
	folder, isURL := strings.CutPrefix(address, "file://")
	if isURL {
		var err error
		if folder, err = url.PathUnescape(folder); err != nil {
			return no("its address cannot be read")
		}
	}
	if !filepath.IsAbs(folder) {
		return no("its address is no absolute path")
	}
	for path := resolved(folder); ; path = filepath.Dir(path) {
		if samePath(path, top) {
			return no("it is among the files of the repository itself")
		}
		if path == filepath.Dir(path) {
			return address, nil
		}
	}
}

// resolved is a path without links, as far as it exists.
func resolved(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return filepath.Clean(path)
}
