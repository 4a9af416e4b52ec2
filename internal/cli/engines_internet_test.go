//go:build linux

package cli_test

import (
	"bufio"
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// internet is a network of a test's own, in which every name leads to one server,
// which speaks TLS with a certificate for whatever it is called. Who is started in it
// finds the names as this machine does, and reaches them by a public address.
type internet struct {
	t     *testing.T
	calls chan func() // are made on a thread that is in it
	key   *ecdsa.PrivateKey
	ca    *x509.Certificate

	mu   sync.Mutex
	seen []string // host and path of every request
}

// publicAddress is somebody's, and so not refused as one of the host's own.
var publicAddress = [4]byte{44, 0, 0, 1}

// newInternet makes one, served by a handler.
func newInternet(t *testing.T, handler http.Handler) *internet {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("a network of its own needs root")
	}
	n := &internet{t: t, calls: make(chan func())}
	n.makeAuthority()
	ready := make(chan error)
	go n.thread(ready)
	must(t, <-ready)
	t.Cleanup(func() { close(n.calls) })
	n.serveNames()
	n.serveWeb(handler)
	return n
}

// thread keeps one in a network namespace; it ends with it.
func (n *internet) thread(ready chan<- error) {
	runtime.LockOSThread() // and never unlocks it
	ready <- syscall.Unshare(syscall.CLONE_NEWNET)
	for call := range n.calls {
		call()
	}
}

// within does something in the network, as far as it is done on one thread: sockets
// stay in it, and so do processes.
func (n *internet) within(do func() error) {
	n.t.Helper()
	done := make(chan error)
	n.calls <- func() { done <- do() }
	must(n.t, <-done)
}

// serveNames answers where this machine asks for names. Addresses lead to here by
// routes: those of an interface would be the host's own.
func (n *internet) serveNames() {
	n.t.Helper()
	server := nameserver(n.t)
	for _, args := range []string{"link set lo up", "route add local 44.0.0.0/24 dev lo", "route add local " + server + " dev lo"} {
		n.within(func() error {
			out, err := exec.Command("ip", strings.Fields(args)...).CombinedOutput()
			if err != nil && !bytes.Contains(out, []byte("File exists")) {
				return fmt.Errorf("ip %s: %w\n%s", args, err, out)
			}
			return nil
		})
	}
	n.within(func() error {
		conn, err := net.ListenPacket("udp", net.JoinHostPort(server, "53"))
		if err == nil {
			n.t.Cleanup(func() { conn.Close() })
			go answerNames(conn)
		}
		return err
	})
}

// nameserver is the first that this machine asks.
func nameserver(t *testing.T) string {
	t.Helper()
	file, err := os.Open("/etc/resolv.conf")
	must(t, err)
	defer file.Close()
	for s := bufio.NewScanner(file); s.Scan(); {
		if fields := strings.Fields(s.Text()); len(fields) == 2 && fields[0] == "nameserver" && net.ParseIP(fields[1]).To4() != nil {
			return fields[1]
		}
	}
	return "127.0.0.1"
}

func answerNames(conn net.PacketConn) {
	packet := make([]byte, 1500)
	for {
		n, from, err := conn.ReadFrom(packet)
		if err != nil {
			return
		}
		var m dnsmessage.Message
		if m.Unpack(packet[:n]) != nil || len(m.Questions) != 1 {
			continue
		}
		m.Header.Response, m.Additionals = true, nil
		if q := m.Questions[0]; q.Type == dnsmessage.TypeA {
			m.Answers = []dnsmessage.Resource{{
				Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class, TTL: 60},
				Body:   &dnsmessage.AResource{A: publicAddress},
			}}
		}
		if reply, err := m.Pack(); err == nil {
			_, _ = conn.WriteTo(reply, from)
		}
	}
}

// serveWeb serves TLS and plain HTTP, and notes what it is asked.
func (n *internet) serveWeb(handler http.Handler) {
	n.t.Helper()
	server := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			n.mu.Lock()
			n.seen = append(n.seen, r.Host+r.URL.Path)
			n.mu.Unlock()
			handler.ServeHTTP(w, r)
		}),
		TLSConfig: &tls.Config{GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) { return n.certificate(hello.ServerName) }},
	}
	n.t.Cleanup(func() { server.Close() })
	n.within(func() error {
		encrypted, err := net.Listen("tcp", "0.0.0.0:443")
		if err != nil {
			return err
		}
		plain, err := net.Listen("tcp", "0.0.0.0:80")
		if err != nil {
			return err
		}
		go func() { _ = server.ServeTLS(encrypted, "", "") }()
		go func() { _ = server.Serve(plain) }()
		return nil
	})
}

// hosts are those that were asked for anything.
func (n *internet) hosts() (all []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, place := range n.seen {
		host, _, _ := strings.Cut(place, "/")
		all = append(all, host)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func (n *internet) makeAuthority() {
	n.t.Helper()
	var err error
	n.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(n.t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, n.key.Public(), n.key)
	must(n.t, err)
	n.ca, err = x509.ParseCertificate(der)
	must(n.t, err)
}

// authority is what clients must trust.
func (n *internet) authority() string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: n.ca.Raw}))
}

func (n *internet) certificate(name string) (*tls.Certificate, error) {
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name}, NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, n.ca, n.key.Public(), n.key)
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: n.key}, err
}
