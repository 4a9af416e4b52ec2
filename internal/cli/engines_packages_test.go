//go:build linux

package cli_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/cgi"
	"os/exec"
	"strings"
	"testing"
)

// packages is a web of package indexes, all of which have one package, "thing"; of
// one repository, /owner/thing.git; and of a greeting at /hello.
func packages(t *testing.T, repositories string) http.Handler {
	t.Helper()
	git, err := exec.LookPath("git")
	must(t, err)
	mux := http.NewServeMux()
	mux.HandleFunc("/hello", func(w http.ResponseWriter, r *http.Request) { fmt.Fprintln(w, "hello from "+r.Host) })
	mux.Handle("/owner/", &cgi.Handler{Path: git, Args: []string{"http-backend"}, Env: []string{"GIT_PROJECT_ROOT=" + repositories, "GIT_HTTP_EXPORT_ALL=1", "HOME=" + repositories, "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*"}})

	npm := tarball(t, map[string]string{"package/package.json": `{"name":"thing","version":"1.0.0"}`})
	sum := sha512.Sum512(npm)
	mux.HandleFunc("/thing", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"name":"thing","dist-tags":{"latest":"1.0.0"},"versions":{"1.0.0":{"name":"thing","version":"1.0.0","dist":{"tarball":"https://%s/thing.tgz","integrity":"sha512-%s"}}}}`,
			r.Host, base64.StdEncoding.EncodeToString(sum[:]))
	})
	mux.HandleFunc("/thing.tgz", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(npm) })

	mux.HandleFunc("/simple/thing/", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<!DOCTYPE html><html><body><a href="https://%s/files/thing-1.0-py3-none-any.whl">thing-1.0-py3-none-any.whl</a></body></html>`, r.Host)
	})
	mux.HandleFunc("/files/", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(wheel(t)) })

	crate := tarball(t, map[string]string{
		"thing-1.0.0/Cargo.toml": "[package]\nname = \"thing\"\nversion = \"1.0.0\"\n", "thing-1.0.0/src/lib.rs": "",
	})
	mux.HandleFunc("/config.json", func(w http.ResponseWriter, r *http.Request) { fmt.Fprintf(w, `{"dl":"https://%s/crates"}`, r.Host) })
	mux.HandleFunc("/th/in/thing", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"name":"thing","vers":"1.0.0","deps":[],"cksum":"%x","features":{},"yanked":false}`+"\n", sha256.Sum256(crate))
	})
	mux.HandleFunc("/crates/", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(crate) })
	return mux
}

// tarball is a compressed archive of files.
func tarball(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var buffer bytes.Buffer
	compressed := gzip.NewWriter(&buffer)
	w := tar.NewWriter(compressed)
	for name, content := range files {
		must(t, w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(content))}))
		_, err := w.Write([]byte(content))
		must(t, err)
	}
	must(t, w.Close())
	must(t, compressed.Close())
	return buffer.Bytes()
}

// wheel is a package of Python's.
func wheel(t *testing.T) []byte {
	t.Helper()
	var buffer bytes.Buffer
	w := zip.NewWriter(&buffer)
	for name, content := range map[string]string{
		"METADATA": "Metadata-Version: 2.1\nName: thing\nVersion: 1.0\n",
		"WHEEL":    "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
		"RECORD":   "",
	} {
		file, err := w.Create("thing-1.0.dist-info/" + name)
		must(t, err)
		_, err = file.Write([]byte(content))
		must(t, err)
	}
	must(t, w.Close())
	return buffer.Bytes()
}

// repository makes a bare one with a commit, below a folder.
func repository(t *testing.T, dir string) {
	t.Helper()
	script := `git init -q --bare -b main owner/thing.git && git init -q -b main w && cd w && echo content >file && git add -A &&
git -c user.name=n -c user.email=e@example.com commit -qm one && git push -q ../owner/thing.git main`
	cmd := exec.Command("sh", "-ec", script)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("making a repository: %v\n%s", err, strings.TrimSpace(string(out)))
	}
}
