package gate

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// connect serves CONNECT: decide, dial, agree, look at the first bytes, relay.
func (x *exchange) connect() {
	t, err := parseTarget(x.r.RequestURI, 0)
	if err != nil {
		x.malformed("CONNECT wants host:port: " + err.Error())
		return
	}
	x.event.aimed(t)
	if _, err := checkHead(x.client.head.data); err != nil {
		x.malformed(err.Error())
		return
	}
	if x.r.ContentLength != 0 || len(x.r.TransferEncoding) > 0 {
		x.malformed("CONNECT has no body")
		return
	}
	d := x.proxy.policy.decide(t)
	x.event.decided(d)
	if !d.Allowed {
		x.deny(t, d)
		return
	}
	if x.proxy.credentials.opens(t) {
		x.openTunnel(t)
		return
	}
	x.dialAndTunnel(t, d)
}

// dialAndTunnel opens the upstream before it answers, so that the client is
// told when that fails.
func (x *exchange) dialAndTunnel(t target, d Decision) {
	upstream, addr, err := x.proxy.dialer.open(x.r.Context(), t)
	if err != nil {
		x.fail(t, err)
		return
	}
	x.event.Addr = addr.String()
	early, err := x.agree()
	if err != nil {
		upstream.Close()
		x.client.Close()
		x.event.failed("answering CONNECT: " + err.Error())
		return
	}
	// The tunnel may be idle for long: let go of what belongs to the request.
	x.w, x.r, x.client.head.data = nil, nil, nil
	x.tunnel = func() {
		defer upstream.Close()
		x.carry(upstream, t, d, early)
		if x.next == nil {
			x.client.Close()
		}
	}
}

// agree takes the connection over from net/http and answers the CONNECT. It
// returns what the client sent without waiting for the answer.
func (x *exchange) agree() (early []byte, err error) {
	conn, buffered, err := http.NewResponseController(x.w).Hijack()
	if err != nil {
		return nil, err
	}
	early, err = buffered.Reader.Peek(buffered.Reader.Buffered())
	if err != nil {
		return nil, err
	}
	x.event.Status = http.StatusOK
	if err := conn.SetDeadline(time.Now().Add(x.proxy.limits.HelloTimeout)); err != nil {
		return nil, err
	}
	_, err = io.WriteString(conn, "HTTP/1.1 200 Connection established\r\n\r\n")
	return bytes.Clone(early), err
}

// carry looks at the first bytes and relays, refuses, or hands the connection
// on.
func (x *exchange) carry(upstream net.Conn, t target, d Decision, early []byte) {
	if d.TCP {
		x.relay(upstream, early)
		return
	}
	start, err := readOpening(io.MultiReader(bytes.NewReader(early), x.client.Conn), x.proxy.limits.HelloBytes)
	if err != nil {
		x.refuseTunnel(t, start, notTLS(t, "no TLS ClientHello: "+err.Error()))
		return
	}
	if start.looksHTTP && t.port != 443 {
		x.handOn(t, start.bytes)
		return
	}
	if reason := start.objection(t); reason != "" {
		x.refuseTunnel(t, start, notTLS(t, reason))
		return
	}
	x.relay(upstream, start.bytes)
}

// objection says why a tunnel to t must not begin so; empty if it may.
func (o opening) objection(t target) string {
	switch {
	case !o.isTLS:
		return "the tunnel does not carry TLS"
	case o.hidden:
		return "the ClientHello hides its server name (ECH)"
	case t.host.addr.IsValid():
		if o.serverName != "" {
			return fmt.Sprintf("the TLS server name is %q for an address", clip(o.serverName, 255))
		}
		return ""
	case o.serverName == "":
		return "the ClientHello has no server name"
	}
	if named, err := parseHost(o.serverName); err != nil || named != t.host {
		return fmt.Sprintf("the TLS server name is %q", clip(o.serverName, 255))
	}
	return ""
}

// notTLS refuses bytes that only a tcp rule lets pass.
func notTLS(t target, reason string) Decision {
	return Decision{Reason: reason, Fix: "add --allow tcp://" + t.String() + " to allow any bytes"}
}

// refuseTunnel denies what came through a tunnel that was agreed on, in words
// that the client understands.
func (x *exchange) refuseTunnel(t target, start opening, d Decision) {
	d.Rule = x.event.Rule
	x.event.decided(d)
	x.event.failed(d.Reason)
	conn := x.client.Conn
	switch {
	case start.isTLS:
		_, _ = io.WriteString(conn, alertUnrecognizedName)
	case start.looksHTTP:
		text := "ralph: " + denial(t, d) + "\n"
		fmt.Fprintf(conn, "HTTP/1.1 %d %s\r\n%s: %s\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s",
			deniedStatus, http.StatusText(deniedStatus), deniedHeader, headerText(d.Reason), len(text), text)
	}
	linger(conn)
}

// linger waits a moment for the client to read what was written last: closing a
// connection with unread bytes resets it.
func linger(conn net.Conn) {
	const moment, enough = 500 * time.Millisecond, 256 << 10
	if closeWrite(conn) {
		conn.SetReadDeadline(time.Now().Add(moment))
		_, _ = io.CopyN(io.Discard, conn, enough)
	}
}

// handOn prepares the connection of a tunnel that carries plain HTTP to go back
// to net/http, marked with where it leads.
func (x *exchange) handOn(t target, read []byte) {
	x.event.failed("opened: the tunnel carries plain HTTP")
	old := x.client
	old.SetDeadline(time.Time{})
	x.next = &clientConn{
		Conn:     old.Conn,
		pending:  read,
		inner:    &t,
		head:     headRecorder{most: old.head.most},
		unserved: old.unserved,
		release:  old.release,
	}
}

// serveOne serves a connection that is not from a listener. It returns at once.
func (p *Proxy) serveOne(conn *clientConn) {
	server := p.server
	if conn.opened != nil {
		server = p.openedServer
	}
	l := &oneConn{conn: conn, addr: conn.LocalAddr()}
	// Serve always ends with an error: the listener has one connection.
	_ = server.Serve(l)
	if l.conn != nil { // closing: it was not accepted
		l.conn.Close()
	}
}

// relay sends what was read already and then copies until both sides are done.
func (x *exchange) relay(upstream net.Conn, read []byte) {
	x.client.Conn.SetDeadline(time.Time{})
	x.client.peer.Store(&upstream)
	tun := &tunnel{client: x.client.Conn, upstream: upstream, idle: x.proxy.limits.IdleTimeout}
	up, down, reason := tun.run(read)
	x.event.BytesUp, x.event.BytesDown = up, down
	if reason != "" {
		x.event.failed(x.event.Reason + "; " + reason)
	}
}
