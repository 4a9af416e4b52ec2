package gate

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// loot is what an attempt tries to get out. It is written so that it survives the
// lower case of names.
const loot = "l00t"

// The hosts of the suite. Everything but the friend is the attacker's: each name
// leads to foeAddr unless answers says otherwise, and each address to a listener
// of the attacker, so that whatever is dialled at all arrives there.
var (
	friendAddr = publicAddr
	foeAddr    = netip.MustParseAddr("93.184.216.66")
	answers    = map[string]string{
		"friend.test.": "93.184.216.34", "a.wild.test.": "93.184.216.34",
		"inside.test.": "10.6.6.6", "metadata.google.internal.": "169.254.169.254", "metadata.": "169.254.169.254",
		"instance-data.ec2.internal.": "169.254.169.254", "metadata.oraclecloud.test.": "192.0.0.192",
	}
)

// recorder is a TCP server that keeps every byte and counts who came. To HTTP it
// says something, so that clients go on.
type recorder struct {
	listener net.Listener
	mu       sync.Mutex
	got      bytes.Buffer
	conns    int // that have ended: all their bytes are in got
}

func startRecorder(t testing.TB) *recorder {
	r := &recorder{}
	r.listener = listen(t, func(conn net.Conn) {
		defer r.ended()
		buffer := make([]byte, 4<<10)
		for answered := false; ; {
			n, err := conn.Read(buffer)
			r.mu.Lock()
			r.got.Write(buffer[:n])
			head := bytes.Contains(r.got.Bytes(), endOfHead)
			r.mu.Unlock()
			if err != nil {
				return
			}
			if head && !answered {
				answered = true
				io.WriteString(conn, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
				conn.(*net.TCPConn).CloseWrite()
			}
		}
	})
	return r
}

func (r *recorder) ended() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.conns++
}

// text is all that came.
func (r *recorder) text() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.got.String()
}

// state returns how many came and whether one of them brought the loot.
func (r *recorder) state() (conns int, looted bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.conns, bytes.Contains(bytes.ToLower(r.got.Bytes()), []byte(loot))
}

// theatre is a gate between an attacker inside and the attacker's friends
// outside.
type theatre struct {
	*rig
	friend, foe *recorder
	names       *nameserver
	mu          sync.Mutex
	dialled     []netip.AddrPort
	opened      int // of these
}

func startTheatre(t testing.TB, policy *Policy, password string) *theatre {
	t.Helper()
	th := &theatre{friend: startRecorder(t), foe: startRecorder(t)}
	th.names = startNameserver(t, func(q dnsmessage.Question) []byte {
		addr, ok := answers[strings.ToLower(q.Name.String())]
		if !ok {
			addr = foeAddr.String()
		}
		return records(q, nil, 0, addr)
	})
	th.rig = startRig(t, Config{
		Policy: policy, Resolver: th.names.resolver(), Dial: th.dialOut, Password: password,
		Limits: Limits{HelloTimeout: patience, IdleTimeout: patience, HeaderTimeout: patience}, // no attempt may end by these
	})
	return th
}

func (th *theatre) dialOut(ctx context.Context, addr netip.AddrPort) (net.Conn, error) {
	th.mu.Lock()
	th.dialled = append(th.dialled, addr)
	th.mu.Unlock()
	to := th.foe
	if addr.Addr() == friendAddr {
		to = th.friend
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", to.listener.Addr().String())
	if err == nil {
		th.mu.Lock()
		th.opened++
		th.mu.Unlock()
	}
	return conn, err
}

// play sends raw to the gate and then, if a tunnel was agreed to, what follows
// inside it. It returns the first line of the answer, when all is over.
func (th *theatre) play(t testing.TB, raw string, inside []byte) string {
	t.Helper()
	conn := th.dial(t)
	io.WriteString(conn, raw)
	const agreed = "HTTP/1.1 200 Connection established\r\n\r\n"
	first := make([]byte, len(agreed))
	n, _ := io.ReadFull(conn, first)
	if string(first[:n]) == agreed {
		conn.Write(inside)
	}
	if !bytes.Contains(inside, []byte(" HTTP/1.1\r\n")) { // it would take back a request that has no answer yet
		conn.(*net.TCPConn).CloseWrite()
	}
	io.Copy(io.Discard, conn)
	conn.Close()
	line, _, _ := strings.Cut(string(first[:n]), "\r\n")
	return line
}

// escaped says what arrived anywhere, when nothing more can: the gate has shut
// down and with it every connection to the recorders.
func (th *theatre) escaped(t testing.TB) (what []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := th.proxy.Shutdown(ctx); err != nil {
		t.Errorf("shutting down: %v", err)
	}
	th.drain(t)
	if conns, _ := th.foe.state(); conns > 0 {
		what = append(what, "a connection to the attacker")
	}
	if _, looted := th.friend.state(); looted {
		what = append(what, "the loot, by way of a friend")
	}
	for _, name := range th.names.questions() {
		if _, known := answers[name]; !known && name != "sentinel.test." || strings.Contains(name, loot) {
			what = append(what, "a question for "+name)
		}
	}
	calls, _ := th.calls()
	for _, addr := range calls {
		if addr.Addr() != friendAddr {
			what = append(what, "a dial to "+addr.String())
		}
	}
	slices.Sort(what)
	return slices.Compact(what)
}

func (th *theatre) calls() (dialled []netip.AddrPort, opened int) {
	th.mu.Lock()
	defer th.mu.Unlock()
	return slices.Clone(th.dialled), th.opened
}

// drain waits until the recorders and the nameserver have seen all that was sent
// to them: every connection to its end.
func (th *theatre) drain(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if _, err := th.names.resolver().LookupNetIP(ctx, "ip4", "sentinel.test."); err != nil {
		t.Errorf("asking the nameserver: %v", err)
	}
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) { // polling
		foe, _ := th.foe.state()
		friend, _ := th.friend.state()
		_, opened := th.calls()
		if foe+friend == opened {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d connections of %d have ended", foe+friend, opened)
		}
	}
}
