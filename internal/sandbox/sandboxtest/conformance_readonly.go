package sandboxtest

import (
	"testing"
)

func readOnlyChecks() []check {
	return []check{
		{"a read-only mount is seen at its place and refuses every change", checkReadOnlyMount},
		{"a protected path can be read and refuses every change", checkProtected},
		{"a protected path cannot be moved, replaced or shadowed", checkProtectedPlace},
		{"the siblings of a protected path are writable", checkProtectedSiblings},
	}
}

// wantRefused runs attempts that must all fail and leave dir on the host as it
// was.
func (s *suite) wantRefused(t *testing.T, inside, outside string, attempts []string) {
	t.Helper()
	before := tree(t, outside)
	for _, a := range s.allowed(t, inside, attempts) {
		t.Errorf("this was allowed: %s", a)
	}
	if after := tree(t, outside); after != before {
		t.Errorf("the host's files changed from\n%sto\n%s", before, after)
	}
}

func checkReadOnlyMount(t *testing.T, s *suite) {
	s.needsOwnFiles(t)
	if got := s.out(t, "cat "+dataTarget+"/file"); got != "data" {
		t.Fatalf("the guest reads %q", got)
	}
	s.wantRefused(t, dataTarget, s.data, []string{
		"echo x > file", "echo x >> file", "rm -f file", "mv file other", "mv file /tmp/file",
		"chmod 777 file", "chmod 777 .", "touch file", "touch new", "mkdir new", "ln -s file new", "ln -sf / file",
	})
}

func checkProtected(t *testing.T, s *suite) {
	s.needs(t, s.info.ProtectedPaths, "protected paths")
	if got := s.out(t, "cat locked/file locked.toml nested/locked/file && ls locked"); got != "lockedlockedlockedfile\n" {
		t.Fatalf("the guest reads %q", got)
	}
	for _, dir := range []string{"locked", "nested/locked"} {
		s.wantRefused(t, s.inside(dir), s.outside(dir), []string{
			"echo x > file", "echo x >> file", "rm -f file", "mv file other", "mv file ../stolen",
			"chmod 777 file", "chmod 777 .", "touch new", "mkdir new", "ln -s file new", "ln -sf / file",
		})
	}
}

func checkProtectedPlace(t *testing.T, s *suite) {
	s.needs(t, s.info.ProtectedPaths, "protected paths")
	s.out(t, "mkdir decoy && echo evil > decoy/file && echo evil > decoy.toml")
	for path, attempts := range map[string][]string{
		"locked": {"mv locked gone", "rm -rf locked", "mv -T decoy locked", "ln -sfn decoy locked", "chmod 777 locked"},
		"locked.toml": {
			"echo x > locked.toml", "echo x >> locked.toml", "rm -f locked.toml", "mv locked.toml gone.toml",
			"mv -f decoy.toml locked.toml", "ln -sf decoy.toml locked.toml", "chmod 777 locked.toml",
		},
		// Whoever moves the parent away can put another protected path in place.
		"nested/locked": {"mv nested gone", "mv nested/locked gone", "rm -rf nested/locked"},
	} {
		s.wantRefused(t, s.inside("."), s.outside(path), attempts)
	}
}

func checkProtectedSiblings(t *testing.T, s *suite) {
	s.needs(t, s.info.ProtectedPaths, "protected paths")
	s.out(t, `for f in locked2 locked.toml2 nested/sibling; do
		echo mine > $f && mv $f $f.moved && mv $f.moved $f || exit 1
	done`)
	for _, name := range []string{"locked2", "locked.toml2", "nested/sibling"} {
		if got := read(t, s.outside(name)); got != "mine\n" {
			t.Errorf("%s holds %q", name, got)
		}
	}
}
