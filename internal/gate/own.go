package gate

import (
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"
)

// ownFresh is for how long a list of the host's addresses is good. Networks come
// and go while a run lasts; asking for each connection would cost more than the
// rest of the decision.
const ownFresh = 5 * time.Second

// ownAddrs knows the addresses of the host's interfaces. Whatever listens on all
// of them would be reached by these as well as by loopback, and some are public.
type ownAddrs struct {
	mu     sync.Mutex
	listed time.Time
	addrs  map[netip.Addr]bool
}

// has tells whether addr is the host itself, loopback included.
func (o *ownAddrs) has(addr netip.Addr) (bool, error) {
	if addr.IsLoopback() {
		return true, nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if time.Since(o.listed) > ownFresh {
		addrs, err := listOwn()
		if err != nil {
			return false, fmt.Errorf("listing the host's own addresses: %w", err)
		}
		o.addrs, o.listed = addrs, time.Now()
	}
	return o.addrs[addr], nil
}

func listOwn() (map[netip.Addr]bool, error) {
	list, err := net.InterfaceAddrs()
	if err != nil {
		return nil, err
	}
	addrs := map[netip.Addr]bool{}
	for _, a := range list {
		ip, ok := a.(*net.IPNet)
		if !ok {
			continue
		}
		if addr, ok := netip.AddrFromSlice(ip.IP); ok {
			addrs[addr.Unmap()] = true
		}
	}
	return addrs, nil
}

// namesAddr tells whether an allow rule names this very address and port. A
// range around the host does not mean the host.
func (p *Policy) namesAddr(at netip.AddrPort) bool {
	for _, rule := range p.allow {
		if rule.prefix.IsSingleIP() && rule.prefix.Contains(at.Addr()) && rule.allowsPort(int(at.Port())) {
			return true
		}
	}
	return false
}

// vetOwn refuses the gate itself, and what else the host serves unless a rule
// names it. Loopback has a class of its own, which the policy has looked at.
func (d *dialer) vetOwn(at netip.AddrPort) error {
	mine, err := d.own.has(at.Addr())
	switch {
	case err != nil:
		return err
	case !mine:
		return nil
	case d.isSelf(at):
		return &deniedError{Decision{Reason: "it is the gate itself"}}
	case at.Addr().IsLoopback() || d.policy.namesAddr(at):
		return nil
	}
	return &deniedError{Decision{
		Reason: fmt.Sprintf("%s is an address of the host itself", at.Addr()),
		Fix:    "add --allow " + at.String(),
	}}
}
