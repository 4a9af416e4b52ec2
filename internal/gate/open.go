package gate

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// keepAlive is how long an opened connection may wait for its next request. The
// handshake is ours, and a package manager or git makes many requests.
const keepAlive = 90 * time.Second

// opened is a tunnel whose TLS ends at the gate.
type opened struct {
	target target
	rule   string
	frames *frames
}

// openTunnel serves a CONNECT to a host that credentials are bound to. The
// upstream is dialled when a request comes, which can then be told if that fails.
func (x *exchange) openTunnel(t target) {
	early, err := x.agree()
	if err != nil {
		x.client.Close()
		x.event.failed("answering CONNECT: " + err.Error())
		return
	}
	x.acceptTLS(t, early)
	if x.next == nil {
		x.client.Close()
	}
}

// acceptTLS looks at the ClientHello as for any tunnel, and then is the server.
func (x *exchange) acceptTLS(t target, early []byte) {
	conn := x.client.Conn
	start, err := readOpening(io.MultiReader(bytes.NewReader(early), conn), x.proxy.limits.HelloBytes)
	reason := start.objection(t)
	if err != nil {
		reason = "no TLS ClientHello: " + err.Error()
	}
	if reason != "" {
		x.refuseTunnel(t, start, Decision{Reason: reason, Fix: "speak TLS: a credential is bound to this host"})
		return
	}
	secure := tls.Server(&replayedConn{Conn: conn, again: start.bytes}, x.proxy.credentials.authority.config)
	if err := secure.Handshake(); err != nil {
		x.event.failed("TLS with the client: " + oneLine(err))
		if refusesUs(err) {
			x.event.Code = CodeAuthorityNotTrusted
		}
		linger(conn)
		return
	}
	x.event.failed("opened: a credential is bound to the host")
	x.handOpened(t, secure)
}

// refusesUs tells whether the client broke the handshake off, by which it says
// that it does not trust who it speaks with. OpenSSL may say so unencrypted,
// which is then taken for a broken record; some say nothing and just leave.
func refusesUs(err error) bool {
	var alert *net.OpError
	return errors.As(err, &alert) && (alert.Op == "remote error" || strings.HasSuffix(alert.Error(), "bad record MAC"))
}

// handOpened prepares the connection to go to the server for opened ones.
func (x *exchange) handOpened(t target, secure *tls.Conn) {
	old := x.client
	old.SetDeadline(time.Time{})
	p := x.proxy
	x.next = &clientConn{
		Conn:   secure,
		opened: &opened{target: t, rule: x.event.Rule, frames: &frames{most: p.limits.MaxHeaderBytes}},
		unserved: func() {
			e := Event{Time: time.Now(), Run: p.run, Reason: "no valid request in time"}
			e.aimed(t)
			p.log(e)
		},
		release: old.release,
	}
}

// newOpenedServer serves connections whose TLS has ended. Unlike the proxy's own
// it keeps them for further requests.
func (p *Proxy) newOpenedServer() *http.Server {
	return &http.Server{
		Handler:           http.HandlerFunc(p.handle),
		ReadHeaderTimeout: p.limits.HeaderTimeout,
		IdleTimeout:       min(keepAlive, p.limits.IdleTimeout),
		WriteTimeout:      p.limits.IdleTimeout, // for what is short; clientWriter puts it off
		MaxHeaderBytes:    p.limits.MaxHeaderBytes,
		ErrorLog:          p.server.ErrorLog,
		ConnContext:       withClient,

		DisableGeneralOptionsHandler: true,
	}
}

// replayedConn is a connection whose first bytes are read a second time.
type replayedConn struct {
	net.Conn
	again []byte
}

func (c *replayedConn) Read(p []byte) (int, error) {
	if len(c.again) > 0 {
		n := copy(p, c.again)
		c.again = c.again[n:]
		return n, nil
	}
	return c.Conn.Read(p)
}
