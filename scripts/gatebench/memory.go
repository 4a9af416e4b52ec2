package main

import (
	"crypto/tls"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"
)

// idleTunnels is how many are open when memory is looked at.
const idleTunnels = 2000

// idleMemory is what a proxy holds for a tunnel that does nothing: TLS, as an
// agent's connections to its tools are.
func (b *bench) idleMemory() error {
	fmt.Printf("| memory of an idle tunnel, of %d | resident | descriptors | live heap | stacks | goroutines |\n|---|---|---|---|---|---|\n", idleTunnels)
	for _, w := range b.ways[1:] {
		if err := b.idleMemoryOf(w); err != nil {
			return err
		}
	}
	fmt.Println()
	return nil
}

func (b *bench) idleMemoryOf(w *way) error {
	before, err := w.look()
	if err != nil {
		return err
	}
	var open []net.Conn
	defer func() {
		for _, conn := range open {
			hangUp(conn)
		}
	}()
	for range idleTunnels {
		conn, err := w.open(b.servers.tlsAddr())
		if err != nil {
			return fmt.Errorf("opening tunnel %d: %w", len(open), err)
		}
		open = append(open, conn)
		if err := tls.Client(conn, trusting).Handshake(); err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
		_ = conn.SetDeadline(time.Time{})
	}
	time.Sleep(2 * time.Second) // idle is what has been idle for a while
	after, err := w.look()
	if err != nil {
		return err
	}
	each := func(after, before int64) float64 { return float64(after-before) / idleTunnels }
	fmt.Printf("| %s | %.1f KB | %.1f |", w.name, each(after.resident, before.resident)/1e3, each(after.files, before.files))
	if w.ask != nil {
		fmt.Printf(" %.1f KB | %.1f KB | %.1f |\n", each(after.heap, before.heap)/1e3, each(after.stacks, before.stacks)/1e3, each(after.goroutines, before.goroutines))
	} else {
		fmt.Println(" | | |")
	}
	return nil
}

// state is what a proxy holds.
type state struct{ resident, files, heap, stacks, goroutines int64 }

// look asks the gate, which then tidies up as well, and the kernel.
func (w *way) look() (s state, err error) {
	if w.ask != nil {
		fmt.Fprintln(w.ask, "memory")
		if _, err := fmt.Fscan(w.reply, &s.heap, &s.stacks, &s.goroutines); err != nil {
			return s, fmt.Errorf("asking the gate: %w", err)
		}
	}
	folder := "/proc/" + strconv.Itoa(w.cmd.Process.Pid)
	status, err := os.ReadFile(folder + "/status")
	if err != nil {
		return s, err
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kilobytes, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			if err != nil {
				return s, err
			}
			s.resident = kilobytes << 10
		}
	}
	files, err := os.ReadDir(folder + "/fd")
	s.files = int64(len(files))
	return s, err
}
