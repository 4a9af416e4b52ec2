package gate

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"time"
)

// maxDials is how many addresses of one name are tried.
const maxDials = 8

// Resolver looks up the addresses of a name. *net.Resolver is one.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// DialFunc opens a connection to an address that was vetted.
type DialFunc func(ctx context.Context, addr netip.AddrPort) (net.Conn, error)

// dialer opens connections that the policy allows, and no others. It asks the
// policy itself, so no caller can forget to.
type dialer struct {
	policy   *Policy
	resolver Resolver
	dial     DialFunc
	limits   Limits
	own      ownAddrs
	isSelf   func(netip.AddrPort) bool // of an address of the host: whether the gate listens there
}

// deniedError is a refusal by policy, as opposed to a failure.
type deniedError struct{ decision Decision }

func (e *deniedError) Error() string { return "denied: " + e.decision.Reason }

// The sandbox is told these alone: what a resolver or the kernel says would
// describe the host's network. The event has it in full.
var (
	errLookup  = errors.New("the name could not be resolved")
	errConnect = errors.New("the connection could not be opened")
)

func dialNet(ctx context.Context, addr netip.AddrPort) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "tcp", addr.String())
}

// open decides, resolves, vets and dials.
func (d *dialer) open(ctx context.Context, t target) (net.Conn, netip.AddrPort, error) {
	decision := d.policy.decide(t)
	if !decision.Allowed {
		return nil, netip.AddrPort{}, &deniedError{decision}
	}
	addrs, err := d.resolve(ctx, t.host)
	if err != nil {
		return nil, netip.AddrPort{}, err
	}
	if err := d.vetAll(t, addrs, decision); err != nil {
		return nil, netip.AddrPort{}, err
	}
	return d.dialAny(ctx, t, addrs)
}

// resolve returns the addresses of h. A name with a dot is asked as it stands,
// not below the search domains of the host.
func (d *dialer) resolve(ctx context.Context, h host) ([]netip.Addr, error) {
	if h.addr.IsValid() {
		return []netip.Addr{h.addr}, nil
	}
	if h.isLocalhost() {
		return []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, d.limits.ResolveTimeout)
	defer cancel()
	addrs, err := d.resolver.LookupNetIP(ctx, "ip", rooted(h.name))
	if err == nil && len(addrs) == 0 {
		err = errors.New("no addresses")
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errLookup, errors.Join(err, ctx.Err()))
	}
	unmapped := make([]netip.Addr, len(addrs)) // resolvers may give IPv4 as IPv6
	for i, addr := range addrs {
		unmapped[i] = addr.Unmap()
	}
	return unmapped, nil
}

// vetAll refuses the whole answer for one bad address in it: a name that leads
// inside and outside at once is an attack or a mistake.
func (d *dialer) vetAll(t target, addrs []netip.Addr, allowed Decision) error {
	for _, addr := range addrs {
		if decision := d.policy.vet(t, addr, allowed); !decision.Allowed {
			return &deniedError{decision}
		}
		if err := d.vetOwn(netip.AddrPortFrom(addr, uint16(t.port))); err != nil {
			return err
		}
	}
	return nil
}

// dialAny tries the addresses in the order of the answer and shares the time
// that is left among those that are left.
func (d *dialer) dialAny(ctx context.Context, t target, addrs []netip.Addr) (net.Conn, netip.AddrPort, error) {
	addrs = addrs[:min(len(addrs), maxDials)]
	deadline := time.Now().Add(d.limits.DialTimeout)
	var failures []error
	for i, addr := range addrs {
		share := time.Until(deadline) / time.Duration(len(addrs)-i)
		to := netip.AddrPortFrom(addr, uint16(t.port))
		conn, err := d.dialOne(ctx, to, share)
		if err == nil {
			return conn, to, nil
		}
		failures = append(failures, err)
	}
	return nil, netip.AddrPort{}, fmt.Errorf("%w: %w", errConnect, errors.Join(failures...))
}

func (d *dialer) dialOne(ctx context.Context, to netip.AddrPort, most time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	return d.dial(ctx, to)
}

// rooted makes a name absolute. A single label is left alone: it is a name of
// the host's own network, where the search domains are meant.
func rooted(name string) string {
	if strings.Contains(name, ".") {
		return name + "."
	}
	return name
}
