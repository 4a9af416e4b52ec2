//go:build linux

package cli_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// hostServer is a server for the name localhost, with a certificate that the
// returned file vouches for.
func hostServer(t *testing.T, h http.Handler) (server *httptest.Server, roots string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	about := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{"localhost"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, about, about, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	server = httptest.NewUnstartedServer(h)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	server.StartTLS()
	t.Cleanup(server.Close)
	roots = filepath.Join(t.TempDir(), "roots.pem")
	if err := os.WriteFile(roots, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return server, roots
}

// TestBoundCredential: a secret of the user's own file goes to its host, for its
// paths and methods, and the command that causes it never sees it.
func TestBoundCredential(t *testing.T) {
	const token = "users-git-token-0123456789"
	seen := make(chan *http.Request, 10)
	server, roots := hostServer(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen <- r.Clone(t.Context())
		fmt.Fprintf(w, "served %s\n", r.URL.Path)
	}))
	port := server.URL[strings.LastIndexByte(server.URL, ':')+1:]
	configDir := t.TempDir()
	writeFile(t, filepath.Join(configDir, "ralph", "config.toml"), `
[[credential]]
name = "git-host"
host = "localhost:`+port+`"
methods = ["GET"]
paths = ["/repos/acme/**"]
header = "Authorization"
from = "env:GIT_HOST_TOKEN"
env = "GH_TOKEN"

[[credential]]
host = "not-allowed.example"
header = "X-Token"
from = "env:NOT_SET"
`)
	log := filepath.Join(t.TempDir(), "events.jsonl")
	url := "https://localhost:" + port
	cmd, state := ralph(t, "exec", "--allow", "localhost:"+port, "--events", log, "--", "sh", "-c",
		`ask() { curl -sS --noproxy "" -w "%{http_code}\n" "$@" || true; }
ask `+url+`/repos/acme/app
ask -H "Authorization: Bearer attackers" `+url+`/repos/acme/own
ask -X POST `+url+`/repos/acme/app
ask `+url+`/gists
ask --path-as-is `+url+`/repos/acme/../../gists
ask -H "X-Note: $GH_TOKEN" `+url+`/repos/acme/app
env; cat $SSL_CERT_FILE | grep -c BEGIN`)
	cmd.Env = append(cmd.Env, "XDG_CONFIG_HOME="+configDir, "GIT_HOST_TOKEN="+token, "SSL_CERT_FILE="+roots)
	out, err := cmd.CombinedOutput()
	if code := exitCode(t, err); code != 0 {
		t.Fatalf("exit %d\n%s", code, out)
	}
	if text := string(out); strings.Contains(text, token) || !strings.Contains(text, "served /repos/acme/app\n200") || strings.Count(text, "403\n") != 4 || !strings.Contains(text, "GH_TOKEN=ghp_") {
		t.Errorf("the command saw\n%s", text)
	}
	for range 2 {
		if r := <-seen; r.Header.Get("Authorization") != "Bearer "+token {
			t.Errorf("%s came with %q", r.URL.Path, r.Header.Get("Authorization"))
		}
	}
	if len(seen) != 0 {
		t.Errorf("more came through: %s", (<-seen).URL.Path)
	}
	data, err := os.ReadFile(log)
	if err != nil || strings.Contains(string(data), token) || strings.Count(string(data), `"credential":"git-host"`) < 2 {
		t.Errorf("%v: events\n%s", err, data)
	}
	if left, _ := filepath.Glob(filepath.Join(state, "trust", "*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
