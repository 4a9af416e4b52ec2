// Command bench measures what a sandbox costs, with every engine in turn and
// beside the same work outside. All of it happens in one run on one machine,
// because only ratios carry over to another, and in rounds in which all take
// their turn, because a machine has other work to do. It prints a Markdown table.
//
//	bench RALPH
//
// Containers are measured if scripts/engines.sh has set engines up and says so in
// the environment.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: bench RALPH")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, ralph string) error {
	s, err := newSite(ctx, ralph)
	if err != nil {
		return err
	}
	defer s.close()
	all := s.contenders()
	for _, c := range all {
		s.open(c)
		defer c.close()
	}
	t := newTable(all)
	t.head()
	for _, m := range s.measures() {
		t.row(m, measureAll(ctx, m, all))
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	t.reasons()
	t.goals()
	return nil
}

// measures are the rows of the table.
func (s *site) measures() []measure {
	var all []measure
	all = append(all, s.starts()...)
	all = append(all, s.files()...)
	all = append(all, s.builds()...)
	all = append(all, s.streams()...)
	return append(all, s.crowds()...)
}
