package gate

import (
	"context"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// nameserver is a real DNS server on loopback, over UDP, that remembers what it
// was asked. An attacker's is one, and so is a broken one.
type nameserver struct {
	conn   net.PacketConn
	answer func(dnsmessage.Question) []byte // nil: no answer at all

	mu    sync.Mutex
	asked []string
}

// startNameserver answers each question with the records that answer gives.
func startNameserver(t testing.TB, answer func(dnsmessage.Question) []byte) *nameserver {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &nameserver{conn: conn, answer: answer}
	done := make(chan struct{})
	go func() { defer close(done); s.serve() }()
	t.Cleanup(func() { conn.Close(); <-done })
	return s
}

func (s *nameserver) serve() {
	packet := make([]byte, 4096)
	for {
		n, from, err := s.conn.ReadFrom(packet)
		if err != nil {
			return
		}
		if reply := s.reply(packet[:n]); reply != nil {
			s.conn.WriteTo(reply, from)
		}
	}
}

// reply notes the question and puts its ID on the answer.
func (s *nameserver) reply(query []byte) []byte {
	var parser dnsmessage.Parser
	header, err := parser.Start(query)
	if err != nil {
		return nil
	}
	question, err := parser.Question()
	if err != nil {
		return nil
	}
	s.mu.Lock()
	s.asked = append(s.asked, strings.ToLower(question.Name.String()))
	s.mu.Unlock()
	reply := s.answer(question)
	if len(reply) >= 2 {
		reply[0], reply[1] = byte(header.ID>>8), byte(header.ID)
	}
	return reply
}

// questions returns the names that were asked for.
func (s *nameserver) questions() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.asked...)
}

// resolver is the host's way of asking this server.
func (s *nameserver) resolver() *net.Resolver {
	return &net.Resolver{
		PreferGo: true,
		Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "udp", s.conn.LocalAddr().String())
		},
	}
}

// records answers a question about IPv4 with a chain of aliases, if there are
// any, and the addresses at its end.
func records(q dnsmessage.Question, aliases []string, ttl uint32, addrs ...string) []byte {
	b := dnsmessage.NewBuilder(nil, dnsmessage.Header{Response: true, RecursionAvailable: true})
	b.EnableCompression()
	b.StartQuestions()
	b.Question(q)
	b.StartAnswers()
	owner := q.Name
	for _, alias := range aliases {
		next := dnsmessage.MustNewName(alias)
		b.CNAMEResource(resourceOf(owner, ttl), dnsmessage.CNAMEResource{CNAME: next})
		owner = next
	}
	if q.Type == dnsmessage.TypeA {
		for _, addr := range addrs {
			b.AResource(resourceOf(owner, ttl), dnsmessage.AResource{A: netip.MustParseAddr(addr).As4()})
		}
	}
	packet, err := b.Finish()
	if err != nil {
		return nil
	}
	return packet
}

func resourceOf(owner dnsmessage.Name, ttl uint32) dnsmessage.ResourceHeader {
	return dnsmessage.ResourceHeader{Name: owner, Class: dnsmessage.ClassINET, TTL: ttl}
}
