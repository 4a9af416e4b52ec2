package gate

import "net/netip"

// class is the named reason why an address is not public; empty if it is.
type class string

const (
	classPublic      class = ""
	classInvalid     class = "not an address"
	classUnspecified class = "an unspecified address"
	classLoopback    class = "a loopback address of the host"
	classPrivate     class = "a private address"
	classLinkLocal   class = "a link-local address"
	classMetadata    class = "a cloud metadata address"
	classCGNAT       class = "a carrier NAT address"
	classMulticast   class = "a multicast address"
	classBroadcast   class = "a broadcast address"
	classReserved    class = "a reserved address"
	classBenchmark   class = "a benchmark address"
	classDocs        class = "a documentation address"
	classEmbedded    class = "an IPv6 address that carries an IPv4 address"
	classNotGlobal   class = "not a global unicast address"
)

// specialRange is a block that IANA's registries set apart, or a service of a
// cloud that hands out credentials to whoever can reach it.
type specialRange struct {
	prefix netip.Prefix
	class  class
}

// specialRanges lists narrow blocks before the wide ones that hold them: the
// first match decides.
var specialRanges = []specialRange{
	{netip.MustParsePrefix("169.254.169.254/32"), classMetadata}, // most clouds
	{netip.MustParsePrefix("169.254.170.2/32"), classMetadata},   // AWS container tasks
	{netip.MustParsePrefix("169.254.170.23/32"), classMetadata},  // AWS pod identity
	{netip.MustParsePrefix("100.100.100.200/32"), classMetadata}, // Alibaba
	{netip.MustParsePrefix("168.63.129.16/32"), classMetadata},   // Azure, in public space
	{netip.MustParsePrefix("192.0.0.192/32"), classMetadata},     // Oracle
	{netip.MustParsePrefix("fd00:ec2::/32"), classMetadata},      // AWS
	{netip.MustParsePrefix("fd20:ce::254/128"), classMetadata},   // Google

	{netip.MustParsePrefix("0.0.0.0/8"), classUnspecified},
	{netip.MustParsePrefix("10.0.0.0/8"), classPrivate},
	{netip.MustParsePrefix("100.64.0.0/10"), classCGNAT},
	{netip.MustParsePrefix("127.0.0.0/8"), classLoopback},
	{netip.MustParsePrefix("169.254.0.0/16"), classLinkLocal},
	{netip.MustParsePrefix("172.16.0.0/12"), classPrivate},
	{netip.MustParsePrefix("192.0.0.0/24"), classReserved},
	{netip.MustParsePrefix("192.0.2.0/24"), classDocs},
	{netip.MustParsePrefix("192.88.99.0/24"), classReserved},
	{netip.MustParsePrefix("192.168.0.0/16"), classPrivate},
	{netip.MustParsePrefix("198.18.0.0/15"), classBenchmark},
	{netip.MustParsePrefix("198.51.100.0/24"), classDocs},
	{netip.MustParsePrefix("203.0.113.0/24"), classDocs},
	{netip.MustParsePrefix("224.0.0.0/4"), classMulticast},
	{netip.MustParsePrefix("255.255.255.255/32"), classBroadcast},
	{netip.MustParsePrefix("240.0.0.0/4"), classReserved},

	{netip.MustParsePrefix("::/128"), classUnspecified},
	{netip.MustParsePrefix("::1/128"), classLoopback},
	{netip.MustParsePrefix("::ffff:0:0/96"), classEmbedded},   // mapped
	{netip.MustParsePrefix("::ffff:0:0:0/96"), classEmbedded}, // translated (SIIT)
	{netip.MustParsePrefix("::/96"), classEmbedded},           // compatible
	{netip.MustParsePrefix("64:ff9b::/96"), classEmbedded},    // NAT64
	{localNAT64, classEmbedded},
	{netip.MustParsePrefix("2001::/32"), classEmbedded}, // Teredo
	{netip.MustParsePrefix("2002::/16"), classEmbedded}, // 6to4
	{netip.MustParsePrefix("2001:2::/48"), classBenchmark},
	{netip.MustParsePrefix("2001:db8::/32"), classDocs},
	{netip.MustParsePrefix("3fff::/20"), classDocs},
	{netip.MustParsePrefix("2001::/23"), classReserved},
	{netip.MustParsePrefix("fc00::/7"), classPrivate},
	{netip.MustParsePrefix("fe80::/10"), classLinkLocal},
	{netip.MustParsePrefix("fec0::/10"), classPrivate},
	{netip.MustParsePrefix("ff00::/8"), classMulticast},
}

// localNAT64 is for translators of one's own, which choose where in the address
// the IPv4 part stands.
var localNAT64 = netip.MustParsePrefix("64:ff9b:1::/48")

// globalUnicast6 is all of IPv6 that is given out; the rest is not routed.
var globalUnicast6 = netip.MustParsePrefix("2000::/3")

// classify says why addr must not be dialled unless a rule names it. It expects
// an address as parseHost or unmapped resolver answers give it; a mapped one is
// classEmbedded.
func classify(addr netip.Addr) class {
	if !addr.IsValid() {
		return classInvalid
	}
	if addr.Zone() != "" {
		return classLinkLocal
	}
	for _, special := range specialRanges {
		if special.prefix.Contains(addr) {
			return special.class
		}
	}
	if addr.Is6() && !globalUnicast6.Contains(addr) {
		return classNotGlobal
	}
	return classPublic
}

// embedded returns the IPv4 address that an address of classEmbedded leads to
// in the end. A block whose layout is open returns an invalid address.
func embedded(addr netip.Addr) netip.Addr {
	b := addr.As16()
	switch {
	case b[0] == 0x20 && b[1] == 0x02: // 6to4: after the prefix
		return netip.AddrFrom4([4]byte(b[2:6]))
	case b[0] == 0x20 && b[1] == 0x01: // Teredo: the client, inverted, at the end
		return netip.AddrFrom4([4]byte{^b[12], ^b[13], ^b[14], ^b[15]})
	case localNAT64.Contains(addr):
		return netip.Addr{}
	}
	return netip.AddrFrom4([4]byte(b[12:16]))
}
