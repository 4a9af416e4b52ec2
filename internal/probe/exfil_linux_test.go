package probe

import (
	"net"
	"path/filepath"
	"strings"
	"testing"
)

// A socket of another run is found where nothing hides it, by its path and by
// the kernel's list.
func TestOtherRunIsFoundOnBareHost(t *testing.T) {
	f := bareHost(t)
	if r := call(t, "other-run", Facts{AbstractSocket: f.AbstractSocket}, nil); r.Verdict != Breach {
		t.Errorf("abstract sockets: verdict %q: %s", r.Verdict, r.Detail)
	}
	socket := filepath.Join(f.SiblingRun, "gate.sock")
	greet(t, "unix", socket, "hello")
	r := call(t, "other-run", f, nil)
	if r.Verdict != Breach || !strings.Contains(r.Detail, "gate.sock") {
		t.Errorf("a socket of another run: verdict %q: %s", r.Verdict, r.Detail)
	}
}

// A gate that agrees to everything is a breach; one that refuses is not, and
// without one there is nothing to ask.
func TestGateAsRelay(t *testing.T) {
	tests := []struct {
		answer string
		want   Verdict
	}{
		{"HTTP/1.1 200 Connection established\r\n\r\n", Breach},
		{"HTTP/1.1 502 Bad Gateway\r\n\r\n", Blocked},
		{"\x05\x00", Breach},
	}
	for _, tt := range tests {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		go answerAll(l, tt.answer)
		if r := call(t, "gate-as-relay", Facts{Gate: l.Addr().String()}, nil); r.Verdict != tt.want {
			t.Errorf("%q: verdict %q: %s", tt.answer, r.Verdict, r.Detail)
		}
	}
	if r := call(t, "gate-as-relay", Facts{}, nil); r.Verdict != NotApplicable {
		t.Errorf("without a gate: verdict %q: %s", r.Verdict, r.Detail)
	}
}

func answerAll(l net.Listener, answer string) {
	for conn, err := l.Accept(); err == nil; conn, err = l.Accept() {
		go func() {
			defer conn.Close()
			_, _ = conn.Read(make([]byte, 4096)) // the prober may be gone
			_, _ = conn.Write([]byte(answer))
		}()
	}
}
