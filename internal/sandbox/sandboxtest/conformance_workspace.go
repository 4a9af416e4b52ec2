package sandboxtest

import (
	"os"
	"slices"
	"strings"
	"testing"
)

func workspaceChecks() []check {
	return []check{
		{"what is written inside is on the host, and the caller's", checkWrittenInside},
		{"what the host changes is seen inside at once", checkHostEdits},
		{"what is moved or deleted inside is so on the host", checkInsideEdits},
		{"symbolic links survive both ways", checkLinks},
		{"executable bits survive both ways", checkExecutableBits},
		{"any name survives both ways", checkNames},
	}
}

func checkWrittenInside(t *testing.T, s *suite) {
	s.out(t, "mkdir made && echo 'by the guest' > made/file")
	if got := read(t, s.outside("made/file")); got != "by the guest\n" {
		t.Errorf("the host reads %q", got)
	}
	for _, name := range []string{"made", "made/file"} {
		if got, want := owner(t, s.outside(name)), owner(t, s.workspace); got != want {
			t.Errorf("%s belongs to %s, the workspace to %s", name, got, want)
		}
	}
	// The host must be able to clean up without help.
	if err := os.RemoveAll(s.outside("made")); err != nil {
		t.Error(err)
	}
}

func checkHostEdits(t *testing.T, s *suite) {
	const script = "cat edited; test -e moved && cat moved; true"
	file, moved := s.outside("edited"), s.outside("moved")

	write(t, file, "first")
	if got := s.out(t, script); got != "first" {
		t.Errorf("after creating: %q", got)
	}
	write(t, file, "second, and longer")
	if got := s.out(t, script); got != "second, and longer" {
		t.Errorf("after editing: %q", got)
	}
	if err := os.Rename(file, moved); err != nil {
		t.Fatal(err)
	}
	if got := s.out(t, script); got != "second, and longer" {
		t.Errorf("after renaming: %q", got)
	}
	if err := os.Remove(moved); err != nil {
		t.Fatal(err)
	}
	if got := s.out(t, script); got != "" {
		t.Errorf("after deleting: %q", got)
	}
}

func checkInsideEdits(t *testing.T, s *suite) {
	write(t, s.outside("to move"), "content")
	write(t, s.outside("to delete/file"), "content")
	s.out(t, "mv 'to move' 'has moved' && rm -r 'to delete'")
	if exists(s.outside("to move")) || read(t, s.outside("has moved")) != "content" {
		t.Error("the move is not seen on the host")
	}
	if exists(s.outside("to delete")) {
		t.Error("the deletion is not seen on the host")
	}
}

func checkLinks(t *testing.T, s *suite) {
	s.out(t, "ln -s ../some/where 'link from inside'")
	if got, err := os.Readlink(s.outside("link from inside")); err != nil || got != "../some/where" {
		t.Errorf("the host reads %q, %v", got, err)
	}
	if err := os.Symlink("locked.toml", s.outside("link from outside")); err != nil {
		t.Fatal(err)
	}
	if got := s.out(t, "readlink 'link from outside' && cat 'link from outside'"); got != "locked.toml\nlocked" {
		t.Errorf("the guest reads %q", got)
	}
}

func checkExecutableBits(t *testing.T, s *suite) {
	s.out(t, "echo > inside.sh && chmod 755 inside.sh && echo > plain && chmod 644 plain")
	for name, want := range map[string]os.FileMode{"inside.sh": 0o755, "plain": 0o644} {
		info, err := os.Stat(s.outside(name))
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s is %v, %v on the host, want %v", name, info.Mode(), err, want)
		}
	}
	if err := os.Chmod(s.outside("plain"), 0o700); err != nil {
		t.Fatal(err)
	}
	s.out(t, "test -x plain")
}

func checkNames(t *testing.T, s *suite) {
	names := []string{"with space", "new\nline", "ünï-☃-漢字", "-dash", "quote'\"", "back\\slash", "*", "~", strings.Repeat("n", 255)}
	dir := s.outside("names")
	for _, name := range names {
		write(t, dir+"/"+name, "outside")
	}
	const script = `cd names && for name; do test "$(cat -- "./$name")" = outside || exit 1; echo inside > "./$name"; done; touch "./made $1"`
	s.out(t, script, names...)
	for _, name := range names {
		if got := read(t, dir+"/"+name); got != "inside\n" {
			t.Errorf("%q holds %q", name, got)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != len(names)+1 || !slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() == "made with space" }) {
		t.Errorf("the host lists %v, %v", entries, err)
	}
}
