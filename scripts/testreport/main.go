// Command testreport reads the output of go test -json and prints it for people:
// a line for each package, the failures with their output, what was skipped and
// why, and as its last line how many tests passed, failed and were skipped.
//
//	go test -json ./... | testreport [-no-skip PACKAGE] [-skipped TEXT]
//
// It fails if a test or a package failed, if nothing ran, and if a test of a
// -no-skip package was skipped. Each -skipped is listed as it is, for what was
// left out before the tests.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
)

func main() {
	var o options
	flag.Func("no-skip", "a `package` in which a skipped test is a failure", appendTo(&o.noSkip))
	flag.Func("skipped", "a `text` to list among what was skipped", appendTo(&o.skipped))
	flag.Parse()
	if err := report(os.Stdin, os.Stdout, o); err != nil {
		os.Exit(1)
	}
}

type options struct{ noSkip, skipped []string }

func appendTo(list *[]string) func(string) error {
	return func(s string) error {
		*list = append(*list, s)
		return nil
	}
}

// report prints everything. Its error, which it prints too, says that the tests do
// not count as passed.
func report(in io.Reader, out io.Writer, o options) error {
	r := results{noSkip: o.noSkip, byName: map[string]*result{}, builds: map[string]*clip{}}
	err := r.read(in, out)
	broken := r.printFailures(out)
	r.printSkipped(out, o.skipped)
	n := r.count()
	switch {
	case err != nil:
		err = fmt.Errorf("reading the output of go test: %w", err)
	case broken:
		err = errors.New("not everything passed")
	case n[passed] == 0:
		err = errors.New("no test ran")
	}
	if err != nil {
		fmt.Fprintf(out, "\n%v\n", err)
	}
	fmt.Fprintf(out, "%d passed, %d failed, %d skipped\n", n[passed], n[failed], n[skipped])
	return err
}
