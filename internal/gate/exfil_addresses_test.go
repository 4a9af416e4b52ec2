package gate

// addressAttempts write one private address in every way there is, where all
// that is public is allowed. Each arrives once a rule names the address, so each
// spelling is understood.
func addressAttempts() []attempt {
	inside := func(spelling, host string, proof string) attempt {
		return attempt{name: "a private address " + spelling, raw: connectTo(host + ":80"), inside: []byte(plainInner(host)),
			mode: ModeAllowAll, proof: []string{proof}, status: "502"}
	}
	const addr = "10.6.6.6"
	return []attempt{
		inside("in dotted decimal", addr, addr),
		inside("as one decimal number", "168166918", addr),
		inside("as one octal number", "01201403006", addr),
		inside("as one hexadecimal number", "0xa060606", addr),
		inside("in octal", "012.06.06.06", addr),
		inside("in hexadecimal", "0x0a.0x06.0x06.0x06", addr),
		inside("in two numbers", "10.394758", addr),
		inside("in three numbers", "10.6.1542", addr),
		inside("in three bases", "0xa.06.1542", addr),
		inside("with a trailing dot", "10.6.6.6.", addr),
		inside("in full-width digits", "\uff11\uff10.6.6.6", addr),
		inside("in circled digits", "\u2460\u24ea.6.6.6", addr),
		inside("with ideographic dots", "10\u30026\u30026\u30026", addr),
		inside("mapped to IPv6", "[::ffff:10.6.6.6]", addr),
		inside("mapped to IPv6, in hexadecimal", "[::ffff:a06:606]", addr),
		inside("mapped to IPv6, in full", "[0000:0000:0000:0000:0000:ffff:0a06:0606]", addr),
		inside("compatible with IPv6", "[::10.6.6.6]", "[::a06:606]"),
		inside("translated to IPv6", "[::ffff:0:10.6.6.6]", "[::ffff:0:a06:606]"),
		inside("through NAT64", "[64:ff9b::10.6.6.6]", "[64:ff9b::a06:606]"),
		inside("through a NAT64 of one's own", "[64:ff9b:1::10.6.6.6]", "[64:ff9b:1::a06:606]"),
		inside("through 6to4", "[2002:a06:606::1]", "[2002:a06:606::1]"),
		inside("through Teredo", "[2001:0:5db8:d822::f5f9:f9f9]", "[2001:0:5db8:d822::f5f9:f9f9]"),
		inside("by a name", "inside.test", addr),
		inside("of IPv6", "[fd00::6]", "[fd00::6]"),
		inside("of IPv6, link-local", "[fe80::6]", "[fe80::6]"),
		inside("of the carrier's NAT", "100.64.6.6", "100.64.6.6"),
		inside("of the host", "127.0.0.1", "127.0.0.1:80"),
		{name: "a public IPv4 literal", raw: connectTo("93.184.216.66:443"), proof: []string{"93.184.216.66"}, status: "502"},
		{name: "a public IPv6 literal", raw: connectTo("[2606:4700::6666]:443"), proof: []string{"2606:4700::6666"}, status: "502"},
		{name: "an IPv6 literal with a zone", raw: connectTo("[2606:4700::6666%25eth0]:443"), status: "400",
			proofRaw: connectTo("[2606:4700::6666]:443"), proof: []string{"2606:4700::6666"}},
	}
}

// plainInner is a request inside a tunnel. In mode allow-all any bytes pass on
// port 80, so that the loot arrives wherever the tunnel leads.
func plainInner(host string) string {
	return "GET /" + loot + " HTTP/1.1\r\nHost: " + host + "\r\n\r\n"
}

// metadataAttempts ask clouds for the credentials of the machine, where all that
// is public is allowed and whole ranges are named.
func metadataAttempts() []attempt {
	ranges := []string{"169.254.0.0/16", "100.64.0.0/10", "192.0.0.0/24", "168.63.0.0/16", "fd00::/16"}
	ask := func(cloud, host, address string) attempt {
		return attempt{name: "metadata of " + cloud, raw: plainTo(host), mode: ModeAllowAll, allow: ranges, proof: []string{address}, status: "403"}
	}
	return []attempt{
		ask("most clouds", "169.254.169.254", "169.254.169.254"),
		ask("most clouds, in decimal", "2852039166", "169.254.169.254"),
		ask("most clouds, mapped to IPv6", "[::ffff:a9fe:a9fe]", "169.254.169.254"),
		ask("Google, by name", "metadata.google.internal", "169.254.169.254"),
		ask("Google, by its short name", "metadata", "169.254.169.254"),
		ask("AWS, by name", "instance-data.ec2.internal", "169.254.169.254"),
		ask("AWS tasks", "169.254.170.2", "169.254.170.2"),
		ask("AWS pods", "169.254.170.23", "169.254.170.23"),
		ask("AWS, over IPv6", "[fd00:ec2::254]", "[fd00:ec2::254]"),
		ask("Alibaba", "100.100.100.200", "100.100.100.200"),
		ask("Azure", "168.63.129.16", "168.63.129.16"),
		ask("Oracle, by name", "metadata.oraclecloud.test", "192.0.0.192"),
		{name: "metadata where only the cloud's own name is allowed", raw: plainTo("metadata.google.internal"),
			allow: []string{"metadata.google.internal"}, proof: []string{"169.254.169.254"}, status: "403"},
	}
}
