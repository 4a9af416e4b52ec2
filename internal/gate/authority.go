package gate

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"
)

// An authority lives for one run. It begins a little early for clocks that lag.
const (
	authorityBegins = -time.Hour
	authorityLasts  = 30 * 24 * time.Hour
)

// maxLeaves bounds the certificates that are kept. A wildcard lets a client ask
// for any number of names.
const maxLeaves = 256

// authority signs the certificates under which the gate opens TLS. It can vouch
// for the names of the bindings alone: its own certificate says so, and it signs
// nothing else. The keys never leave memory.
type authority struct {
	bindings []*binding
	cert     *x509.Certificate
	pem      []byte
	key      *ecdsa.PrivateKey
	leafKey  *ecdsa.PrivateKey // of all certificates: they are all ours
	config   *tls.Config

	mu     sync.Mutex
	leaves map[string]*tls.Certificate
}

func newAuthority(bindings []*binding, now time.Time) (*authority, error) {
	a := &authority{bindings: bindings, leaves: map[string]*tls.Certificate{}}
	var err error
	if a.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return nil, err
	}
	if a.leafKey, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return nil, err
	}
	template := authorityTemplate(bindings, now)
	der, err := x509.CreateCertificate(rand.Reader, template, template, a.key.Public(), a.key)
	if err != nil {
		return nil, err
	}
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		return nil, err
	}
	a.pem = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	a.config = &tls.Config{
		MinVersion:     tls.VersionTLS12,
		NextProtos:     []string{"http/1.1"},
		GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) { return a.leaf(hello.ServerName) },
	}
	return a, nil
}

// authorityTemplate constrains the authority to the names of the bindings: a
// program that trusts it trusts it for nothing else.
func authorityTemplate(bindings []*binding, now time.Time) *x509.Certificate {
	var names []string
	for _, b := range bindings {
		for _, r := range b.rules {
			names = append(names, r.name)
		}
	}
	slices.Sort(names)
	return &x509.Certificate{
		Subject:               pkix.Name{Organization: []string{"ralph"}, CommonName: "ralph: authority of one run"},
		NotBefore:             now.Add(authorityBegins),
		NotAfter:              now.Add(authorityLasts),
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
		BasicConstraintsValid: true,
		IsCA:                  true,
		MaxPathLenZero:        true,

		PermittedDNSDomainsCritical: true,
		PermittedDNSDomains:         slices.Compact(names),
		ExcludedIPRanges: []*net.IPNet{
			{IP: net.IPv4zero.To4(), Mask: net.CIDRMask(0, 32)},
			{IP: net.IPv6zero, Mask: net.CIDRMask(0, 128)},
		},
	}
}

// leaf returns the certificate for a server name, which must be one of the
// bindings'.
func (a *authority) leaf(serverName string) (*tls.Certificate, error) {
	h, err := parseHost(serverName)
	if err != nil || !a.vouchesFor(h) {
		return nil, fmt.Errorf("no certificate for %q", clip(serverName, 255))
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if known, ok := a.leaves[h.name]; ok {
		return known, nil
	}
	made, err := a.sign(h.name)
	if err != nil {
		return nil, err
	}
	if len(a.leaves) >= maxLeaves {
		clear(a.leaves)
	}
	a.leaves[h.name] = made
	return made, nil
}

func (a *authority) vouchesFor(h host) bool {
	return slices.ContainsFunc(a.bindings, func(b *binding) bool {
		return slices.ContainsFunc(b.rules, func(r Rule) bool { return r.matchesHost(h) })
	})
}

func (a *authority) sign(name string) (*tls.Certificate, error) {
	template := &x509.Certificate{
		Subject:               pkix.Name{Organization: []string{"ralph"}},
		NotBefore:             a.cert.NotBefore,
		NotAfter:              a.cert.NotAfter,
		KeyUsage:              x509.KeyUsageDigitalSignature,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
		DNSNames:              []string{name},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, a.leafKey.Public(), a.key)
	if err != nil {
		return nil, fmt.Errorf("signing a certificate for %q: %w", name, err)
	}
	return &tls.Certificate{Certificate: [][]byte{der, a.cert.Raw}, PrivateKey: a.leafKey}, nil
}
