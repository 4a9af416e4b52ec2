package probe

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

func networkProbes() []Probe {
	return []Probe{
		{"host-loopback", "connects to a service on the host's loopback by every loopback address", Network, ways(hostLoopback)},
		{"host-address", "connects to a service on the host's own network address", Network, ways(hostAddress)},
		{"host-gateways", "connects to the addresses by which containers and virtual machines reach their host", Network, ways(hostGateways)},
		{"tcp-by-address", "connects to public addresses, without any name", Network, ways(tcpByAddress)},
		{"tcp-ipv6", "connects to public IPv6 addresses, plain and with an IPv4 address inside", Network, ways(tcpIPv6)},
		{"udp-by-address", "sends datagrams to public addresses over IPv4 and IPv6", Network, ways(udpByAddress)},
		{"udp-broadcast", "sends broadcasts and multicasts to the local network", Network, ways(udpBroadcast)},
		{"dns", "sends name queries, the classic way to leak, to public and configured servers", Network, ways(dns)},
		{"metadata-service", "connects to the metadata services of clouds, which hand out credentials", Network, ways(metadataService)},
		{"icmp-ping", "sends pings by the unprivileged kind of socket", Network, ways(icmpPing)},
		{"gate-to-host", "asks the gate for the host's loopback and the metadata service", Network, ways(gateToHost)},
	}
}

// leaves judges an attempt to reach an address outside. It was stopped only if
// the kernel refused at once for want of a route or of the right: a refusal by
// the other end, or silence, means that a packet went out.
func leaves(err error) error {
	stopped := []unix.Errno{
		unix.ENETUNREACH, unix.EPERM, unix.EACCES, unix.EAFNOSUPPORT, unix.EADDRNOTAVAIL,
		unix.EPROTONOSUPPORT, unix.ESOCKTNOSUPPORT, unix.ENETDOWN, unix.ENODEV, unix.ENOSYS,
	}
	for _, e := range stopped {
		if errors.Is(err, e) {
			return err
		}
	}
	if errors.Is(err, errNotTried) {
		return err
	}
	return nil
}

// sockaddr turns an address into what the system calls take.
func sockaddr(to netip.AddrPort) (family int, sa unix.Sockaddr) {
	if to.Addr().Is4() {
		return unix.AF_INET, &unix.SockaddrInet4{Port: int(to.Port()), Addr: to.Addr().As4()}
	}
	return unix.AF_INET6, &unix.SockaddrInet6{Port: int(to.Port()), Addr: to.Addr().As16()}
}

func tcp(to netip.AddrPort) error {
	family, sa := sockaddr(to)
	return connect(family, unix.SOCK_STREAM, 0, sa)
}

// eachAddress makes ways of addresses and leaves out what does not parse.
func eachAddress(verb string, try func(netip.AddrPort) error, addresses ...string) []way {
	var list []way
	for _, a := range addresses {
		if to, err := netip.ParseAddrPort(a); err == nil {
			list = append(list, way{verb + " " + a, func() error { return try(to) }})
		}
	}
	return list
}

func tcpOut(to netip.AddrPort) error { return leaves(tcp(to)) }

// hostLoopback works when the host's listener answers. A refused connection is
// the sandbox's own loopback; the host looks at its listener as well.
func hostLoopback(f Facts) []way {
	to, err := netip.ParseAddrPort(f.HostTCP)
	if err != nil {
		return nil
	}
	var addresses []string
	for _, ip := range []string{to.Addr().String(), "127.0.0.1", "0.0.0.0", "127.0.0.2", "::1", "::", "::ffff:127.0.0.1"} {
		addresses = append(addresses, net.JoinHostPort(ip, fmt.Sprint(to.Port())))
	}
	return eachAddress("connect to", f.greets, addresses...)
}

// greets works when the other end is the host's listener.
func (f Facts) greets(to netip.AddrPort) error {
	family, sa := sockaddr(to)
	fd, err := dial(family, unix.SOCK_STREAM, 0, sa)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if !ready(fd, unix.POLLIN) {
		return errTimeout
	}
	greeting := make([]byte, 4096)
	n, err := unix.Read(fd, greeting)
	if err != nil {
		return err
	}
	return f.secretIn(greeting[:max(n, 0)])
}

func hostAddress(f Facts) []way { return eachAddress("connect to", tcpOut, f.HostLAN) }

func hostGateways(f Facts) []way {
	ports := []string{"22", "2375"}
	if to, err := netip.ParseAddrPort(f.HostTCP); err == nil {
		ports = append(ports, fmt.Sprint(to.Port()))
	}
	var addresses []string
	for _, ip := range []string{"172.17.0.1", "10.0.2.2", "192.168.65.2", "192.168.127.254", "169.254.1.1", "10.88.0.1", "192.168.5.2"} {
		addresses = append(addresses, net.JoinHostPort(ip, ports[len(ports)-1]), net.JoinHostPort(ip, ports[0]))
	}
	return eachAddress("connect to", tcpOut, addresses...)
}

func tcpByAddress(Facts) []way {
	return eachAddress("connect to", tcpOut, "1.1.1.1:443", "8.8.8.8:53", "9.9.9.9:80", "192.0.2.1:443", "10.0.0.1:80", "192.168.0.1:80")
}

func tcpIPv6(Facts) []way {
	return eachAddress("connect to", tcpOut,
		"[2606:4700:4700::1111]:443", "[2001:4860:4860::8888]:53", "[::ffff:1.1.1.1]:443", "[64:ff9b::101:101]:443",
		"[fd00:ec2::254]:80", "[2001:db8::1]:443")
}

