package gate

import (
	"bytes"
	"testing"
)

// BenchmarkReadOpening is what the look at a ClientHello costs each tunnel.
func BenchmarkReadOpening(b *testing.B) {
	hello := clientHello(b, "example.com")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := readOpening(bytes.NewReader(hello), 32<<10); err != nil {
			b.Fatal(err)
		}
	}
}
