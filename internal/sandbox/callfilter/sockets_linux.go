//go:build amd64 || arm64

package callfilter

import "golang.org/x/sys/unix"

const (
	// kindMask takes the kind of a socket from its type argument, which also holds
	// flags.
	kindMask = 0xf

	// The protocols over IP that programs use. Each other one would load a module
	// of its own into the kernel: SCTP, DCCP, L2TP and more.
	protocolAny    = 0
	protocolICMP   = unix.IPPROTO_ICMP // unprivileged ping; sockets are of kind datagram
	protocolICMPv6 = unix.IPPROTO_ICMPV6
)

// socketRules leave TCP, UDP and ping, the netlink sockets by which programs list
// interfaces, and unix sockets or at least pairs of them.
func socketRules(unixSockets bool) []rule {
	ip := is(0, unix.AF_INET, unix.AF_INET6)
	rules := []rule{
		{unix.SYS_SOCKET, refused(unix.EAFNOSUPPORT), []condition{isNot(0, unix.AF_UNIX, unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK)}},
		{unix.SYS_SOCKET, refused(unix.EPERM), []condition{ip, kindIsNot(unix.SOCK_STREAM, unix.SOCK_DGRAM)}},
		{unix.SYS_SOCKET, refused(unix.EPROTONOSUPPORT), []condition{ip, isNot(2, protocolAny, unix.IPPROTO_TCP, unix.IPPROTO_UDP, unix.IPPROTO_MPTCP, protocolICMP, protocolICMPv6)}},
		{unix.SYS_SOCKET, refused(unix.EPROTONOSUPPORT), []condition{is(0, unix.AF_NETLINK), isNot(2, unix.NETLINK_ROUTE, unix.NETLINK_KOBJECT_UEVENT)}},
		{unix.SYS_SOCKETPAIR, refused(unix.EAFNOSUPPORT), []condition{isNot(0, unix.AF_UNIX)}},
	}
	if !unixSockets {
		rules = append(rules, pairsOnly()...)
	}
	return rules
}

// pairsOnly keeps programs from all unix sockets but connected pairs: a socket in
// a mounted folder may have a program of the host behind it. A pair of datagram
// sockets is none to keep, for each end can be connected again, to such a socket.
func pairsOnly() []rule {
	return []rule{
		{unix.SYS_SOCKET, refused(unix.EACCES), []condition{is(0, unix.AF_UNIX)}},
		{unix.SYS_SOCKETPAIR, refused(unix.EACCES), []condition{kindIsNot(unix.SOCK_STREAM, unix.SOCK_SEQPACKET)}},
	}
}

func kindIsNot(kinds ...uint32) condition {
	return condition{argument: 1, mask: kindMask, values: kinds, not: true}
}
