package sandboxtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-loop/ralph/internal/sandbox"
)

func privacyChecks() []check {
	return []check{
		{"commands do not run as root", checkUser},
		{"home and tmp are writable", checkPrivateWritable},
		{"tmp is not the host's", checkPrivateTmp},
		{"folders of its own are empty, writable, and gone with it", checkOwnFolders},
		{"two sandboxes do not see each other", checkTwoSandboxes},
	}
}

func checkUser(t *testing.T, s *suite) {
	s.needs(t, s.ownFiles(), "users of its own")
	if got := strings.TrimSpace(s.out(t, "id -u")); got == "0" || got == "" {
		t.Errorf("the user inside is %q", got)
	}
}

func checkPrivateWritable(t *testing.T, s *suite) {
	s.needsOwnFiles(t)
	for _, dir := range []string{"/tmp", `"$HOME"`} {
		script := "cd " + dir + " && mkdir sub && echo content > sub/file && cat sub/file && rm -r sub"
		if got := s.out(t, script); got != "content\n" {
			t.Errorf("in %s the guest reads %q", dir, got)
		}
	}
	if home := strings.TrimSpace(s.out(t, `echo "$HOME"`)); home != sandbox.Home {
		t.Errorf("home is %q", home)
	}
}

func checkPrivateTmp(t *testing.T, s *suite) {
	s.needsOwnFiles(t)
	onHost, err := os.CreateTemp("/tmp", "ralph-test-")
	s.needs(t, err == nil, "/tmp on this host to be compared with")
	defer os.Remove(onHost.Name()) //nolint:errcheck // an empty file in /tmp
	onHost.Close()
	if r := s.sh(t, `test -e "$1"`, onHost.Name()); r.code != 1 {
		t.Errorf("a file in the host's /tmp is seen inside: %+v", r)
	}
	inside := onHost.Name() + "-inside"
	s.out(t, `echo > "$1"`, inside)
	if exists(inside) {
		t.Error("a file in the guest's /tmp is seen on the host")
		_ = os.Remove(inside)
	}
}

func checkOwnFolders(t *testing.T, s *suite) {
	s.needs(t, s.info.OwnFiles, "folders of its own")
	place := filepath.ToSlash(filepath.Join(s.realDir(t), "own"))
	ask := func(spec *sandbox.Spec) { spec.Own = []string{place} }
	first := s.newBox(t, ask)
	if got := first.out(t, `cd "$1" && ls -a`, place); strings.Trim(got, ".\n") != "" {
		t.Errorf("it is not empty: %q", got)
	}
	if got := first.out(t, `cd "$1" && mkdir sub && echo content > sub/file && mv sub moved && cat moved/file`, place); got != "content\n" {
		t.Errorf("the guest reads %q", got)
	}
	if exists(filepath.FromSlash(place)) {
		t.Error("it is seen on the host")
	}
	if r := first.sh(t, `mv "$1" "$1.moved"`, place); r.code == 0 {
		t.Error("it can be moved away")
	}
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	if r := s.newBox(t, ask).sh(t, `ls "$1/moved"`, place); r.code == 0 {
		t.Errorf("the next sandbox has what this one left: %q", r.stdout)
	}
}

func checkTwoSandboxes(t *testing.T, s *suite) {
	s.needsOwnFiles(t)
	other := s.newBox(t)
	for _, dir := range []string{"/tmp", sandbox.Home} {
		s.out(t, `echo secret > "$1/mark"`, dir)
		if r := other.sh(t, `cat "$1/mark"`, dir); r.code == 0 {
			t.Errorf("%s of one is seen in the other", dir)
		}
	}
	if r := other.sh(t, `ls "$1"`, filepath.ToSlash(s.workspace)); r.code == 0 {
		t.Errorf("the workspace of one is seen in the other: %q", r.stdout)
	}
}
