// Command gitbench measures what the way of an agent's commits costs, on a
// repository of 50,000 commits and 20,000 files: the start of a clone beside plain
// git's own ways, the import of an iteration, and whether files are better kept in a
// folder of the host or in the sandbox's own file system. It prints Markdown tables.
//
//	gitbench [-cache DIR] [-calls] [-only PART] RALPH
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
)

func main() {
	if filepath.Base(os.Args[0]) == "git" {
		os.Exit(recordCall(os.Args))
	}
	cache := flag.String("cache", filepath.Join(os.TempDir(), "ralph-gitbench"), "where the repository is kept for the next time")
	calls := flag.Bool("calls", false, "list the git calls of a start and of an import instead, with their times")
	only := flag.String("only", "", "measure one part alone: start, import, verify or inside")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: gitbench [-cache DIR] [-calls] [-only PART] RALPH")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, flag.Arg(0), *cache, *only, *calls); err != nil {
		fmt.Fprintln(os.Stderr, "gitbench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, ralph, cache, only string, calls bool) (err error) {
	many, err := repository(ctx, cache)
	if err != nil {
		return err
	}
	b, err := newBench(ctx, ralph, many)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.folder)) }()
	if calls {
		return b.listCalls()
	}
	for _, part := range []struct {
		name    string
		measure func() error
	}{
		{"start", b.start},
		{"import", b.imports},
		{"verify", b.verify},
		{"inside", b.inside},
	} {
		if only != "" && only != part.name {
			continue
		}
		if err := part.measure(); err != nil {
			return fmt.Errorf("%s: %w", part.name, err)
		}
	}
	return nil
}