func udpOut(to netip.AddrPort) error { return leaves(sendUDP(to, []byte(Prefix))) }

func sendUDP(to netip.AddrPort, data []byte) error {
	family, sa := sockaddr(to)
	fd, err := unix.Socket(family, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return starved(err)
	}
	defer unix.Close(fd)
	// Without the option a broadcast is refused for want of it.
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_BROADCAST, 1); err != nil {
		return notTried(err)
	}
	return unix.Sendto(fd, data, 0, sa)
}

func udpByAddress(Facts) []way {
	return eachAddress("send to", udpOut, "1.1.1.1:443", "8.8.8.8:123", "192.0.2.1:9", "[2606:4700:4700::1111]:443", "[2001:4860:4860::8888]:123")
}

func udpBroadcast(Facts) []way {
	return eachAddress("send to", udpOut, "255.255.255.255:9", "224.0.0.251:5353", "239.255.255.250:1900", "[ff02::fb]:5353")
}

// dns also asks the servers of /etc/resolv.conf. One on the loopback may get
// the query, but must not answer.
func dns(Facts) []way {
	query := []byte("\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x07example\x03com\x00\x00\x01\x00\x01")
	ask := func(to netip.AddrPort) error {
		if !to.Addr().IsLoopback() {
			return leaves(sendUDP(to, query))
		}
		return answers(to, query)
	}
	servers := append([]string{"8.8.8.8:53", "1.1.1.1:53", "127.0.0.53:53", "127.0.0.11:53", "127.0.0.1:53"}, resolvers()...)
	return append(eachAddress("ask", ask, servers...), eachAddress("ask by TCP", tcpOut, "8.8.8.8:53", "1.1.1.1:853")...)
}

func answers(to netip.AddrPort, query []byte) error {
	family, sa := sockaddr(to)
	fd, err := dial(family, unix.SOCK_DGRAM, 0, sa)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if _, err := unix.Write(fd, query); err != nil {
		return err
	}
	if !ready(fd, unix.POLLIN) {
		return errTimeout
	}
	_, err = unix.Read(fd, make([]byte, 512))
	return err
}

func resolvers() []string {
	data, _ := os.ReadFile("/etc/resolv.conf") // without the file no server is configured
	var list []string
	for line := range strings.Lines(string(data)) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == "nameserver" {
			list = append(list, net.JoinHostPort(fields[1], "53"))
		}
	}
	return list
}

func metadataService(f Facts) []way {
	list := []string{"169.254.169.254:80", "169.254.170.2:80", "100.100.100.200:80", "168.63.129.16:80", "[fd00:ec2::254]:80"}
	if f.MetadataIP != "" {
		list = append(list, net.JoinHostPort(f.MetadataIP, "80"))
	}
	return eachAddress("connect to", tcpOut, list...)
}

func icmpPing(Facts) []way {
	send := func(to netip.AddrPort) error {
		protocol, echo := unix.IPPROTO_ICMP, byte(8)
		if to.Addr().Is6() {
			protocol, echo = unix.IPPROTO_ICMPV6, 128
		}
		family, sa := sockaddr(to)
		fd, err := unix.Socket(family, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, protocol)
		if err != nil {
			return leaves(starved(err))
		}
		defer unix.Close(fd)
		return leaves(unix.Sendto(fd, []byte{echo, 0, 0, 0, 0, 1, 0, 1}, 0, sa))
	}
	return eachAddress("ping", send, "8.8.8.8:0", "192.0.2.1:0", "[2001:4860:4860::8888]:0")
}

func gateToHost(f Facts) []way {
	gate, err := netip.ParseAddrPort(f.Gate)
	if err != nil || f.HostTCP == "" {
		return nil
	}
	requests := []string{
		"CONNECT " + f.HostTCP + " HTTP/1.1\r\nHost: " + f.HostTCP + "\r\n\r\n",
		"GET http://" + f.HostTCP + "/ HTTP/1.1\r\nHost: " + f.HostTCP + "\r\n\r\n",
		"CONNECT 169.254.169.254:80 HTTP/1.1\r\nHost: 169.254.169.254\r\n\r\n",
		"GET http://169.254.169.254/latest/meta-data/ HTTP/1.1\r\nHost: 169.254.169.254\r\n\r\n",
	}
	var list []way
	for _, r := range requests {
		what, _, _ := strings.Cut(r, " HTTP")
		list = append(list, way{what, func() error { return f.askGate(gate, r) }})
	}
	return list
}

// askGate works when the gate agrees, or the host's listener answers.
func (f Facts) askGate(gate netip.AddrPort, request string) error {
	family, sa := sockaddr(gate)
	fd, err := dial(family, unix.SOCK_STREAM, 0, sa)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if _, err := unix.Write(fd, []byte(request)); err != nil {
		return err
	}
	if !ready(fd, unix.POLLIN) {
		return errTimeout
	}
	answer := make([]byte, 4096)
	n, err := unix.Read(fd, answer)
	if err != nil {
		return err
	}
	answer = answer[:max(n, 0)]
	status, _, _ := bytes.Cut(answer, []byte("\r\n"))
	if bytes.Contains(status, []byte(" 200")) || f.secretIn(answer) == nil {
		return nil
	}
	return fmt.Errorf("the gate said %.60q", status)
}
