package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"time"
)

// servers are what is reached: on loopback, so that the network costs nothing
// and the way through a proxy is all there is to see.
type servers struct {
	plain *httptest.Server
	tls   *httptest.Server
	echo  net.Listener // sends back what it gets
	flood net.Listener // sends without an end
}

func startServers() (*servers, error) {
	hello := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello\n") })
	s := &servers{plain: httptest.NewUnstartedServer(hello), tls: httptest.NewUnstartedServer(hello)}
	for _, server := range []*httptest.Server{s.plain, s.tls} {
		server.Config.ErrorLog = log.New(io.Discard, "", 0) // clients hang up
	}
	certificate, err := newCertificate()
	if err != nil {
		return nil, err
	}
	s.tls.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
	s.plain.Start()
	s.tls.StartTLS()
	if s.echo, err = serve(func(conn net.Conn) { _, _ = io.Copy(conn, conn) }); err != nil {
		return nil, fmt.Errorf("starting the echo server: %w", err)
	}
	piece := make([]byte, 256<<10)
	s.flood, err = serve(func(conn net.Conn) {
		for _, err := conn.Write(piece); err == nil; _, err = conn.Write(piece) {
		}
	})
	if err != nil {
		return nil, fmt.Errorf("starting the flood server: %w", err)
	}
	return s, nil
}

// newCertificate is of the kind that most servers have today. The handshake with
// an older one costs the server so much that it would be all there is to see.
func newCertificate() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("making a key: %w", err)
	}
	about := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(24 * time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, about, about, key.Public(), key)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("making a certificate: %w", err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}

func serve(each func(net.Conn)) (net.Listener, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	go func() {
		for conn, err := l.Accept(); err == nil; conn, err = l.Accept() {
			go func() {
				defer conn.Close()
				each(conn)
			}()
		}
	}()
	return l, nil
}

// addresses are the servers' own, in a fixed order.
func (s *servers) addresses() []string {
	return []string{s.plainAddr(), s.tlsAddr(), s.echo.Addr().String(), s.flood.Addr().String()}
}

func (s *servers) plainAddr() string { return s.plain.Listener.Addr().String() }
func (s *servers) tlsAddr() string   { return s.tls.Listener.Addr().String() }

func (s *servers) close() {
	s.echo.Close()
	s.flood.Close()
	s.plain.Close()
	s.tls.Close()
}

// trusting does not check certificates: it is time that is measured.
var trusting = &tls.Config{InsecureSkipVerify: true}
