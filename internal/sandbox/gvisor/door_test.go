//go:build linux

package gvisor_test

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

const payload = 200 << 20

// newUpstream serves and takes large bodies on the host's loopback.
func newUpstream(t testing.TB) *httptest.Server {
	t.Helper()
	chunk := make([]byte, 1<<20)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut {
			_, _ = io.Copy(io.Discard, r.Body)
			return
		}
		w.Header().Set("Content-Length", fmt.Sprint(payload))
		for range payload / len(chunk) {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	}))
	t.Cleanup(server.Close)
	return server
}

// createWithGate makes a sandbox whose gate allows the given hosts.
func createWithGate(t testing.TB, allow ...string) sandbox.Sandbox {
	t.Helper()
	policy, err := gate.NewPolicy(gate.ModeAllowlist, allow, nil)
	if err != nil {
		t.Fatal(err)
	}
	spec := newSpec(t)
	spec.Network = sandbox.NetworkGate
	spec.Env = sandbox.BaseEnv(sandbox.NetworkGate)
	spec.Gate = gate.New(gate.Config{Policy: policy}).Serve
	spec.Mounts = append(spec.Mounts, sandbox.Mount{Source: guestBinary, Target: "/mnt/guest", ReadOnly: true})
	return create(t, newEngine(t), spec)
}

func TestDoorLeadsToTheGateAlone(t *testing.T) {
	upstream := newUpstream(t)
	address := strings.TrimPrefix(upstream.URL, "http://")
	sb := createWithGate(t, address)
	for _, test := range []struct{ args, want string }{
		{"get " + upstream.URL, fmt.Sprintf("200 %d ", payload)},
		{"put " + upstream.URL, fmt.Sprintf("200 %d ", payload)},
		{"get http://127.0.0.1:1", "403 "},
		{"get http://169.254.169.254/latest/meta-data", "403 "},
		{"get http://example.com", "403 "},
	} {
		got := output(t, sb, append([]string{"/mnt/guest"}, strings.Fields(test.args)...)...)
		if !strings.HasPrefix(got, test.want) {
			t.Errorf("%s printed %q, want %q", test.args, got, test.want)
		}
	}
}

// BenchmarkDownload is a download through door and gate, in MB/s, beside the
// same without either.
func BenchmarkDownload(b *testing.B) {
	upstream := newUpstream(b)
	sb := createWithGate(b, strings.TrimPrefix(upstream.URL, "http://"))
	for _, verb := range []string{"get", "put"} {
		b.Run(verb, func(b *testing.B) {
			b.SetBytes(payload)
			for b.Loop() {
				output(b, sb, "/mnt/guest", verb, upstream.URL)
			}
		})
	}
	b.Run("get without a sandbox", func(b *testing.B) {
		b.SetBytes(payload)
		for b.Loop() {
			answer, err := http.Get(upstream.URL)
			if err != nil {
				b.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, answer.Body)
			answer.Body.Close()
		}
	})
}
