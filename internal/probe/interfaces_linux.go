package probe

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

func interfaceProbes() []Probe {
	return []Probe{
		{"raw-sockets", "opens raw sockets, which forge packets", Network, ways(rawSockets)},
		{"packet-sockets", "opens packet sockets, which hear everything on the wire", Network, ways(packetSockets)},
		{"vsock", "opens a socket to the hypervisor, which no network namespace holds", Network, ways(vsock)},
		{"exotic-sockets", "opens sockets of seldom used and often broken families", Network, ways(exoticSockets)},
		{"netlink-change", "adds addresses, routes and interfaces", Network, ways(netlinkChange)},
		{"netlink-listen", "listens to audit, device and firewall messages of the kernel", Network, ways(netlinkListen)},
		{"interfaces", "looks for network interfaces beyond the loopback, and for routes", Network, interfaces},
		{"tunnel", "makes a network interface through /dev/net/tun", Network, ways(tunnel)},
	}
}

// canSocket works when a socket of that kind can be had.
func canSocket(family, kind, protocol int) func() error {
	return func() error {
		fd, err := unix.Socket(family, kind|unix.SOCK_CLOEXEC, protocol)
		if err != nil {
			return starved(err)
		}
		return unix.Close(fd)
	}
}

func rawSockets(Facts) []way {
	return []way{
		{"raw ICMP", canSocket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP)},
		{"raw IP", canSocket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_RAW)},
		{"raw TCP", canSocket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_TCP)},
		{"raw ICMPv6", canSocket(unix.AF_INET6, unix.SOCK_RAW, unix.IPPROTO_ICMPV6)},
		{"raw IPv6", canSocket(unix.AF_INET6, unix.SOCK_RAW, unix.IPPROTO_RAW)},
	}
}

func packetSockets(Facts) []way {
	everything := int(htons(unix.ETH_P_ALL))
	return []way{
		{"packets with link headers", canSocket(unix.AF_PACKET, unix.SOCK_RAW, everything)},
		{"packets without link headers", canSocket(unix.AF_PACKET, unix.SOCK_DGRAM, everything)},
		{"express data path", canSocket(unix.AF_XDP, unix.SOCK_RAW, 0)},
	}
}

func htons(v uint16) uint16 { return binary.NativeEndian.Uint16(binary.BigEndian.AppendUint16(nil, v)) }

// vsock does not connect: the other end is the hypervisor, and to have the
// socket is enough.
func vsock(Facts) []way {
	return []way{
		{"stream", canSocket(unix.AF_VSOCK, unix.SOCK_STREAM, 0)},
		{"datagram", canSocket(unix.AF_VSOCK, unix.SOCK_DGRAM, 0)},
		{"open /dev/vsock", func() error { return canRead("/dev/vsock") }},
	}
}

func exoticSockets(Facts) []way {
	return []way{
		{"kernel crypto", canSocket(unix.AF_ALG, unix.SOCK_SEQPACKET, 0)},
		{"bluetooth", canSocket(unix.AF_BLUETOOTH, unix.SOCK_RAW, 1)},
		{"CAN bus", canSocket(unix.AF_CAN, unix.SOCK_RAW, 1)},
		{"TIPC", canSocket(unix.AF_TIPC, unix.SOCK_STREAM, 0)},
		{"RDS", canSocket(unix.AF_RDS, unix.SOCK_SEQPACKET, 0)},
		{"KCM", canSocket(unix.AF_KCM, unix.SOCK_SEQPACKET, 0)},
		{"PPP", canSocket(unix.AF_PPPOX, unix.SOCK_STREAM, 0)},
		{"SMC", canSocket(unix.AF_SMC, unix.SOCK_STREAM, 0)},
		{"IPsec keys", canSocket(unix.AF_KEY, unix.SOCK_RAW, 2)},
		{"SCTP", canSocket(unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_SCTP)},
		{"DCCP", canSocket(unix.AF_INET, 6, 33)},
	}
}

// netlinkChange sends requests without the data they need: only whoever may
// change the network is told what is missing.
func netlinkChange(Facts) []way {
	var list []way
	requests := []struct {
		what string
		kind uint16
	}{{"add an address", unix.RTM_NEWADDR}, {"add a route", unix.RTM_NEWROUTE}, {"add a neighbour", unix.RTM_NEWNEIGH}}
	for _, r := range requests {
		list = append(list, way{r.what, func() error { return allowed(netlinkRequest(r.kind)) }})
	}
	return list
}

