package gate

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// TestBadNameserver asks a real server that lies. The policy is about names and
// the addresses at their end; what lies between is the resolver's business.
func TestBadNameserver(t *testing.T) {
	tests := []struct {
		name   string
		answer func(dnsmessage.Question) []byte
		status int
		says   string // to the client
		logs   string
	}{
		{"an alias of a denied name that leads outside", func(q dnsmessage.Question) []byte {
			return records(q, []string{"evil.test."}, 60, "93.184.216.34")
		}, 200, "", "allowed by rule"},
		{"an alias that leads inside", func(q dnsmessage.Question) []byte {
			return records(q, []string{"db.corp.test."}, 60, "10.0.0.1")
		}, 502, "10.0.0.1 is a private address", "10.0.0.1 is a private address"},
		{"a chain of aliases that ends at the metadata service", func(q dnsmessage.Question) []byte {
			return records(q, []string{"a.test.", "b.test.", "c.test."}, 60, "169.254.169.254")
		}, 502, "cloud metadata", "cloud metadata"},
		{"an alias without an address", func(q dnsmessage.Question) []byte {
			return records(q, []string{"nowhere.test."}, 60)
		}, 502, "the name could not be resolved", "no such host"},
		{"no records", func(q dnsmessage.Question) []byte {
			return records(q, nil, 60)
		}, 502, "the name could not be resolved", "no such host"},
		{"garbage", func(dnsmessage.Question) []byte {
			return []byte("\x00\x00\xff\xff\xff\xff\xff\xff\xff\xffgarbage")
		}, 504, "the name could not be resolved in time", "the name could not be resolved"},
		{"an answer to another question", func(q dnsmessage.Question) []byte {
			q.Name = dnsmessage.MustNewName("other.test.")
			return records(q, nil, 60, "93.184.216.34")
		}, 504, "the name could not be resolved in time", "the name could not be resolved"},
		{"nothing at all", func(dnsmessage.Question) []byte { return nil },
			504, "the name could not be resolved in time", "the name could not be resolved"},
		{"many addresses, the last one inside", func(q dnsmessage.Question) []byte {
			return records(q, nil, 60, append(publicAddrs(20), "192.168.0.1")...)
		}, 502, "192.168.0.1 is a private address", "192.168.0.1 is a private address"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			server := startNameserver(t, tt.answer)
			board := &switchboard{to: echo(t).Addr().String()}
			r := startRig(t, Config{
				Policy:   mustPolicy(t, ModeAllowlist, []string{"tcp://example.com:443"}, nil),
				Resolver: server.resolver(), Dial: board.dial, Limits: Limits{ResolveTimeout: 4 * soon},
			})
			if tt.status == 200 {
				r.connect(t, "example.com:443").Close()
			} else {
				resp, body := r.send(t, "CONNECT example.com:443 HTTP/1.1\r\n\r\n")
				if resp.StatusCode != tt.status || !strings.Contains(body, tt.says) {
					t.Errorf("answer %s %q, want %d with %q", resp.Status, body, tt.status, tt.says)
				}
				if got := board.dialled(); len(got) != 0 {
					t.Errorf("dialled %v", got)
				}
			}
			if e := r.event(t); !strings.Contains(e.Reason, tt.logs) || e.Host != "example.com" || e.Status != tt.status {
				t.Errorf("event %+v, want %q", e, tt.logs)
			}
		})
	}
}

func publicAddrs(n int) (list []string) {
	for i := range n {
		list = append(list, fmt.Sprintf("93.184.%d.%d", i/250, 1+i%250))
	}
	return list
}

