package project

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// tree makes a folder of files; a name that ends in a slash is a folder.
func tree(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "shop")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, content := range files {
		full := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, "/") {
			if err := os.MkdirAll(full, 0o755); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.WriteFile(full, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func look(t testing.TB, files map[string]string) Project {
	t.Helper()
	p, err := Look(tree(t, files))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestLook(t *testing.T) {
	type files = map[string]string
	const testScript = `{"scripts": {"test": "vitest"}}`
	for _, tt := range []struct {
		name       string
		files      files
		kind       string
		validation string
		allow      string
	}{
		{"nothing", files{"README.md": ""}, "unknown", "", ""},
		{"Go", files{"go.mod": "module x"}, "Go", "go vet ./... && go test ./...", "@go"},
		{"Go with a Makefile", files{"go.mod": "", "Makefile": "test:\n\tgo test"}, "Go", "go vet ./... && go test ./...", "@go"},
		{"Rust", files{"Cargo.toml": ""}, "Rust", "cargo test", "@crates"},
		{"Rust, locked", files{"Cargo.toml": "", "Cargo.lock": ""}, "Rust", "cargo test --locked", "@crates"},
		{"npm", files{"package.json": testScript}, "JavaScript", "npm install && npm run test", "@npm"},
		{"npm, locked", files{"package.json": testScript, "package-lock.json": ""}, "JavaScript", "npm ci && npm run test", "@npm"},
		{"npm without a test", files{"package.json": `{"scripts":{"test":"echo \"Error: no test specified\" && exit 1"}}`}, "JavaScript", "", "@npm"},
		{"all scripts that check", files{"package.json": `{"scripts":{"test":"t","typecheck":"tsc","lint":"l","deploy":"d"}}`, "tsconfig.json": ""}, "TypeScript", "npm install && npm run lint && npm run typecheck && npm run test", "@npm"},
		{"broken package.json", files{"package.json": `{"scripts":`}, "JavaScript", "", "@npm"},
		{"pnpm", files{"package.json": testScript, "pnpm-lock.yaml": ""}, "JavaScript", "pnpm install --frozen-lockfile && pnpm run test", "@npm"},
		{"pnpm by name", files{"package.json": `{"packageManager":"pnpm@9","scripts":{"test":"t"}}`}, "JavaScript", "pnpm install && pnpm run test", "@npm"},
		{"a tool nobody knows", files{"package.json": `{"packageManager":"rm -rf;@9","scripts":{"test":"t"}}`}, "JavaScript", "npm install && npm run test", "@npm"},
		{"yarn 1", files{"package.json": testScript, "yarn.lock": ""}, "JavaScript", "yarn install --frozen-lockfile && yarn run test", "@npm *.yarnpkg.com"},
		{"yarn 4", files{"package.json": testScript, "yarn.lock": "", ".yarnrc.yml": ""}, "JavaScript", "yarn install --immutable && yarn run test", "@npm *.yarnpkg.com"},
		{"bun", files{"package.json": testScript, "bun.lock": ""}, "JavaScript", "bun install --frozen-lockfile && bun run test", "@npm"},
		{"deno", files{"deno.json": "{}"}, "TypeScript", "deno test", "*.deno.land *.jsr.io @npm"},
		{"deno with a task", files{"deno.json": `{"tasks":{"test":"deno test -A"}}`}, "TypeScript", "deno task test", "*.deno.land *.jsr.io @npm"},
		{"uv", files{"pyproject.toml": "dev = ['pytest']", "uv.lock": ""}, "Python", "uv run python -m pytest", "@pypi"},
		{"uv by its table", files{"pyproject.toml": "[tool.uv.sources]"}, "Python", "uv run python -m unittest discover", "@pypi"},
		{"poetry", files{"pyproject.toml": "[tool.poetry]\n[tool.pytest.ini_options]"}, "Python", "poetry install && poetry run python -m pytest", "@pypi"},
		{"pip", files{"requirements.txt": "pytest\n"}, "Python", "python3 -m venv .venv && .venv/bin/pip install -q -r requirements.txt && .venv/bin/pip install -q pytest && .venv/bin/python -m pytest", "@pypi"},
		{"setup.py", files{"setup.py": ""}, "Python", "python3 -m venv .venv && .venv/bin/pip install -q -e . && .venv/bin/python -m unittest discover", "@pypi"},
		{"maven", files{"pom.xml": ""}, "Java", "mvn -q -B verify", "*.maven.org *.maven.apache.org"},
		{"gradle wrapper", files{"build.gradle.kts": "", "gradlew": ""}, "Java", "sh ./gradlew --no-daemon check", "*.maven.org *.maven.apache.org *.gradle.org"},
		{"rspec", files{"Gemfile": "", "spec/": ""}, "Ruby", "bundle install && bundle exec rspec", "*.rubygems.org"},
		{"rake", files{"Gemfile": "", "Rakefile": ""}, "Ruby", "bundle install && bundle exec rake test", "*.rubygems.org"},
		{"phpunit", files{"composer.json": "{}", "phpunit.xml": ""}, "PHP", "composer install --no-interaction && vendor/bin/phpunit", "*.packagist.org @github"},
		{"composer test", files{"composer.json": `{"scripts":{"test":["pest"]}}`}, "PHP", "composer install --no-interaction && composer test", "*.packagist.org @github"},
		{"cmake", files{"CMakeLists.txt": ""}, "C/C++", "cmake -B build && cmake --build build && ctest --test-dir build --output-on-failure", ""},
		{"make", files{"Makefile": "all:\n\ncheck: all\n", "main.c": ""}, "C/C++", "make check", ""},
		{"make, a variable named test", files{"Makefile": "test := 1\ntest:=2\n", "main.c": ""}, "C/C++", "", ""},
		{"make and nothing else", files{"Makefile": "test:\n"}, "make", "make test", ""},
		{"mixed", files{"go.mod": "", "web/package.json": testScript}, "Go and JavaScript", "go vet ./... && go test ./... && (cd web && npm install && npm run test)", "@go @npm"},
		{"monorepo", files{"packages/a/Cargo.toml": "", "services/api/go.mod": ""}, "Rust and Go", "(cd packages/a && cargo test) && (cd services/api && go vet ./... && go test ./...)", "@crates @go"},
		{"a workspace builds its members", files{"package.json": testScript, "packages/a/package.json": testScript, "packages/b/package.json": testScript}, "JavaScript", "npm install && npm run test", "@npm"},
		{"what is not the project's own", files{"go.mod": "", "node_modules/x/package.json": testScript, "vendor/y/Cargo.toml": "", ".cache/z/Cargo.toml": "", "testdata/Cargo.toml": ""}, "Go", "go vet ./... && go test ./...", "@go"},
		{"too deep", files{"a/b/c/go.mod": ""}, "unknown", "", ""},
		{"names that a shell would read", files{"a;reboot/go.mod": "", "-rf/go.mod": "", "$(x)/go.mod": ""}, "unknown", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := look(t, tt.files)
			if p.Kind() != tt.kind {
				t.Errorf("Kind = %q, want %q", p.Kind(), tt.kind)
			}
			if p.Validation() != tt.validation {
				t.Errorf("Validation = %q, want %q", p.Validation(), tt.validation)
			}
			if got := p.Allow(); !slices.Equal(got, withDomains(tt.allow)) {
				t.Errorf("Allow = %q, want %q", got, tt.allow)
			}
			if len(p.Parts) > 0 && p.Validation() == "" && len(p.Missing()) == 0 {
				t.Error("no validation, and no word why")
			}
		})
	}
}

// withDomains reads a list of rules; a wildcard stands for its domain as well.
func withDomains(list string) []string {
	var rules []string
	for _, rule := range strings.Fields(list) {
		rules = append(rules, rule)
		if domain, wild := strings.CutPrefix(rule, "*."); wild {
			rules = append(rules, domain)
		}
	}
	return rules
}

func TestGit(t *testing.T) {
	for _, tt := range []struct {
		name  string
		files map[string]string
		dir   string
		want  Git
	}{
		{"repository", map[string]string{".git/": ""}, ".", GitHere},
		{"worktree", map[string]string{".git": "gitdir: x"}, ".", GitHere},
		{"folder of one", map[string]string{".git/": "", "sub/x": ""}, "sub", GitAbove},
		{"none", map[string]string{"x": ""}, ".", GitNone},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, err := Look(filepath.Join(tree(t, tt.files), tt.dir))
			if err != nil || p.Git != tt.want {
				t.Errorf("Git = %q, %v; want %q", p.Git, err, tt.want)
			}
		})
	}
}

