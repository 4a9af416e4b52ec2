// Package trust makes the programs in a sandbox trust the certificate authority
// of the run's gate, which opens TLS for the hosts that credentials are bound to.
//
// There is no one place that every program looks at. So three files are written
// on the host and mounted read-only in the sandbox, at Dir: the authority's
// certificate alone, for programs that add it to what they trust; a bundle of it
// and the system's roots, for those that take one file in the place of their own;
// and the same as a trust store for Java. Env names them in the variables that
// programs read. Programs that read none get the bundle in the place of the
// system's own: see Places.
//
// Nothing here is secret: the files hold certificates, no keys.
package trust

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"software.sslmate.com/src/go-pkcs12"
)

// Dir is where the files are mounted in a sandbox. It lies in a folder of its
// own at the top, so that it can be made whatever root file system there is.
const Dir = "/ralph/trust"

// The files in Dir.
const (
	AuthorityFile = "ca.pem"         // the authority alone
	BundleFile    = "bundle.pem"     // the authority and the system's roots
	JavaFile      = "truststore.p12" // the same, for Java
)

// javaPassword is the one that everybody uses: a trust store holds no secret, but
// Java does not read one without.
const javaPassword = "changeit"

// Write writes the files into dir, a folder on the host that is made if it is
// not there. The authority is its certificate in PEM; roots are the certificates
// that programs trust otherwise, from Roots.
func Write(dir string, authority, roots []byte) error {
	bundle, err := Bundle(authority, roots)
	if err != nil {
		return err
	}
	store, err := javaStore(bundle)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("making the folder for certificates: %w", err)
	}
	for name, data := range map[string][]byte{AuthorityFile: authority, BundleFile: bundle, JavaFile: store} {
		// Whoever runs in the sandbox must be able to read it.
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			return fmt.Errorf("writing the certificates that a sandbox trusts: %w", err)
		}
	}
	return nil
}

// Bundle joins the authority's certificate and the roots.
func Bundle(authority, roots []byte) ([]byte, error) {
	block, rest := pem.Decode(authority)
	if block == nil || block.Type != "CERTIFICATE" || len(bytes.TrimSpace(rest)) > 0 {
		return nil, errors.New("the authority is not one certificate in PEM, and nothing else")
	}
	return joinPEM(authority, roots), nil
}

// joinPEM joins PEM texts, each of which begins on a line of its own.
func joinPEM(texts ...[]byte) []byte {
	var out bytes.Buffer
	for _, text := range texts {
		out.Write(bytes.TrimSpace(text))
		out.WriteByte('\n')
	}
	return out.Bytes()
}

// javaStore is a PKCS#12 file, which Java 8 (8u301), 11 (11.0.12) and all later
// ones read. Every entry has a name of its own: Java would take two of one name
// for one.
func javaStore(bundle []byte) ([]byte, error) {
	certificates := parse(bundle)
	entries := make([]pkcs12.TrustStoreEntry, len(certificates))
	for i, certificate := range certificates {
		entries[i] = pkcs12.TrustStoreEntry{Cert: certificate, FriendlyName: fmt.Sprintf("root-%d", i)}
	}
	store, err := pkcs12.Modern2023.EncodeTrustStoreEntries(entries, javaPassword)
	if err != nil {
		return nil, fmt.Errorf("encoding the trust store for Java: %w", err)
	}
	return store, nil
}

// parse returns the certificates in PEM text. Old roots that Go cannot read are
// left out.
func parse(text []byte) (found []*x509.Certificate) {
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if certificate, err := x509.ParseCertificate(block.Bytes); err == nil && block.Type == "CERTIFICATE" {
			found = append(found, certificate)
		}
	}
	return found
}
