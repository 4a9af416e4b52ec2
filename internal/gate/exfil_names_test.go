package gate

import "testing"

// nameAttempts ask for hosts that the rules nearly name.
func nameAttempts() []attempt {
	foe := func(name, host string, proof ...string) attempt {
		return attempt{name: name, raw: connectTo(host + ":443"), proof: proof, status: "502"}
	}
	return []attempt{
		foe("a name that carries data", loot+".evil.test", "*.evil.test"),
		foe("a long name that carries data", loot+"-0123456789abcdef0123456789abcdef.0123456789abcdef0123456789abcdef."+"evil.test", "*.evil.test"),
		{name: "a name that carries data, in plain HTTP", raw: plainTo(loot + ".evil.test"), proof: []string{"*.evil.test"}, status: "403"},
		foe("the apex of a wildcard", "wild.test", "wild.test"),
		{name: "a name below a wildcard", raw: connectTo(loot + ".wild.test:443"), status: "200",
			known: "the user allowed all names below it, and whoever serves that zone is asked for them"},
		foe("a name that ends like a wildcard", "xwild.test", "xwild.test"),
		foe("an allowed name as a label of the attacker's", "friend.test.evil.test", "*.evil.test"),
		foe("a wildcard's domain as a label of the attacker's", "a.wild.test.evil.test", "*.evil.test"),
		foe("an allowed name with a prefix", "notfriend.test", "notfriend.test"),
		foe("a name below an allowed one", loot+".friend.test", "*.friend.test"),
		foe("the top of an allowed name", "test", "test:443"),
		foe("a homograph of an allowed name", "fri\u0435nd.test", "fri\u0435nd.test"), // Cyrillic e
		foe("a homograph in punycode", "xn--frind-u4f.test", "xn--frind-u4f.test"),
		foe("a name that leads inside", "inside.test", "inside.test", "10.6.6.6"),
	}
}

// spellingAttempts write a host so that the policy and a resolver may read two
// different names. Most of them are refused by any policy.
func spellingAttempts() []attempt {
	broken := func(name, host string) attempt {
		return attempt{name: name, raw: "CONNECT " + host + ":443 HTTP/1.1\r\n\r\n", status: "400",
			proofRaw: connectTo("evil.test:443"), proof: []string{"evil.test"}}
	}
	denied := func(name, host string) attempt {
		return attempt{name: name, raw: "CONNECT " + host + ":443 HTTP/1.1\r\n\r\n", status: "502",
			mode: ModeAllowAll, deny: []string{"evil.test"}, proof: []string{}}
	}
	return []attempt{
		broken("a NUL after an allowed name", "friend.test\x00.evil.test"),
		broken("an escaped NUL", "friend.test%00.evil.test"),
		broken("a space", "friend.test .evil.test"),
		broken("a tab", "friend.test\t.evil.test"),
		broken("an escaped line end", "friend.test%0d%0a.evil.test"),
		broken("a user name that is an allowed host", "friend.test@evil.test"),
		broken("a port before a user name", "friend.test:443@evil.test"),
		broken("a fragment", "evil.test#.friend.test"),
		broken("a query", "evil.test?.friend.test"),
		broken("a path", "evil.test/.friend.test"),
		broken("a backslash", "evil.test\\.friend.test"),
		broken("an empty label", "evil..test"),
		broken("a wildcard as a name", "*.wild.test"),
		broken("a comma", "friend.test,evil.test"),
		denied("a denied name in upper case", "EVIL.TEST"),
		denied("a denied name with a trailing dot", "evil.test."),
		denied("a denied name with an ideographic full stop", "evil\u3002test"),
		denied("a denied name in full width", "\uff45vil.test"),
		denied("a denied name with a soft hyphen", "ev\u00adil.test"),
	}
}

// resolverAttempts ask resolvers that anyone can ask, which pass names on to
// whoever serves them.
func resolverAttempts(t *testing.T) []attempt {
	var list []attempt
	for _, host := range []string{"dns.google", "cloudflare-dns.com", "dns.quad9.net", "doh.opendns.com", "mozilla.cloudflare-dns.com"} {
		list = append(list,
			attempt{name: "DNS over HTTPS at " + host, raw: connectTo(host + ":443"), inside: clientHello(t, host), proof: []string{host}, status: "502"},
			attempt{name: "DNS over TLS at " + host, raw: connectTo(host + ":853"), inside: clientHello(t, host), proof: []string{host + ":853"}, status: "502"})
	}
	for _, address := range []string{"1.1.1.1", "8.8.8.8", "9.9.9.9", "[2606:4700:4700::1111]", "[2001:4860:4860::8888]"} {
		list = append(list,
			attempt{name: "DNS over HTTPS at " + address, raw: connectTo(address + ":443"), inside: clientHello(t, ""), proof: []string{address}, status: "502"},
			attempt{name: "DNS over TLS at " + address, raw: connectTo(address + ":853"), inside: clientHello(t, ""), proof: []string{address + ":853"}, status: "502"},
			attempt{name: "DNS over TCP at " + address, raw: connectTo(address + ":53"), inside: dnsQuery(), proof: []string{"tcp://" + address + ":53"}, status: "502"})
	}
	return append(list,
		attempt{name: "DNS over plain HTTP", raw: plainTo("1.1.1.1"), proof: []string{"1.1.1.1"}, status: "403"},
		attempt{name: "DNS over TCP at an allowed name", raw: connectTo("friend.test:53"), inside: dnsQuery(), proof: []string{"tcp://friend.test:53"}, status: "502"},
		attempt{name: "DNS over TCP on the port of an allowed name", raw: connectTo("friend.test:443"), inside: dnsQuery(), proof: []string{"tcp://friend.test:443"}, status: "200"})
}

// dnsQuery asks for a name that carries the loot, as it is sent over TCP.
func dnsQuery() []byte {
	query := "\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x04" + loot + "\x04evil\x04test\x00\x00\x01\x00\x01"
	return append([]byte{0, byte(len(query))}, query...)
}
