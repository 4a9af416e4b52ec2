//go:build unix

package sandbox

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// These places need not exist on the machine that runs the tests.
func TestRefuseSourceOfOthers(t *testing.T) {
	hosts := map[string]Host{
		"ordinary user": {Home: "/home/me", State: "/home/me/.local/state/ralph"},
		"root":          {Home: "/root", State: "/var/lib/ralph"},
		"no HOME":       {},
	}
	for name, host := range hosts {
		for source, why := range map[string]string{
			"/":                     "whole file system",
			"/home":                 "home directory",
			"/home/you":             "home directory",
			"/home/you/":            "home directory",
			"/home/me":              "home directory",
			"/Users":                "home directory",
			"/Users/you":            "home directory",
			"/root":                 "home directory",
			"/var/root":             "home directory",
			"/home/you/.ssh":        "~/.ssh",
			"/home/you/.ssh/id":     "~/.ssh",
			"/home/me/.config":      "~/.config/gcloud",
			"/Users/you/.aws":       "~/.aws",
			"/root/.gnupg":          "~/.gnupg",
			"/home/me/p/.ralph":     "another run",
			"/srv/p/.ralph/runs/1":  "another run",
			"/boot/grub":            "/boot belongs",
			"/var/run/docker.sock":  "/var/run belongs",
			"/run/docker.sock":      "/run belongs",
			"/private":              "/private/etc belongs",
			"/private/etc/ssh":      "/private/etc belongs",
			"/home/me/project":      "",
			"/home/you/shared":      "",
			"/srv/p/.ralphs":        "",
			"/srv/p/x.ralph/runs/1": "",
			"/opt":                  "",
			"/etcetera":             "",
		} {
			if got, _ := host.refuseSource(source); (why == "") != (got == "") || !strings.Contains(got, why) {
				t.Errorf("%s: %s: got %q, want %q", name, source, got, why)
			}
		}
	}
}

func TestWithin(t *testing.T) {
	for _, tt := range []struct {
		path, dir string
		want      bool
	}{
		{"/a", "/a", true},
		{"/a/b", "/a", true},
		{"/a/b/", "/a/", true},
		{"/a/..b", "/a", true},
		{"/ab", "/a", false},
		{"/", "/a", false},
		{"/a", "/", true},
		{"/b/a", "/a", false},
		{"a", "/a", false},
	} {
		if got := Within(tt.path, tt.dir); got != tt.want {
			t.Errorf("Within(%q, %q) = %v", tt.path, tt.dir, got)
		}
	}
}

// FuzzRefuseSource checks what must hold for every spelling of a path: what is
// allowed lies in none of the forbidden places, and holds none of them.
func FuzzRefuseSource(f *testing.F) {
	for _, seed := range []string{"/", "/home/me", "/home/me/x", "/home/./me//", "/etc/x", "/home/you/.ssh", "/srv/.ralph/runs/2", "/srv/.ralph/runs/1/x", "/var", "//proc/1"} {
		f.Add(seed)
	}
	host := Host{Home: "/home/me", State: "/srv/state", Run: "/srv/.ralph/runs/1"}
	f.Fuzz(func(t *testing.T, source string) {
		if !filepath.IsAbs(source) || hasDotDot(source) {
			return // CheckPath's to refuse
		}
		if why, _ := host.refuseSource(source); why != "" {
			return
		}
		clean := filepath.Clean(source) + "/"
		for _, dir := range slices.Concat(systemDirs, []string{"/home/me/.ssh", "/srv/state"}) {
			if strings.HasPrefix(clean, dir+"/") || strings.HasPrefix(dir+"/", clean) {
				t.Errorf("%q was allowed, though %s is forbidden", source, dir)
			}
		}
		if strings.HasPrefix("/home/me/", clean) {
			t.Errorf("%q was allowed, though it holds the home directory", source)
		}
		if strings.Contains(clean, "/.ralph/") && !strings.HasPrefix(clean, "/srv/.ralph/runs/1/") {
			t.Errorf("%q was allowed, though it is another run's", source)
		}
	})
}

// FuzzBadTarget checks that no spelling of a target reaches what belongs to the
// sandbox.
func FuzzBadTarget(f *testing.F) {
	for _, seed := range []string{"/mnt", "/proc", "/./proc", "//dev/x", "/mnt/../sys", "/.ralph/", "proc", "/\x00proc"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, target string) {
		if why, _ := badTarget(target); why != "" {
			return
		}
		clean := filepath.Clean(target) + "/"
		if clean == "//" || clean[0] != '/' {
			t.Errorf("%q was allowed", target)
		}
		for _, dir := range forbiddenTargets {
			if strings.HasPrefix(clean, dir+"/") {
				t.Errorf("%q was allowed, though %s is the sandbox's", target, dir)
			}
		}
	})
}