func netlinkRequest(kind uint16) error {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	if err != nil {
		return starved(err)
	}
	defer unix.Close(fd)
	// 12 bytes of zeros are a route message of no family; the kernel wants at
	// least the header of one before it looks at the caller.
	message := make([]byte, unix.SizeofNlMsghdr+12)
	header := (*unix.NlMsghdr)(unsafe.Pointer(&message[0]))
	*header = unix.NlMsghdr{Len: uint32(len(message)), Type: kind, Flags: unix.NLM_F_REQUEST | unix.NLM_F_ACK | unix.NLM_F_CREATE}
	message[unix.SizeofNlMsghdr] = unix.AF_INET
	if err := unix.Sendto(fd, message, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return err
	}
	return netlinkAnswer(fd)
}

func netlinkAnswer(fd int) error {
	if !ready(fd, unix.POLLIN) {
		return notTried(errTimeout)
	}
	answer := make([]byte, 4096)
	n, _, err := unix.Recvfrom(fd, answer, 0)
	if err != nil {
		return notTried(err)
	}
	if n < unix.SizeofNlMsghdr+4 {
		return notTried(fmt.Errorf("a netlink answer of %d bytes", n))
	}
	code := int32(binary.NativeEndian.Uint32(answer[unix.SizeofNlMsghdr:]))
	return errno(unix.Errno(-code))
}

func netlinkListen(Facts) []way {
	listen := func(protocol int, groups uint32) func() error {
		return func() error {
			fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, protocol)
			if err != nil {
				return starved(err)
			}
			defer unix.Close(fd)
			return unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Groups: groups})
		}
	}
	return []way{
		{"audit", listen(unix.NETLINK_AUDIT, 1)},
		{"firewall", listen(unix.NETLINK_NETFILTER, 1)},
		{"IPsec", listen(unix.NETLINK_XFRM, 1)},
		{"selinux", listen(unix.NETLINK_SELINUX, 1)},
	}
}

// interfaces allows those that are down: an empty network namespace has some.
func interfaces(f Facts) Result {
	list, err := net.Interfaces()
	if err != nil {
		return failed("listing interfaces: %v", err)
	}
	var names []string
	for _, i := range list {
		names = append(names, i.Name)
		if i.Flags&net.FlagUp != 0 && i.Flags&net.FlagLoopback == 0 {
			return breach("interface %s is up", i.Name)
		}
	}
	routes, _ := os.ReadFile("/proc/net/route") // without the file there are no routes to read
	for line := range strings.Lines(string(routes)) {
		if fields := strings.Fields(line); len(fields) > 2 && fields[0] != "Iface" && fields[0] != "lo" {
			return breach("there is a route through %s", fields[0])
		}
	}
	if f.listenerListed() {
		return breach("/proc/net/tcp lists the host's listener")
	}
	return blocked("interfaces: %s; no routes", strings.Join(names, ", "))
}

// listenerListed looks for the host's loopback listener in the kernel's table
// of sockets, where state 0A is listening.
func (f Facts) listenerListed() bool {
	to, err := netip.ParseAddrPort(f.HostTCP)
	if err != nil {
		return false
	}
	table, _ := os.ReadFile("/proc/net/tcp") // without the file there is no table
	for line := range strings.Lines(string(table)) {
		fields := strings.Fields(line)
		if len(fields) > 3 && fields[1] == fmt.Sprintf("0100007F:%04X", to.Port()) && fields[3] == "0A" {
			return true
		}
	}
	return false
}

func tunnel(Facts) []way {
	attach := func(flags uint16) func(string) error {
		return func(path string) error {
			fd, err := open(path, unix.O_RDWR)
			if err != nil {
				return err
			}
			defer unix.Close(fd) // the interface goes with it
			request, err := unix.NewIfreq("probe%d")
			if err != nil {
				return notTried(err)
			}
			request.SetUint16(flags | unix.IFF_NO_PI)
			return unix.IoctlIfreq(fd, unix.TUNSETIFF, request)
		}
	}
	list := eachPath("make a tunnel by", attach(unix.IFF_TUN), "/dev/net/tun")
	list = append(list, eachPath("make a tap by", attach(unix.IFF_TAP), "/dev/net/tun")...)
	return append(list, eachPath("open", canRead, "/dev/ppp", "/dev/vhost-net")...)
}
