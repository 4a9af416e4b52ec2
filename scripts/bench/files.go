package main

import (
	"archive/tar"
	"fmt"
	"os"
	"path/filepath"
)

// gitStatus is a repository of Go's own sources, looked at twice before it is
// measured.
func (b *bench) gitStatus() error {
	repo := filepath.Join(b.dir, "repo")
	if err := os.CopyFS(repo, os.DirFS(filepath.Join(b.goRoot, "src"))); err != nil {
		return fmt.Errorf("copying sources: %w", err)
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"-c", "user.name=b", "-c", "user.email=b@example.com", "commit", "-qm", "all"}} {
		if err := host(repo, append([]string{"git"}, args...)...); err != nil {
			return err
		}
	}
	return b.compare("`git status`, 11,000 files", "", 5, "git", "-C", repo, "status", "--short")
}

// unpack is many small files, the worst case of a sandbox that checks every
// call.
func (b *bench) unpack() error {
	archive := filepath.Join(b.dir, "small.tar")
	if err := writeSmallFiles(archive, 20_000); err != nil {
		return err
	}
	script := "rm -rf " + b.dir + "/out && mkdir " + b.dir + "/out && tar xf " + archive + " -C " + b.dir + "/out"
	if err := b.compare("unpack 20,000 files", "in the workspace", 3, "sh", "-c", script); err != nil {
		return err
	}
	script = "rm -rf /tmp/out && mkdir /tmp/out && tar xf " + archive + " -C /tmp/out"
	return b.compare("unpack 20,000 files", "in the sandbox's own /tmp", 3, "sh", "-c", script)
}

func writeSmallFiles(path string, count int) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	w := tar.NewWriter(f)
	text := make([]byte, 500)
	for i := range count {
		name := fmt.Sprintf("%03d/%05d.txt", i/100, i)
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(text))}); err != nil {
			return err
		}
		if _, err := w.Write(text); err != nil {
			return err
		}
	}
	return w.Close()
}

// goBuild compiles a web server from an empty cache, standard library included.
func (b *bench) goBuild() error {
	project := filepath.Join(b.dir, "hello")
	if err := os.MkdirAll(project, 0o755); err != nil {
		return err
	}
	for name, text := range map[string]string{
		"go.mod":  "module hello\n",
		"main.go": "package main\n\nimport \"net/http\"\n\nfunc main() { _ = http.ListenAndServe(\"127.0.0.1:0\", nil) }\n",
	} {
		if err := os.WriteFile(filepath.Join(project, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	goTool := filepath.Join(b.goRoot, "bin", "go")
	script := "cd " + project + " && rm -rf /tmp/bench-cache && GOCACHE=/tmp/bench-cache GOFLAGS=-mod=mod CGO_ENABLED=0 " + goTool + " build -o /tmp/bench-hello ."
	return b.compare("`go build` of a web server, empty cache", "", 1, "sh", "-c", script)
}

// compare measures the same command outside and in the running sandbox, after
// one run of each that does not count.
func (b *bench) compare(what, other string, n int, args ...string) error {
	outside := func() error { return host(b.dir, args...) }
	inside := func() error { return b.exec(args...) }
	if n > 1 {
		if err := outside(); err != nil {
			return err
		}
		if err := inside(); err != nil {
			return err
		}
	}
	plain, err := median(n, outside)
	if err != nil {
		return err
	}
	sandboxed, err := median(n, inside)
	if err != nil {
		return err
	}
	row(what, plain, sandboxed, other)
	return nil
}