func TestPackagesForTheImage(t *testing.T) {
	p := look(t, map[string]string{"Cargo.toml": "", "CMakeLists.txt": ""})
	if got, want := p.Packages(), []string{"cargo", "build-essential", "cmake"}; !slices.Equal(got, want) {
		t.Errorf("Packages = %q, want %q", got, want)
	}
}

// Links are not followed: not out of the folder, nor to what looks like a part.
func TestLinksDoNotCount(t *testing.T) {
	outside := tree(t, map[string]string{"package.json": `{"scripts":{"test":"t"}}`})
	dir := tree(t, map[string]string{"x": ""})
	if err := os.Symlink(filepath.Join(outside, "package.json"), filepath.Join(dir, "package.json")); err != nil {
		t.Skip("no symbolic links here:", err)
	}
	if err := os.Symlink(outside, filepath.Join(dir, "web")); err != nil {
		t.Fatal(err)
	}
	if p, err := Look(dir); err != nil || len(p.Parts) != 0 {
		t.Errorf("Look = %+v, %v", p, err)
	}
}

// A folder made to cost time costs little, and the command stays usable.
func TestLookIsBounded(t *testing.T) {
	files := map[string]string{}
	for i := range 300 {
		files[fmt.Sprintf("%s-%03d/requirements.txt", strings.Repeat("x", 50), i)] = "pytest"
	}
	p := look(t, files)
	if len(p.Parts) != maxParts {
		t.Errorf("%d parts", len(p.Parts))
	}
	if n := len(p.Validation()); n > maxCommand || n == 0 {
		t.Errorf("a command of %d bytes", n)
	}
}

func TestLookNeedsAFolder(t *testing.T) {
	if _, err := Look(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("no error")
	}
}

// FuzzMarkers gives each detector hostile content; the command it makes must
// hold nothing of that.
func FuzzMarkers(f *testing.F) {
	f.Add(`{"scripts":{"test":"x"}}`, "packages")
	f.Add("test: $(shell reboot)\n", "a b")
	f.Add("[tool.poetry]\npytest", "..")
	f.Add(`{"packageManager":"yarn@1; reboot","scripts":{"test":{}}}`, "-x")
	f.Fuzz(func(t *testing.T, content, name string) {
		if strings.ContainsAny(name, "/\\\x00:") || name == "" || name == "." || name == ".." || len(name) > 100 {
			return
		}
		files := map[string]string{}
		for _, marker := range []string{"package.json", "pyproject.toml", "Makefile", "composer.json", "deno.json", "go.mod"} {
			files["sub/"+marker], files[name+"/"+marker] = content, content
		}
		p, err := Look(tree(t, files))
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range p.Parts {
			if strings.ContainsAny(part.Validation, "$`;|<>\n\"'\\*") || !plainName().MatchString(part.Dir) {
				t.Errorf("in %q: %q", part.Dir, part.Validation)
			}
		}
	})
}
