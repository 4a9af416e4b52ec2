package sandboxtest

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/agent-loop/ralph/internal/gate"
	"github.com/agent-loop/ralph/internal/sandbox"
)

// Payload is how many bytes Upstream serves, and the guest sends.
const Payload = 200 << 20

// Upstream serves and takes large bodies on the host's loopback.
func Upstream(t testing.TB) *httptest.Server {
	t.Helper()
	chunk := make([]byte, 1<<20)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut {
			_, _ = io.Copy(io.Discard, r.Body)
			return
		}
		w.Header().Set("Content-Length", fmt.Sprint(Payload))
		for range Payload / len(chunk) {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	}))
	t.Cleanup(server.Close)
	return server
}

// WithGate is WithGuest with a gate that allows the given hosts.
func WithGate(t testing.TB, b Binaries, allow ...string) sandbox.Spec {
	t.Helper()
	policy, err := gate.NewPolicy(gate.ModeAllowlist, allow, nil)
	if err != nil {
		t.Fatal(err)
	}
	spec := WithGuest(t, b)
	spec.Network = sandbox.NetworkGate
	spec.Env = sandbox.BaseEnv(sandbox.NetworkGate)
	spec.Gate = gate.New(gate.Config{Policy: policy}).Serve
	return spec
}

// checkDoor shows that the door leads to the gate alone, whose word counts.
func (m machine) checkDoor(t *testing.T) {
	upstream := Upstream(t)
	sb := Create(t, m.engine, WithGate(t, m.binaries, strings.TrimPrefix(upstream.URL, "http://")))
	for _, test := range []struct{ args, want string }{
		{"get " + upstream.URL, fmt.Sprintf("200 %d ", Payload)},
		{"put " + upstream.URL, fmt.Sprintf("200 %d ", Payload)},
		{"get http://127.0.0.1:1", "403 "},
		{"get http://169.254.169.254/latest/meta-data", "403 "},
		{"get http://example.com", "403 "},
	} {
		got := Output(t, sb, append([]string{guestPath}, strings.Fields(test.args)...)...)
		if !strings.HasPrefix(got, test.want) {
			t.Errorf("%s printed %q, want %q", test.args, got, test.want)
		}
	}
}

// checkLoopback runs a server and its client inside, as test suites do.
func (m machine) checkLoopback(t *testing.T) {
	if got := Output(t, Create(t, m.engine, WithGuest(t, m.binaries)), guestPath, "loopback"); got != "hello\n" {
		t.Errorf("got %q", got)
	}
}
