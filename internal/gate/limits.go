package gate

import (
	"cmp"
	"time"
)

// Limits bounds what clients and upstreams can make the proxy hold. A field
// that is zero takes the default.
type Limits struct {
	MaxConns       int           // client connections at once; more are answered 503
	MaxHeaderBytes int           // head of a request, and of an upstream's response
	HeaderTimeout  time.Duration // until the head of a request is complete
	ResolveTimeout time.Duration // one name lookup
	DialTimeout    time.Duration // one connection upstream, all addresses together
	HelloTimeout   time.Duration // until the first bytes of a tunnel are complete
	HelloBytes     int           // what those may be at most
	SourceTimeout  time.Duration // until the secret of a credential is there
	IdleTimeout    time.Duration // no byte passed in either direction
}

// withDefaults fills in what is zero.
func (l Limits) withDefaults() Limits {
	return Limits{
		MaxConns:       cmp.Or(l.MaxConns, 512),
		MaxHeaderBytes: cmp.Or(l.MaxHeaderBytes, 64<<10),
		HeaderTimeout:  cmp.Or(l.HeaderTimeout, 10*time.Second),
		ResolveTimeout: cmp.Or(l.ResolveTimeout, 10*time.Second),
		DialTimeout:    cmp.Or(l.DialTimeout, 20*time.Second),
		HelloTimeout:   cmp.Or(l.HelloTimeout, 10*time.Second),
		HelloBytes:     cmp.Or(l.HelloBytes, 32<<10),
		SourceTimeout:  cmp.Or(l.SourceTimeout, 20*time.Second),
		IdleTimeout:    cmp.Or(l.IdleTimeout, 10*time.Minute),
	}
}
