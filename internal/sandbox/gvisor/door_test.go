//go:build linux

package gvisor_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/agent-loop/ralph/internal/sandbox/sandboxtest"
)

// BenchmarkDownload is a download through door and gate, in MB/s, beside the
// same without either.
func BenchmarkDownload(b *testing.B) {
	upstream := sandboxtest.Upstream(b)
	sb := sandboxtest.Create(b, newEngine(b), sandboxtest.WithGate(b, binaries, strings.TrimPrefix(upstream.URL, "http://")))
	for _, verb := range []string{"get", "put"} {
		b.Run(verb, func(b *testing.B) {
			b.SetBytes(sandboxtest.Payload)
			for b.Loop() {
				sandboxtest.Output(b, sb, "/mnt/guest", verb, upstream.URL)
			}
		})
	}
	b.Run("get without a sandbox", func(b *testing.B) {
		b.SetBytes(sandboxtest.Payload)
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
