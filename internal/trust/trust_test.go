package trust_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"software.sslmate.com/src/go-pkcs12"

	"github.com/agent-loop/ralph/internal/trust"
)

// certificate is a root in PEM, made for this test.
func certificate(t *testing.T, name string) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func TestWrite(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "trust")
	authority := certificate(t, "authority")
	// Two of one name, and no line end at the end.
	roots := bytes.TrimSpace(append(certificate(t, "root"), certificate(t, "root")...))
	if err := trust.Write(dir, authority, roots); err != nil {
		t.Fatal(err)
	}
	if err := trust.Write(dir, authority, roots); err != nil {
		t.Fatalf("a second time: %v", err)
	}
	alone, _ := os.ReadFile(filepath.Join(dir, trust.AuthorityFile))
	if !bytes.Equal(alone, authority) {
		t.Errorf("%s holds %q", trust.AuthorityFile, alone)
	}
	bundle, _ := os.ReadFile(filepath.Join(dir, trust.BundleFile))
	if got := strings.Count(string(bundle), "-----BEGIN CERTIFICATE-----\n"); got != 3 || !x509.NewCertPool().AppendCertsFromPEM(bundle) {
		t.Errorf("%s holds %d certificates", trust.BundleFile, got)
	}
	store, _ := os.ReadFile(filepath.Join(dir, trust.JavaFile))
	if found, err := pkcs12.DecodeTrustStore(store, "changeit"); err != nil || len(found) != 3 {
		t.Errorf("%s holds %d certificates, %v", trust.JavaFile, len(found), err)
	}
	wantReadable(t, dir)
}

// wantReadable wants everybody to read the files: who runs in a sandbox is not
// who wrote them.
func wantReadable(t *testing.T, dir string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		return
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 3 {
		t.Fatalf("%v, %v", entries, err)
	}
	for _, entry := range entries {
		if info, _ := entry.Info(); info.Mode().Perm() != 0o644 {
			t.Errorf("%s has mode %v", entry.Name(), info.Mode())
		}
	}
}

func TestWriteRefusesWhatIsNoAuthority(t *testing.T) {
	one := certificate(t, "one")
	key := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte("secret")})
	for name, authority := range map[string][]byte{
		"nothing": nil, "text": []byte("hello"), "two": append(slices.Clone(one), one...), "a key": key, "a key behind it": append(slices.Clone(one), key...),
	} {
		dir := filepath.Join(t.TempDir(), "trust")
		if err := trust.Write(dir, authority, one); err == nil {
			t.Errorf("%s was taken for an authority", name)
		}
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("%s: something was written", name)
		}
	}
}

// rootfs is a file system with these files.
func rootfs(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestRoots(t *testing.T) {
	pemText := string(certificate(t, "root"))
	root := rootfs(t, map[string]string{"etc/ssl/cert.pem": pemText, "other.pem": pemText + pemText})
	if got, err := trust.Roots(root, ""); err != nil || string(got) != pemText {
		t.Errorf("got %d bytes, %v", len(got), err)
	}
	if got, err := trust.Roots(root, filepath.Join(root, "other.pem")); err != nil || string(got) != pemText+pemText {
		t.Errorf("with a file: got %d bytes, %v", len(got), err)
	}
	if got, err := trust.Places(root); err != nil || !slices.Equal(got, []string{"/etc/ssl/cert.pem"}) {
		t.Errorf("places %v, %v", got, err)
	}
}

func TestRootsRefused(t *testing.T) {
	const place = "etc/ssl/certs/ca-certificates.crt"
	for name, files := range map[string]map[string]string{
		"nothing":  {"etc/passwd": ""},
		"empty":    {place: ""},
		"no certs": {place: "hello"},
		"a folder": {place + "/x": "hello"},
		"too much": {place: strings.Repeat("x", 8<<20+1)},
	} {
		if got, err := trust.Roots(rootfs(t, files), ""); err == nil || !strings.Contains(err.Error(), "install the package ca-certificates") {
			t.Errorf("%s: got %d bytes, %v", name, len(got), err)
		}
	}
}

// TestRootsStayInside wants a link in a root file system not to lead to the
// host's files.
func TestRootsStayInside(t *testing.T) {
	outside := rootfs(t, map[string]string{"roots.pem": string(certificate(t, "root"))})
	root := rootfs(t, map[string]string{"etc/ssl/certs/x": ""})
	if err := os.Symlink(filepath.Join(outside, "roots.pem"), filepath.Join(root, "etc/ssl/certs/ca-certificates.crt")); err != nil {
		t.Skip("no links here:", err)
	}
	if got, err := trust.Roots(root, ""); err == nil {
		t.Errorf("read %d bytes through a link", len(got))
	}
	if got, err := trust.Places(root); err != nil || len(got) != 0 {
		t.Errorf("places %v, %v", got, err)
	}
}

func TestEnv(t *testing.T) {
	env := trust.Env(trust.Dir, "127.0.0.1:3128")
	for _, want := range []string{
		"SSL_CERT_FILE=/ralph/trust/bundle.pem", "NODE_EXTRA_CA_CERTS=/ralph/trust/ca.pem", "DENO_CERT=/ralph/trust/ca.pem", "GIT_SSL_CAINFO=/ralph/trust/bundle.pem",
	} {
		if !slices.Contains(env, want) {
			t.Errorf("no %s in %q", want, env)
		}
	}
	java := env[len(env)-1]
	for _, want := range []string{"JAVA_TOOL_OPTIONS=-Djavax.net.ssl.trustStore=/ralph/trust/truststore.p12 ", "-Dhttps.proxyHost=127.0.0.1 ", "-Dhttps.proxyPort=3128 "} {
		if !strings.Contains(java, want) {
			t.Errorf("no %q in %q", want, java)
		}
	}
	if java := strings.Join(trust.Env(trust.Dir, ""), " "); strings.Contains(java, "proxy") {
		t.Errorf("a proxy in %q", java)
	}
}
