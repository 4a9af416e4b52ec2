//go:build unix

package workspace_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-loop/ralph/internal/sandbox"
	"github.com/agent-loop/ralph/internal/workspace"
)

func TestResolve(t *testing.T) {
	top := tempDir(t)
	fill(t, top, map[string]string{
		"plain/sub/": "", "with space/": "", "colon:here/": "", "new\nline/": "", "quote'\"/": "", "ünï/": "",
		"bare.git/HEAD": "ref: refs/heads/main", "bare.git/objects/": "", "bare.git/refs/": "", "bare.git/hooks/": "",
		"file": "x", "link": "->plain", "broken": "->nowhere",
	})
	t.Chdir(filepath.Join(top, "plain"))
	at := func(name string) string { return filepath.Join(top, name) }
	for _, tt := range []struct{ dir, want, why string }{
		{"", at("plain"), ""},
		{".", at("plain"), ""},
		{"sub", at("plain/sub"), ""},
		{"./sub/", at("plain/sub"), ""},
		{"../with space", at("with space"), ""},
		{at("plain"), at("plain"), ""},
		{at("plain") + "//sub/", at("plain/sub"), ""},
		{at("colon:here"), at("colon:here"), ""},
		{at("quote'\""), at("quote'\""), ""},
		{at("ünï"), at("ünï"), ""},
		{at("new\nline"), "", "control character"},
		{at("\xff"), "", "not UTF-8"},
		{at("link"), "", "symbolic link"},
		{at("link/sub"), "", "symbolic link"},
		{"../link", "", "symbolic link"},
		{at("broken"), "", "does not exist"},
		{at("missing"), "", "does not exist"},
		{"missing", "", "does not exist"},
		{at("file"), "", "not a folder"},
		{at("bare.git"), "", "is a git directory"},
		{at("bare.git/hooks"), "", "is a git directory"},
		{at("file/x"), "", "not a directory"},
	} {
		t.Run(tt.dir, func(t *testing.T) {
			got, err := workspace.Resolve(tt.dir)
			var refused *sandbox.RefusedError
			switch {
			case tt.why == "" && (err != nil || got != tt.want):
				t.Errorf("got %q, %v; want %q", got, err, tt.want)
			case tt.why != "" && (!errors.As(err, &refused) || !strings.Contains(refused.Why, tt.why)):
				t.Errorf("got %q, %v; want a refusal with %q", got, err, tt.why)
			}
		})
	}
}

// A shell that went through a link has it in PWD.
func TestResolveOfTheCurrentFolder(t *testing.T) {
	top := tempDir(t)
	fill(t, top, map[string]string{"real/": "", "link": "->real"})
	t.Chdir(filepath.Join(top, "real"))
	t.Setenv("PWD", filepath.Join(top, "link"))
	if wd, err := os.Getwd(); err != nil || wd != filepath.Join(top, "link") {
		t.Fatalf("the link is not seen: %q, %v", wd, err)
	}
	if got, err := workspace.Resolve(""); err != nil || got != filepath.Join(top, "real") {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestResolveOfAnUnreadableFolder(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root reads everything")
	}
	dir := tempDir(t)
	if err := os.Chmod(dir, 0o311); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(dir, 0o700) })
	var refused *sandbox.RefusedError
	if _, err := workspace.Resolve(dir); !errors.As(err, &refused) || refused.Why != "it cannot be read" {
		t.Errorf("got %v", err)
	}
}
