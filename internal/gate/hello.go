package gate

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"slices"
)

// opening is how a client began its side of a tunnel.
type opening struct {
	bytes      []byte // all that was read, to be sent on
	isTLS      bool
	looksHTTP  bool   // begins like a plain HTTP request
	serverName string // of the ClientHello; empty if it has none
	hidden     bool   // the ClientHello may hide another server name
}

// extensionECH is the extension of a ClientHello that carries a second, encrypted
// one, with the server name that counts.
const extensionECH = 0xfe0d

var (
	errHelloTooBig = errors.New("the ClientHello is too big")
	errHelloRead   = errors.New("the ClientHello was read") // ends the handshake
)

// readOpening reads at least the first bytes of a tunnel and, when they are TLS,
// the whole ClientHello, but never more than most bytes. The opening is valid
// up to the point of an error. Time limits are the caller's.
func readOpening(r io.Reader, most int) (opening, error) {
	rec := &helloRecorder{r: r, left: most}
	first := make([]byte, 2<<10)
	n, err := io.ReadAtLeast(rec, first, 1)
	if err != nil {
		return opening{}, err
	}
	const recordTypeHandshake = 0x16
	if first[0] != recordTypeHandshake {
		return opening{bytes: rec.read, looksHTTP: first[0] >= 'A' && first[0] <= 'Z'}, nil
	}
	rec.again = first[:n]
	hello, err := readHello(rec)
	if err != nil {
		return opening{bytes: rec.read, isTLS: true}, err
	}
	return opening{
		bytes:      rec.read,
		isTLS:      true,
		serverName: hello.ServerName,
		hidden:     slices.Contains(hello.Extensions, extensionECH),
	}, nil
}

// readHello lets crypto/tls parse the ClientHello: it begins a handshake as a
// server and gives up once it knows what the client wants.
func readHello(rec *helloRecorder) (*tls.ClientHelloInfo, error) {
	var hello *tls.ClientHelloInfo
	err := tls.Server(rec, &tls.Config{
		GetConfigForClient: func(info *tls.ClientHelloInfo) (*tls.Config, error) {
			hello = info
			return nil, errHelloRead
		},
	}).Handshake()
	if hello == nil {
		return nil, err
	}
	return hello, nil
}

// helloRecorder is the connection that crypto/tls sees: it keeps what is read
// and swallows what is written.
type helloRecorder struct {
	net.Conn // nil: nothing else is called during the handshake
	r        io.Reader
	left     int
	read     []byte
	again    []byte // recorded before, to be read once more
}

func (c *helloRecorder) Read(p []byte) (int, error) {
	if len(c.again) > 0 {
		n := copy(p, c.again)
		c.again = c.again[n:]
		return n, nil
	}
	if c.left == 0 {
		return 0, errHelloTooBig
	}
	n, err := c.r.Read(p[:min(len(p), c.left)])
	c.left -= n
	c.read = append(c.read, p[:n]...)
	return n, err
}

func (c *helloRecorder) Write(p []byte) (int, error) { return len(p), nil }

// alertUnrecognizedName is the TLS record that tells a client that its server
// name is not served here: level fatal, description 112.
const alertUnrecognizedName = "\x15\x03\x01\x00\x02\x02\x70"
