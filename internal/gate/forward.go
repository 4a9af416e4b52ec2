package gate

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/http/httputil"
	"net/textproto"
	"net/url"
	"strings"
	"time"
)

// newTransport speaks plain HTTP/1.1 to upstreams, over connections that the
// dialer has vetted.
func newTransport(d *dialer) *http.Transport {
	return &http.Transport{
		DialContext: func(ctx context.Context, _, addr string) (net.Conn, error) {
			t, err := parseTarget(addr, 0)
			if err != nil {
				return nil, err
			}
			conn, _, err := d.open(ctx, t)
			if err != nil {
				return nil, err
			}
			return &idleConn{Conn: conn, idle: d.limits.IdleTimeout}, nil
		},
		DisableCompression:     true, // bytes pass as they are
		MaxIdleConns:           64,
		MaxIdleConnsPerHost:    8,
		IdleConnTimeout:        30 * time.Second,
		ExpectContinueTimeout:  time.Second,
		MaxResponseHeaderBytes: int64(d.limits.MaxHeaderBytes),
	}
}

// forwardAbsolute serves a request with a whole URL, the plain HTTP of proxies.
func (x *exchange) forwardAbsolute() {
	u := x.r.URL
	t, err := parseTarget(u.Host, 80)
	if err != nil {
		x.malformed("host of the URL: " + err.Error())
		return
	}
	x.event.aimed(t)
	head, err := checkHead(x.client.head.data)
	switch {
	case err != nil:
		x.malformed(err.Error())
	case u.Scheme != "http":
		x.malformed("only http URLs are forwarded; https goes through CONNECT")
	case u.User != nil || strings.Contains(u.Host, "@"):
		x.malformed("a URL with a user name is not forwarded")
	case head.hasHost && !names(head.host, t, 80):
		x.malformed("the Host header differs from the URL")
	default:
		x.forward(t)
	}
}

// forwardInner serves a request that came through a tunnel to t: it may ask t
// alone, by path.
func (x *exchange) forwardInner(t target) {
	x.event.aimed(t)
	head, err := checkHead(x.client.head.data)
	switch {
	case err != nil:
		x.malformed(err.Error())
	case x.r.Method == http.MethodConnect || x.r.URL.Host != "" || !strings.HasPrefix(x.r.RequestURI, "/"):
		x.malformed("a request in a tunnel names a path")
	case !head.hasHost || !names(head.host, t, 80):
		x.malformed("the Host header differs from the tunnel's host")
	default:
		x.forward(t)
	}
}

// names tells whether the value of a Host header is t.
func names(header string, t target, defaultPort int) bool {
	named, err := parseTarget(header, defaultPort)
	return err == nil && named == t
}

// forward sends the request to t, if the policy allows, and its response back.
func (x *exchange) forward(t target) {
	d := x.proxy.policy.decide(t)
	x.event.decided(d)
	if !d.Allowed {
		x.deny(t, d)
		return
	}
	x.event.Path = clip(x.r.URL.Path, 512)
	if refused := x.plainRefusal(t); refused != nil {
		x.refuse(t, refused)
		return
	}
	x.pass(&httputil.ReverseProxy{
		Transport:      x.proxy.transport,
		Rewrite:        func(p *httputil.ProxyRequest) { aim(p, t) },
		ModifyResponse: unmask,
		ErrorHandler:   func(_ http.ResponseWriter, _ *http.Request, err error) { x.forwardFailed(t, err) },
	})
}

// plainRefusal says which plain requests to an allowed host do not pass.
func (x *exchange) plainRefusal(t target) *refusal {
	if x.proxy.credentials.names(t.host) {
		return &refusal{code: CodeCredentialInClear, reason: "a credential is bound to this host, and plain HTTP would show it", fix: "use https"}
	}
	if x.proxy.misuses(x.client.head.data) {
		return phantomMisused()
	}
	return nil
}

// pass runs a reverse proxy for one request, streaming both ways.
func (x *exchange) pass(reverse *httputil.ReverseProxy) {
	body := x.clientBody()
	defer func() {
		x.event.BytesUp = body.count.Load()
		if cut := recover(); cut != nil { // how ReverseProxy says that a side died
			x.event.failed(x.cutReason())
			panic(cut)
		}
	}()
	out := x.r.WithContext(httptrace.WithClientTrace(x.r.Context(), &httptrace.ClientTrace{
		GotConn:        func(info httptrace.GotConnInfo) { x.event.Addr = info.Conn.RemoteAddr().String() },
		Got1xxResponse: fewEarly(),
	}))
	if x.r.Body != http.NoBody {
		out.Body = body
	}
	reverse.ErrorLog = log.New(io.Discard, "", 0)
	reverse.FlushInterval = -1 // what came is passed on at once
	reverse.BufferPool = x.proxy.buffers
	var w http.ResponseWriter = &clientWriter{x: x, ResponseWriter: x.w}
	if x.client.opened != nil {
		w = &finalWriter{w}
	}
	reverse.ServeHTTP(w, out)
}

// cutReason says why a response ended too early.
func (x *exchange) cutReason() string {
	if x.event.Code == CodeCredentialEchoed {
		return errEchoed.Error()
	}
	return "the response was cut short"
}

// maxEarly is how many informational responses one request may get. ReverseProxy
// passes them on, and the transport then takes their number for our business.
const maxEarly = 16

// fewEarly is a trace that ends a request which got too many of them.
func fewEarly() func(int, textproto.MIMEHeader) error {
	count := 0 // the transport calls from one goroutine
	return func(int, textproto.MIMEHeader) error {
		if count++; count > maxEarly {
			return errors.New("too many informational responses")
		}
		return nil
	}
}

// unmask keeps an upstream from posing as the gate.
func unmask(resp *http.Response) error {
	resp.Header.Del(deniedHeader)
	return nil
}

func (x *exchange) forwardFailed(t target, err error) {
	if errors.Is(err, context.Canceled) {
		// Or it has closed its side too soon, and still reads.
		x.reject(http.StatusBadGateway, "the client went away")
		return
	}
	x.fail(t, err)
}

// aim points the outgoing request at t. ReverseProxy has taken away the headers
// of the hop before.
func aim(p *httputil.ProxyRequest, t target) {
	in := p.In.URL
	p.Out.URL = &url.URL{Scheme: "http", Host: t.String(), Path: in.Path, RawPath: in.RawPath, RawQuery: in.RawQuery, ForceQuery: in.ForceQuery}
	p.Out.Host = t.String()
	if t.port == 80 {
		p.Out.Host = strings.TrimSuffix(p.Out.Host, ":80")
	}
	p.Out.Header.Del("Upgrade") // see the package documentation
	p.Out.Header.Del("Connection")
	for name := range p.Out.Header {
		if strings.HasPrefix(name, "Proxy-") {
			p.Out.Header.Del(name)
		}
	}
}
