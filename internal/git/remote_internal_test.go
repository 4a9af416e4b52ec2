package git

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Whatever a repository says, an address that is taken is a path outside, or one of
// the protocols, or a host and a path; never a flag and never a program.
func FuzzCheckAddress(f *testing.F) {
	for _, seed := range []string{
		"https://example.com/a.git", "http://u:p@h:80/x", "ssh://git@example.com:22/a", "git@example.com:a/b.git", "git://h/x", "file:///srv/a.git",
		"/srv/a.git", "../a.git", "a:b:c", "[::1]:x", "ext::sh -c x", "fd::1", "-x", "--upload-pack=x", "ssh://-oProxyCommand=x/y", "u@-o:x", "@@-:", "0:/://", "C:\\a", "ftp://x/y", "file:///%2e%2e/x", "x::y://z", "://", ":", "@:",
	} {
		f.Add(seed)
	}
	top := f.TempDir()
	// What git takes for a helper: transport_get, is_urlschemechar.
	program := regexp.MustCompile(`^[A-Za-z0-9+.-]*::`)
	protocol := regexp.MustCompile(`^(https|http|ssh|git|file)://[^-]`)
	f.Fuzz(func(t *testing.T, address string) {
		got, err := checkAddress(top, "origin", address)
		if err != nil {
			if got != "" {
				t.Fatalf("%q: refused, and yet %q", address, got)
			}
			return
		}
		colon, slash := strings.Index(got, ":"), strings.Index(got, "/")
		switch {
		case got == "" || got[0] == '-' || program.MatchString(got) || strings.ContainsAny(got, "\n\x00"):
			t.Fatalf("%q was taken", address)
		case strings.Contains(got, "://"):
			if !protocol.MatchString(got) {
				t.Fatalf("%q was taken", address)
			}
		case filepath.IsAbs(got):
			if got == top || strings.HasPrefix(got, top+"/") {
				t.Fatalf("%q was taken", address)
			}
		case colon < 0 || slash >= 0 && slash < colon || strings.Contains(got[:colon], "@-"):
			t.Fatalf("%q was taken", address)
		}
	})
}

// The machine's configuration is looked for where the common builds of git have it.
func TestSystemFiles(t *testing.T) {
	for _, test := range []struct{ system, prefix, want string }{
		{"linux", "/usr", "/etc/gitconfig"},
		{"linux", "/opt/git", "/opt/git/etc/gitconfig"},
		{"darwin", "/opt/homebrew/Cellar/git/2.50.0", "/opt/homebrew/etc/gitconfig"},
		{"darwin", "/Library/Developer/CommandLineTools/usr", "/Library/Developer/CommandLineTools/usr/share/git-core/gitconfig"},
		{"windows", "/Program Files/Git/mingw64", "/Program Files/Git/etc/gitconfig"},
	} {
		found := false
		for _, file := range systemFiles(test.system, filepath.FromSlash(test.prefix)) {
			found = found || filepath.ToSlash(file) == test.want
		}
		if !found {
			t.Errorf("%s is not looked at on %s", test.want, test.system)
		}
	}
}

// A password is left out however it is written.
func TestWithoutPassword(t *testing.T) {
	for _, test := range []struct{ text, address, want string }{
		{"cannot reach 'http://u:secret@h/x'", "http://u:secret@h/x", "cannot reach 'http://h/x'"},
		{"bad password secret", "http://u:secret@h/x", "bad password ***"},
		{"bad password se cret", "http://u:se%20cret@h/x", "bad password ***"},
		{"nothing", "/srv/a@b", "nothing"},
	} {
		if got := withoutPassword(test.text, test.address); got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
}
