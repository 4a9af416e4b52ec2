package gate

import (
	"context"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/agent-loop/ralph/internal/secret"
)

// Config is what a Proxy is made of. Only Policy must be set, or Credentials,
// which bring the policy they were checked against; without one, everything is
// denied.
type Config struct {
	Run      string // names the run in events
	Policy   *Policy
	Origin   Origin      // answers requests to the gate itself; nil: only /health is
	Resolver Resolver    // net.DefaultResolver if nil
	Dial     DialFunc    // the host's network if nil
	Log      func(Event) // called once for each request, from many goroutines; must not block long
	Password string      // if set, clients must give it (Proxy-Authorization, any user)
	Limits   Limits

	Credentials *Credentials    // put into requests; their policy takes the place of Policy
	Phantoms    []secret.Secret // what stands for secrets in the sandbox: not to be sent to other hosts
	RootCAs     *x509.CertPool  // who vouches for the hosts of Credentials; the system's if nil
}

// Proxy is the forward proxy. It may serve several listeners.
type Proxy struct {
	run       string
	policy    *Policy
	origin    Origin
	password  string
	limits    Limits
	log       func(Event)
	dialer    *dialer
	transport *http.Transport
	buffers   *buffers
	server    *http.Server
	limiter   *limiter
	open      registry

	credentials     *Credentials
	phantoms        *secret.Guard
	openedTransport *http.Transport
	openedServer    *http.Server

	mu   sync.Mutex
	self []netip.AddrPort // where we listen
}

// New makes a Proxy that serves nothing yet.
func New(c Config) *Proxy {
	if c.Credentials != nil {
		c.Policy = c.Credentials.policy
	}
	limits := c.Limits.withDefaults()
	p := &Proxy{
		run:      c.Run,
		policy:   c.Policy,
		origin:   c.Origin,
		password: c.Password,
		limits:   limits,
		log:      c.Log,
		limiter:  newLimiter(limits.MaxConns),
	}
	p.dialer = &dialer{policy: c.Policy, resolver: c.Resolver, dial: c.Dial, limits: limits, isSelf: p.isSelf}
	if c.Resolver == nil {
		p.dialer.resolver = net.DefaultResolver
	}
	if c.Dial == nil {
		p.dialer.dial = dialNet
	}
	if c.Log == nil {
		p.log = func(Event) {}
	}
	p.transport = newTransport(p.dialer)
	p.buffers = &buffers{}
	p.server = &http.Server{
		Handler:           http.HandlerFunc(p.handle),
		ReadHeaderTimeout: limits.HeaderTimeout,
		WriteTimeout:      limits.IdleTimeout, // for what is short; clientWriter puts it off
		MaxHeaderBytes:    limits.MaxHeaderBytes,
		ErrorLog:          log.New(io.Discard, "", 0), // hostile noise; events tell
		ConnContext:       withClient,

		DisableGeneralOptionsHandler: true, // it would answer OPTIONS * itself
	}
	// One request a connection: no second request can hide in the first, and
	// to the gate, which is near, a new connection costs next to nothing.
	p.server.SetKeepAlivesEnabled(false)
	p.credentials = c.Credentials
	p.phantoms = secret.NewGuard(c.Phantoms...)
	p.openedTransport = newOpenedTransport(p.dialer, c.RootCAs)
	p.openedServer = p.newOpenedServer()
	return p
}

// Serve accepts connections until the listener is closed or Shutdown is called,
// and then returns nil. It closes l.
//
// Connections should be able to CloseWrite; those that cannot are closed when
// one direction ends. Their io.WriterTo and io.ReaderFrom are used, which must
// heed a read deadline as Read does.
func (p *Proxy) Serve(l net.Listener) error {
	if tcp, ok := l.Addr().(*net.TCPAddr); ok {
		p.mu.Lock()
		p.self = append(p.self, tcp.AddrPort())
		p.mu.Unlock()
	}
	err := p.server.Serve(&limitListener{
		Listener:  l,
		limiter:   p.limiter,
		headBytes: p.limits.MaxHeaderBytes,
		unserved:  p.logUnserved,
		closed:    make(chan struct{}),
	})
	if errors.Is(err, http.ErrServerClosed) || errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// Shutdown stops accepting and waits for the requests and tunnels that are open.
// When ctx ends first it closes them and returns the error of ctx. No event is
// logged after it has returned.
func (p *Proxy) Shutdown(ctx context.Context) error {
	p.open.refuseNew()
	err := p.server.Shutdown(ctx)
	if err == nil {
		err = p.openedServer.Shutdown(ctx)
	}
	if err == nil {
		err = p.open.wait(ctx)
	}
	if err != nil {
		p.server.Close()
		p.openedServer.Close()
		p.open.closeAll()
	}
	p.transport.CloseIdleConnections()
	p.openedTransport.CloseIdleConnections()
	return err
}

// isSelf tells whether addr, an address of the host, is one of our own listeners.
func (p *Proxy) isSelf(addr netip.AddrPort) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, own := range p.self {
		ip := own.Addr().Unmap()
		if own.Port() == addr.Port() && (ip == addr.Addr() || ip.IsUnspecified() || addr.Addr().IsLoopback()) {
			return true
		}
	}
	return false
}

type clientKey struct{}

func withClient(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, clientKey{}, conn)
}

// logUnserved notes a client whose bytes never became a request: net/http
// answered it, or the time was up.
func (p *Proxy) logUnserved() {
	p.log(Event{Time: time.Now(), Run: p.run, Reason: "no valid request in time"})
}

// handle serves one request and logs one event, unless the proxy is closing.
func (p *Proxy) handle(w http.ResponseWriter, r *http.Request) {
	client := r.Context().Value(clientKey{}).(*clientConn)
	client.handled.Store(true)
	x := &exchange{
		proxy:  p,
		client: client,
		w:      w,
		r:      r,
		event:  Event{Time: time.Now(), Run: p.run, Method: clip(r.Method, 32), Host: clip(r.Host, 255)},
	}
	if !p.open.add(client) {
		x.answer(http.StatusServiceUnavailable, "the gate is closing")
		return
	}
	defer x.end() // also when net/http is to break the connection off, by a panic
	x.serve()
}
