package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// checkGitIsTheUsers looks at what a project's file alone has made of [git].
func checkGitIsTheUsers(t *testing.T, got Git) {
	t.Helper()
	d := Defaults().Git
	if got.Branch != d.Branch || got.Push || got.Remote != d.Remote || got.Sign || got.Workspace == WorkspaceInPlace {
		t.Errorf("a project chose what is the user's: %+v", got)
	}
	if got.MaxImport < minImport || got.MaxImport > d.MaxImport || got.MaxFile < minImport || got.MaxFile > d.MaxFile {
		t.Errorf("a project brings more than an import may: %+v", got)
	}
	if len(got.Protected) < len(d.Protected) || !slices.Equal(got.Protected[:len(d.Protected)], d.Protected) {
		t.Errorf("a project took the protection of branches away: %q", got.Protected)
	}
}

// TestBranchesOfAllSources: what a flag or a variable protects is added as well.
func TestBranchesOfAllSources(t *testing.T) {
	env, err := FromEnv(environment(map[string]string{"RALPH_GIT_PROTECTED_BRANCHES": "e, p"}))
	if err != nil {
		t.Fatal(err)
	}
	s := Sources{
		Flags: layerOf(t, map[string]string{keyBranches: "f|u"}), Env: env,
		Project: mustParse(t, `git.protected_branches = ["p"]`), User: mustParse(t, `git.protected_branches = ["u"]`),
	}
	cfg, notes := Resolve(s)
	if want := []string{"u", "p", "e", "f"}; !slices.Equal(cfg.Git.Protected, want) || len(notes) != 0 {
		t.Errorf("got %q, notes %q; want %q", cfg.Git.Protected, notes, want)
	}
	s.User = nil
	cfg, _ = Resolve(s)
	if want := []string{"main", "master", "trunk", "release/*", "p", "e", "f", "u"}; !slices.Equal(cfg.Git.Protected, want) {
		t.Errorf("without a user's list: got %q, want %q", cfg.Git.Protected, want)
	}
}

// TestBranchesAreNobodyElses: changing one configuration changes no other.
func TestBranchesAreNobodyElses(t *testing.T) {
	user := mustParse(t, `git.protected_branches = ["u"]`)
	for range 2 {
		cfg, _ := Resolve(Sources{User: user, Project: mustParse(t, `git.protected_branches = ["p"]`)})
		if !slices.Equal(cfg.Git.Protected, []string{"u", "p"}) {
			t.Fatalf("got %q", cfg.Git.Protected)
		}
		cfg.Git.Protected[0] = "changed"
	}
}

// TestPersonDecidesAboutGit: a flag says what a project cannot.
func TestPersonDecidesAboutGit(t *testing.T) {
	project := mustParse(t, "[git]\nworkspace = \"clone\"\nobjects = \"copy\"\nmax_import = \"2m\"\nmax_file = \"2m\"")
	cfg, notes := Resolve(Sources{Project: project, Flags: layerOf(t, map[string]string{
		"git.workspace": WorkspaceInPlace, "git.objects": ObjectsShare, "git.max_import": "1g", "git.max_file": "1g",
		"git.push": "true", "git.remote": "fork", "git.sign": "true", "git.branch": "loop",
	})})
	want := Defaults().Git
	want.Workspace, want.MaxImport, want.MaxFile = WorkspaceInPlace, 1<<30, 1<<30
	want.Push, want.Remote, want.Sign, want.Branch = true, "fork", true, "loop"
	if !reflect.DeepEqual(cfg.Git, want) || len(notes) != 0 {
		t.Errorf("got %+v, notes %q\nwant %+v", cfg.Git, notes, want)
	}
}

// TestGitTexts: what later is in commits and command lines is no surprise there.
func TestGitTexts(t *testing.T) {
	const (
		option = "begins with a dash"
		space  = "holds a space or a character that cannot be printed"
		long   = "is longer than 200 bytes"
		branch = "is no name of a branch; of patterns there are * and ?"
		remote = "is not a remote's name of letters, digits, dots, dashes, underscores and slashes"
		print  = "holds a character that cannot be printed"
		part   = "holds < or >, which part name and address in a commit"
		crud   = "has nothing but characters that git takes away"
	)
	tests := []struct{ key, text, want string }{
		{"git.branch", "ralph/{run}", ""},
		{"git.branch", "loop-é", ""},
		{"git.branch", strings.Repeat("b", 200), ""},
		{"git.branch", strings.Repeat("b", 201), long},
		{"git.branch", "", "is empty"},
		{"git.branch", "a b", space},
		{"git.branch", "a\nb", space},
		{"git.branch", "a\x7f", space},
		{"git.branch", "--force", option},

		{keyBranches, "main", ""},
		{keyBranches, "release/*", ""},
		{keyBranches, "*", ""},
		{keyBranches, "v?.x/**", ""},
		{keyBranches, "", "is empty"},
		{keyBranches, "a b", space},
		{keyBranches, "-a", option},
		{keyBranches, "refs/heads/main", "is a whole reference; name the branch alone, as in release/*"},
		{keyBranches, "!main", "begins with !, which means nothing here"},
		{keyBranches, "/main", branch},
		{keyBranches, "release/", branch},
		{keyBranches, "a//b", branch},
		{keyBranches, "a..b", branch},
		{keyBranches, "release-[0-9]", branch},
		{keyBranches, `a\*`, branch},
		{keyBranches, "a:b", branch},

		{"git.remote", "origin", ""},
		{"git.remote", "team/fork_2.x-y", ""},
		{"git.remote", "", "is empty"},
		{"git.remote", "--mirror", option},
		{"git.remote", ".", remote},
		{"git.remote", "../elsewhere", remote},
		{"git.remote", "a/.b", remote},
		{"git.remote", "a..b", remote},
		{"git.remote", "/srv/git", remote},
		{"git.remote", "a/", remote},
		{"git.remote", "https://git.example/x", remote},
		{"git.remote", "ext::sh", remote},
		{"git.remote", "fôrk", remote},
		{"git.remote", strings.Repeat("r", 201), long},

		{"git.name", "Ralph Loop", ""},
		{"git.name", "É. O'Neil, Jr.", ""},
		{"git.name", strings.Repeat("é", 100), ""},
		{"git.name", strings.Repeat("é", 101), long},
		{"git.name", "", "is empty"},
		{"git.name", " ", "is empty"},
		{"git.name", "a\nauthor b", print},
		{"git.name", "a\x00", "holds a NUL character"},
		{"git.name", "a\u202eb", print},
		{"git.name", "a <b@b.example>", part},
		{"git.name", " a", "begins or ends with a space"},
		{"git.name", "'.,;:'", crud},
		{"git.email", "ralph@localhost", ""},
		{"git.email", "a>b", part},
		{"git.email", "...", crud},
		{"git.email", "a\tb", print},
	}
	for _, tt := range tests {
		checkText(t, tt.key, tt.text, tt.want)
	}
}

// checkText gives a key a text, and compares why that is refused; "" accepts.
func checkText(t *testing.T, key, text, why string) {
	t.Helper()
	got, want := "", ""
	if why != "" {
		want = fmt.Sprintf("--x: %s %s", quote(text), why)
	}
	if err := new(Layer).Set("--x", key, text); err != nil {
		got = err.Error()
	}
	if got != want {
		t.Errorf("%s: got %q, want %q", key, got, want)
	}
}
