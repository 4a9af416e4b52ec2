package door

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// dial connects as a program in the sandbox would.
func dial(t testing.TB, addr string) *net.TCPConn {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn.(*net.TCPConn)
}

// accept accepts the other end of it.
func accept(t testing.TB, l *Listener) *Stream {
	t.Helper()
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn.(*Stream)
}

// An HTTP server behind the door serves clients in front of it, uploads and
// downloads, new connections and kept ones.
func TestHTTPThroughTheDoor(t *testing.T) {
	l, addr := newForward(t)
	server := &httptest.Server{Listener: l, Config: &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			http.NewResponseController(w).EnableFullDuplex()
			io.Copy(w, r.Body)
		}),
	}}
	server.Start()
	defer server.Close()
	client := http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	var all sync.WaitGroup
	for i := range 40 {
		all.Go(func() {
			body := bytes.Repeat([]byte(fmt.Sprint(i)), 10_000*i)
			res, err := client.Post("http://"+addr, "text/plain", bytes.NewReader(body))
			if err != nil {
				t.Error(err)
				return
			}
			defer res.Body.Close()
			if got, err := io.ReadAll(res.Body); !bytes.Equal(got, body) {
				t.Errorf("request %d: got %d bytes of %d, error %v", i, len(got), len(body), err)
			}
		})
	}
	within(t, "all requests", all.Wait)
}

// A proxy takes over connections from the HTTP server, as for CONNECT.
func TestHijackedConnection(t *testing.T) {
	l, addr := newForward(t)
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, buffered, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\n")
		io.Copy(conn, buffered) // echo until the client's end
	})}
	go server.Serve(l)
	defer server.Close()
	conn := dial(t, addr)
	io.WriteString(conn, "CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\nhello through the tunnel")
	conn.CloseWrite()
	got, err := io.ReadAll(conn)
	if err != nil || !strings.HasSuffix(string(got), "\r\n\r\nhello through the tunnel") {
		t.Errorf("got %q, error %v", got, err)
	}
}

// Half-closes pass through the door in both directions.
func TestForwardHalfClose(t *testing.T) {
	l, addr := newForward(t)
	client := dial(t, addr)
	io.WriteString(client, "question")
	client.CloseWrite()
	stream := accept(t, l)
	if got, err := io.ReadAll(stream); string(got) != "question" || err != nil {
		t.Fatalf("got %q, error %v", got, err)
	}
	io.WriteString(stream, "answer")
	stream.CloseWrite()
	if got, err := io.ReadAll(client); string(got) != "answer" || err != nil {
		t.Fatalf("got %q, error %v", got, err)
	}
}

// A connection that breaks on one side breaks on the other: what arrived of it
// is not mistaken for the whole.
func TestForwardBreaks(t *testing.T) {
	l, addr := newForward(t)
	t.Run("client", func(t *testing.T) {
		client := dial(t, addr)
		stream := accept(t, l)
		client.SetLinger(0)
		client.Close()
		within(t, "read of a broken stream", func() {
			if _, err := io.ReadAll(stream); !errors.Is(err, syscall.ECONNRESET) {
				t.Errorf("read: %v", err)
			}
		})
	})
	t.Run("host", func(t *testing.T) {
		client := dial(t, addr)
		stream := accept(t, l)
		io.WriteString(stream, "half an ans")
		stream.abort()
		within(t, "read of a broken connection", func() {
			if got, err := io.ReadAll(client); err == nil {
				t.Errorf("got %q as if it were all", got)
			}
		})
	})
}

// A host that answers and closes before the client has sent everything still
// gets its answer across.
func TestForwardEarlyAnswer(t *testing.T) {
	l, addr := newForward(t)
	client := dial(t, addr)
	stream := accept(t, l)
	go io.Copy(client, zeros{}) // never ends by itself
	answer := bytes.Repeat([]byte("too large. "), 100_000)
	if _, err := io.ReadFull(stream, make([]byte, uploadWindow)); err != nil {
		t.Fatal(err)
	}
	stream.Write(answer)
	stream.Close()
	within(t, "the answer", func() {
		got := make([]byte, len(answer))
		if _, err := io.ReadFull(client, got); err != nil || !bytes.Equal(got, answer) {
			t.Errorf("read the answer: %v", err)
		}
	})
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

// A client that stays after the host closed its connection takes no stream.
func TestForwardFreesClosedStreams(t *testing.T) {
	l, addr := newForward(t)
	for range maxIDs + 10 {
		client := dial(t, addr) // stays until the test ends
		accept(t, l).Close()
		within(t, "end of the connection", func() { io.Copy(io.Discard, client) })
	}
}

// Without a listener Forward greets and holds the door open.
func TestForwardWithoutListener(t *testing.T) {
	h, g, err := Pair()
	if err != nil {
		t.Skip(err)
	}
	l, err := NewListener(h)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- Forward(context.Background(), g, nil) }()
	within(t, "hello", func() { <-l.Ready() })
	select {
	case err := <-ended:
		t.Fatalf("Forward returned %v with the session open", err)
	default:
	}
	l.Close()
	within(t, "end of Forward", func() {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// Forward ends with its context, and says so; with its listener; and the host
// learns of it.
func TestForwardEnds(t *testing.T) {
	for name, tt := range map[string]struct {
		end  func(cancel func(), inner net.Listener)
		want error
	}{
		"context":  {func(cancel func(), _ net.Listener) { cancel() }, context.Canceled},
		"listener": {func(_ func(), inner net.Listener) { inner.Close() }, net.ErrClosed},
	} {
		t.Run(name, func(t *testing.T) {
			l, g, inner := newEnds(t)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			ended := make(chan error, 1)
			go func() { ended <- Forward(ctx, g, inner) }()
			client := dial(t, inner.Addr().String())
			accept(t, l)
			tt.end(cancel, inner)
			within(t, "end of Forward", func() {
				if err := <-ended; !errors.Is(err, tt.want) {
					t.Errorf("Forward: %v, want %v", err, tt.want)
				}
				if _, err := l.Accept(); !errors.Is(err, io.EOF) {
					t.Errorf("Accept: %v, want io.EOF", err)
				}
				if _, err := client.Read(make([]byte, 1)); err == nil {
					t.Error("the client's connection is still open")
				}
			})
		})
	}
}

// Close makes Accept return net.ErrClosed, as every listener does.
func TestListenerClose(t *testing.T) {
	l, _ := newSessions(t)
	failed := make(chan error, 1)
	go func() { _, err := l.Accept(); failed <- err }()
	l.Close()
	l.Close()
	within(t, "end of Accept", func() {
		if err := <-failed; !errors.Is(err, net.ErrClosed) {
			t.Errorf("Accept: %v", err)
		}
	})
}