// TestOddResolvers gives answers that no server can send but a resolver of the
// host might.
func TestOddResolvers(t *testing.T) {
	many := make([]netip.Addr, 1000)
	for i, text := range publicAddrs(len(many)) {
		many[i] = netip.MustParseAddr(text)
	}
	inside := append(append([]netip.Addr(nil), many...), netip.MustParseAddr("127.0.0.1"))
	tests := []struct {
		name  string
		addrs []netip.Addr
		dials int
		logs  string
	}{
		{"an answer without addresses", nil, 0, "no addresses"},
		{"an address that is none", []netip.Addr{{}}, 0, "not an address"},
		{"one that is none among others", []netip.Addr{publicAddr, {}}, 0, "not an address"},
		{"an address with a zone", []netip.Addr{netip.MustParseAddr("2606:4700::1%eth0")}, 0, "link-local"},
		{"a mapped loopback", []netip.Addr{netip.MustParseAddr("::ffff:127.0.0.1")}, 0, "a loopback address"},
		{"1000 addresses that do not answer", many, maxDials, "the connection could not be opened"},
		{"1000 addresses and the host itself", inside, 0, "a loopback address"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var dials atomic.Int32
			r := startRig(t, Config{
				Policy:   mustPolicy(t, ModeAllowlist, []string{"example.com"}, nil),
				Resolver: answering(tt.addrs),
				Dial: func(context.Context, netip.AddrPort) (net.Conn, error) {
					dials.Add(1)
					return nil, errors.New("unreachable")
				},
			})
			resp, body := r.send(t, "GET http://example.com/ HTTP/1.1\r\nHost: example.com\r\n\r\n")
			if resp.StatusCode != http.StatusBadGateway && resp.StatusCode != deniedStatus {
				t.Errorf("answer %s %q", resp.Status, body)
			}
			if e := r.event(t); !strings.Contains(e.Reason, tt.logs) || len(e.Reason) > 300 {
				t.Errorf("event %+v, want %q", e, tt.logs)
			}
			if got := int(dials.Load()); got != tt.dials {
				t.Errorf("dialled %d times, want %d", got, tt.dials)
			}
		})
	}
}

// answering is a resolver with one answer to everything.
type answering []netip.Addr

func (a answering) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) { return a, nil }

// TestRebindingPlain changes its mind between two plain requests. An answer is
// good for one dial, however long its owner says that it lasts; there is no cache
// to poison and no second lookup to win.
func TestRebindingPlain(t *testing.T) {
	for _, ttl := range []uint32{0, 1, 1 << 30} {
		t.Run(fmt.Sprint("TTL ", ttl), func(t *testing.T) {
			var asked atomic.Int32
			server := startNameserver(t, func(q dnsmessage.Question) []byte {
				if q.Type == dnsmessage.TypeA && asked.Add(1) > 1 {
					return records(q, nil, ttl, "127.0.0.1")
				}
				return records(q, nil, ttl, publicAddr.String())
			})
			config, _, board := plainConfig(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Connection", "close") // so that each request dials
			}, "rebind.test")
			config.Resolver = server.resolver()
			r := startRig(t, config)
			const request = "GET http://rebind.test/ HTTP/1.1\r\nHost: rebind.test\r\n\r\n"
			if resp, body := r.send(t, request); resp.StatusCode != 200 {
				t.Fatalf("answer %s %q", resp.Status, body)
			}
			r.event(t)
			resp, body := r.send(t, request)
			wantDenied(t, r, resp, body, "127.0.0.1 is a loopback address")
			if got := board.dialled(); len(got) != 1 || got[0].Addr() != publicAddr {
				t.Errorf("dialled %v, want %v alone", got, publicAddr)
			}
			if got := asked.Load(); got != 2 {
				t.Errorf("asked %d times, want once for each request", got)
			}
		})
	}
}

// TestRedirectInside lets a real client follow a redirect to where it must not
// get.
func TestRedirectInside(t *testing.T) {
	for _, tt := range []struct{ to, reason string }{
		{"http://10.0.0.1/", "no rule allows it"},
		{"http://127.0.0.1:8080/", "no rule allows it"},
		{"http://[::ffff:169.254.169.254]/latest/meta-data/", "no rule allows it"},
		{"http://0x7f.1/", "no rule allows it"},
		{"http://inside.test/", "10.0.0.1 is a private address"},
		{"https://169.254.169.254/", "no rule allows it"},
	} {
		t.Run(tt.to, func(t *testing.T) {
			r, _, board := plainRig(t, func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, tt.to, http.StatusFound)
			}, "example.com", "inside.test")
			client := r.client(t, nil)
			client.CheckRedirect = nil
			resp, err := client.Get("http://example.com/")
			if err == nil {
				resp.Body.Close()
				if resp.StatusCode != deniedStatus {
					t.Errorf("answer %s", resp.Status)
				}
			}
			e, other := r.event(t), r.event(t) // the first may end after the second
			if e.Allowed {
				e, other = other, e
			}
			if e.Allowed || !other.Allowed || !strings.Contains(e.Reason, tt.reason) {
				t.Errorf("events %+v and %+v, want %q", e, other, tt.reason)
			}
			if got := board.dialled(); len(got) != 1 {
				t.Errorf("dialled %v, want the first alone", got)
			}
		})
	}
}
