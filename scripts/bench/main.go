// Command bench measures what a sandbox costs. Everything is compared with the
// same work outside, in one run on one machine, because only ratios carry over
// to another. It prints a Markdown table.
//
//	bench RALPH [DOCKER-IMAGE]
package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: bench RALPH [DOCKER-IMAGE]")
		os.Exit(2)
	}
	if err := run(context.Background(), os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, ralph string, image []string) error {
	b, err := newBench(ctx, ralph)
	if err != nil {
		return err
	}
	defer b.close()
	fmt.Println("| what | outside | in ralph | ratio | other |")
	fmt.Println("|---|---|---|---|---|")
	for _, measure := range []func() error{
		func() error { return b.coldStart(image) },
		b.warmExec,
		b.version,
		withTool("git", b.gitStatus),
		b.unpack,
		b.goBuild,
		withTool("curl", b.download),
		b.idleMemory,
		b.fifty,
	} {
		if err := measure(); err != nil {
			return err
		}
	}
	return nil
}

// withTool leaves a measurement out where its tool is missing; bench.sh says so.
func withTool(name string, measure func() error) func() error {
	if _, err := exec.LookPath(name); err != nil {
		return func() error { return nil }
	}
	return measure
}

// row prints one comparison of times.
func row(what string, outside, inside time.Duration, other string) {
	fmt.Printf("| %s | %s | %s | %.1f | %s |\n", what, show(outside), show(inside), float64(inside)/float64(outside), other)
}

func show(d time.Duration) string {
	if d < time.Second {
		return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond))
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}

// median runs work n times and returns the middle time.
func median(n int, work func() error) (time.Duration, error) {
	times := make([]time.Duration, n)
	for i := range times {
		began := time.Now()
		if err := work(); err != nil {
			return 0, err
		}
		times[i] = time.Since(began)
	}
	slices.Sort(times)
	return times[n/2], nil
}

// host runs a command outside any sandbox.
func host(dir string, args ...string) error {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}
