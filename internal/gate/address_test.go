package gate

import (
	"net/netip"
	"testing"
)

func TestClassify(t *testing.T) {
	tests := []struct {
		addr string
		want class
	}{
		{"8.8.8.8", classPublic},
		{"93.184.216.34", classPublic},
		{"9.255.255.255", classPublic},
		{"11.0.0.0", classPublic},
		{"172.15.255.255", classPublic},
		{"172.32.0.0", classPublic},
		{"2606:4700::1111", classPublic},
		{"2a00:1450:4001::200e", classPublic},

		{"0.0.0.0", classUnspecified},
		{"0.1.2.3", classUnspecified},
		{"127.0.0.1", classLoopback},
		{"127.255.255.254", classLoopback},
		{"10.0.0.1", classPrivate},
		{"172.16.0.1", classPrivate},
		{"172.31.255.255", classPrivate},
		{"192.168.1.1", classPrivate},
		{"169.254.1.1", classLinkLocal},
		{"169.254.169.254", classMetadata},
		{"169.254.170.2", classMetadata},
		{"100.100.100.200", classMetadata},
		{"168.63.129.16", classMetadata},
		{"100.64.0.1", classCGNAT},
		{"100.127.255.255", classCGNAT},
		{"192.0.0.1", classReserved},
		{"192.0.2.1", classDocs},
		{"198.51.100.1", classDocs},
		{"203.0.113.1", classDocs},
		{"198.18.0.1", classBenchmark},
		{"198.19.255.255", classBenchmark},
		{"224.0.0.1", classMulticast},
		{"239.255.255.255", classMulticast},
		{"240.0.0.1", classReserved},
		{"255.255.255.255", classBroadcast},

		{"::", classUnspecified},
		{"::1", classLoopback},
		{"::ffff:8.8.8.8", classEmbedded},
		{"::8.8.8.8", classEmbedded},
		{"64:ff9b::8.8.8.8", classEmbedded},
		{"64:ff9b:1::1", classEmbedded},
		{"2002:a00:1::", classEmbedded},
		{"2001:0:4136:e378::1", classEmbedded},
		{"fc00::1", classPrivate},
		{"fd12:3456::1", classPrivate},
		{"fd00:ec2::254", classMetadata},
		{"fe80::1", classLinkLocal},
		{"fe80::1%eth0", classLinkLocal},
		{"fec0::1", classPrivate},
		{"ff02::1", classMulticast},
		{"2001:db8::1", classDocs},
		{"3fff::1", classDocs},
		{"2001:2::1", classBenchmark},
		{"2001:20::1", classReserved},
		{"100::1", classNotGlobal},
		{"5f00::1", classNotGlobal},
		{"4000::1", classNotGlobal},
	}
	for _, tt := range tests {
		if got := classify(netip.MustParseAddr(tt.addr)); got != tt.want {
			t.Errorf("classify(%s) = %q, want %q", tt.addr, got, tt.want)
		}
	}
	if got := classify(netip.Addr{}); got != classInvalid {
		t.Errorf("classify(no address) = %q, want %q", got, classInvalid)
	}
}

func TestEmbedded(t *testing.T) {
	tests := []struct{ addr, want string }{
		{"::10.0.0.1", "10.0.0.1"},
		{"64:ff9b::a9fe:a9fe", "169.254.169.254"},
		{"2002:a00:1::", "10.0.0.1"},
		{"2001:0:4136:e378:8000:63bf:f5ff:fffe", "10.0.0.1"},
	}
	for _, tt := range tests {
		if got := embedded(netip.MustParseAddr(tt.addr)); got.String() != tt.want {
			t.Errorf("embedded(%s) = %s, want %s", tt.addr, got, tt.want)
		}
	}
}
