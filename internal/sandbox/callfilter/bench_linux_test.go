//go:build amd64 || arm64

package callfilter_test

import (
	"fmt"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// BenchmarkCall tells the price of one call: one that is allowed by its number, and
// ones that are looked into.
func BenchmarkCall(b *testing.B) {
	for name, j := range map[string]job{"without": {Filter: "none"}, "sandbox": {Filter: "sandbox"}, "kernel": everything} {
		b.Run(name, func(b *testing.B) {
			j.Then = "prices"
			out, err := j.run(b)
			if err != nil {
				b.Fatal(err)
			}
			for line := range strings.Lines(out) {
				var call string
				var price float64
				if _, err := fmt.Sscan(line, &call, &price); err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(price, call+"-ns")
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

// printPrices measures in the filtered process itself.
func printPrices() error {
	for name, number := range map[string]uintptr{"getppid": unix.SYS_GETPPID, "openat": unix.SYS_OPENAT, "ioctl": unix.SYS_IOCTL} {
		r := testing.Benchmark(func(b *testing.B) {
			for b.Loop() {
				unix.RawSyscall6(number, badPointer, badPointer, 0, 0, 0, 0)
			}
		})
		fmt.Println(name, float64(r.T.Nanoseconds())/float64(r.N))
	}
	return nil
}
