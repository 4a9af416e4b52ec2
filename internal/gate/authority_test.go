package gate

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"strings"
	"testing"
	"time"
)

func testAuthority(t *testing.T, hosts ...string) *authority {
	t.Helper()
	b := &binding{}
	for _, h := range hosts {
		rule, err := ParseRule(h)
		if err != nil {
			t.Fatal(err)
		}
		b.rules = append(b.rules, rule)
	}
	a, err := newAuthority([]*binding{b}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func parseLeaf(t *testing.T, a *authority, name string) *x509.Certificate {
	t.Helper()
	made, err := a.leaf(name)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(made.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	return leaf
}

func TestAuthority(t *testing.T) {
	a := testAuthority(t, "example.com", "*.example.org", "git.test:8443")
	block, rest := pem.Decode(a.pem)
	if block == nil || len(rest) > 0 || strings.Contains(string(a.pem), "PRIVATE") {
		t.Fatalf("pem %s", a.pem)
	}
	cert := a.cert
	if !cert.IsCA || cert.MaxPathLen != 0 || !cert.MaxPathLenZero || !cert.PermittedDNSDomainsCritical || cert.NotAfter.After(time.Now().Add(31*24*time.Hour)) {
		t.Errorf("certificate %+v", cert)
	}
	if got := fmt.Sprint(cert.PermittedDNSDomains); got != "[example.com example.org git.test]" {
		t.Errorf("permitted %s", got)
	}
	roots := x509.NewCertPool()
	roots.AddCert(cert)
	for name, spelled := range map[string]string{"example.com": "EXAMPLE.com.", "a.b.example.org": "a.b.example.org", "git.test": "git.test"} {
		leaf := parseLeaf(t, a, spelled)
		if _, err := leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: name}); err != nil {
			t.Errorf("verifying %s: %v", name, err)
		}
		if leaf.IsCA || leaf.Subject.CommonName != "" {
			t.Errorf("leaf %+v", leaf)
		}
	}
}

// TestAuthorityVouchesForItsHostsAlone wants both it and its certificate to
// refuse other names.
func TestAuthorityVouchesForItsHostsAlone(t *testing.T) {
	a := testAuthority(t, "example.com", "*.example.org")
	for _, name := range []string{"evil.test", "www.example.com", "example.org", "", "127.0.0.1", "example.com.evil.test", "*.example.org"} {
		if _, err := a.leaf(name); err == nil {
			t.Errorf("signed a certificate for %q", name)
		}
	}
	roots := x509.NewCertPool()
	roots.AddCert(a.cert)
	forged, err := a.sign("evil.test")
	if err != nil {
		t.Fatal(err)
	}
	leaf, _ := x509.ParseCertificate(forged.Certificate[0])
	if _, err := leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: "evil.test"}); err == nil {
		t.Error("a certificate for another name passed the constraints")
	}
}

// TestAuthoritiesDiffer wants every run to have keys of its own.
func TestAuthoritiesDiffer(t *testing.T) {
	a, b := testAuthority(t, "example.com"), testAuthority(t, "example.com")
	if a.key.Equal(b.key) || a.leafKey.Equal(b.leafKey) || a.key.Equal(a.leafKey) {
		t.Error("keys are shared")
	}
}

func TestLeavesAreKeptAndBounded(t *testing.T) {
	a := testAuthority(t, "*.example.org")
	first, err := a.leaf("a.example.org")
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := a.leaf("A.EXAMPLE.org"); again != first {
		t.Error("a second certificate for the same name")
	}
	for i := range maxLeaves + 10 {
		if _, err := a.leaf(fmt.Sprintf("n%d.example.org", i)); err != nil {
			t.Fatal(err)
		}
	}
	if len(a.leaves) > maxLeaves {
		t.Errorf("%d certificates are kept", len(a.leaves))
	}
}
