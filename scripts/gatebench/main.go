// Command gatebench measures what the gate costs, beside a direct connection and
// the proxies of the distribution, tinyproxy and squid, where they are installed.
// All of them run at the same time and take turns, and what is reported are
// differences and ratios within a turn, because only these carry over to another
// machine or a busier hour. It prints Markdown.
//
//	gatebench [-quick] [-only NAME] [-profile FILE]
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
)

func main() {
	quick := flag.Bool("quick", false, "a tenth of the turns: to see that it works, not to believe")
	profile := flag.String("profile", "", "write a CPU profile of the gate to this file")
	only := flag.String("only", "", "measure this alone: first-byte, tunnels, throughput, memory or decisions")
	serve := flag.Bool("serve-gate", false, "be the gate (started by gatebench itself)")
	flag.Parse()
	if *serve {
		serveGate(flag.Args(), *profile)
		return
	}
	if err := run(*quick, *only, *profile); err != nil {
		fmt.Fprintln(os.Stderr, "gatebench:", err)
		os.Exit(1)
	}
}

// bench is one run: the servers to reach, and the ways to reach them.
type bench struct {
	servers *servers
	ways    []*way // direct first, then the gate, then others
	scale   int    // how many turns, in tenths
}

func run(quick bool, only, profile string) (err error) {
	b := &bench{scale: 10}
	if quick {
		b.scale = 1
	}
	if b.servers, err = startServers(); err != nil {
		return err
	}
	defer b.servers.close()
	defer func() { err = errors.Join(err, b.stop()) }()
	if err := b.start(profile); err != nil {
		return err
	}
	fmt.Printf("Measured by `make gatebench` on %d processors, %s.\n\n", runtime.NumCPU(), runtime.Version())
	return b.measure(only)
}

// measure does one of the measurements, or all.
func (b *bench) measure(only string) error {
	found := false
	for _, m := range []struct {
		name string
		work func() error
	}{
		{"first-byte", b.firstByte}, {"tunnels", b.tunnels}, {"throughput", b.throughput},
		{"memory", b.idleMemory}, {"decisions", b.decisions},
	} {
		if only != "" && only != m.name {
			continue
		}
		found = true
		if err := m.work(); err != nil {
			return fmt.Errorf("measuring %s: %w", m.name, err)
		}
	}
	if !found {
		return fmt.Errorf("there is no measurement called %q", only)
	}
	return nil
}

// start brings up every way there is.
func (b *bench) start(profile string) error {
	b.ways = []*way{{name: "direct"}}
	gate, err := startGate(b.servers, 0, profile)
	if err != nil {
		return err
	}
	b.ways = append(b.ways, gate)
	for _, start := range []func(*servers) (*way, error){startTinyproxy, startSquid} {
		other, err := start(b.servers)
		if errors.Is(err, errMissing) {
			fmt.Fprintln(os.Stderr, "gatebench: skipped:", err)
			continue
		}
		if err != nil {
			return err
		}
		b.ways = append(b.ways, other)
	}
	return nil
}

func (b *bench) stop() error {
	var all error
	for _, w := range b.ways {
		all = errors.Join(all, w.stop())
	}
	return all
}

// turns is how often a measurement is repeated.
func (b *bench) turns(n int) int { return max(3, n*b.scale/10) }
