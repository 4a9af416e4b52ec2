package stream

import (
	"context"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"

	"github.com/agent-loop/ralph/internal/rundir"
)

// Query says which events Print prints, and how.
type Query struct {
	Options
	JSON      bool     // as they stand in the record, one a line
	Follow    bool     // and those to come, until nobody writes the run
	Last      int      // only so many that there are now; 0: all
	Iteration int      // only those of one; 0: all
	Types     []string // only these; none: all
}

func (q Query) wants(e rundir.Event) bool {
	return (q.Iteration == 0 || e.Iteration == q.Iteration) && (len(q.Types) == 0 || slices.Contains(q.Types, e.Type))
}

// Plain prints the events of a run from number from on as lines until nobody
// writes the run any more, or ctx ends: then it prints what is in the record and
// returns.
func Plain(ctx context.Context, out io.Writer, r *rundir.Reader, from int64, o Options) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p := printer{out: &lateWriter{out: out, failed: cancel}, lines: NewLines(o)}
	return p.finish(p.all(context.Background(), follow(ctx, r, from)))
}

// Print prints events. The end of ctx ends it at once: that is an error, unless
// it follows.
func Print(ctx context.Context, out io.Writer, r *rundir.Reader, q Query) (err error) {
	printing, cancel := context.WithCancel(ctx)
	defer cancel()
	p := printer{query: q, out: &lateWriter{out: out, failed: cancel}, lines: NewLines(q.Options)}
	if q.JSON {
		if p.raw, err = openRaw(r); err != nil {
			return err
		}
		defer p.raw.close()
	}
	err = p.print(printing, r)
	if q.Follow && ctx.Err() != nil {
		err = nil
	}
	return p.finish(err)
}

// printer is a Print under way.
type printer struct {
	query Query
	out   *lateWriter
	lines *Lines
	raw   *rawLines // nil unless lines are printed as they are
	next  int64     // the event after the last that was read
}

func (p *printer) print(ctx context.Context, r *rundir.Reader) error {
	if p.query.Last > 0 {
		if err := p.tail(ctx, r); err != nil || !p.query.Follow {
			return err
		}
	}
	if p.query.Follow {
		return p.all(ctx, r.Follow(ctx, p.next))
	}
	return p.all(ctx, r.Events(p.next))
}

// all prints events as they come.
func (p *printer) all(ctx context.Context, events iter.Seq2[rundir.Event, error]) error {
	return p.each(ctx, events, p.put)
}

// each shows events one by one, until ctx ends.
func (p *printer) each(ctx context.Context, events iter.Seq2[rundir.Event, error], take func(lines []string) error) error {
	for e, err := range events {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		lines, err := p.show(e)
		if err == nil {
			err = take(lines)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// put prints lines.
func (p *printer) put(lines []string) error {
	for _, line := range lines {
		if err := p.out.print(line); err != nil {
			return err
		}
	}
	return nil
}

// tail prints the last events of those that are there.
func (p *printer) tail(ctx context.Context, r *rundir.Reader) error {
	var last [][]string
	err := p.each(ctx, r.Events(1), func(lines []string) error {
		if len(lines) > 0 {
			last = keep(append(last, lines), p.query.Last)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return p.put(slices.Concat(last[max(0, len(last)-p.query.Last):]...))
}

// keep drops what is not among the last, now and then.
func keep(all [][]string, most int) [][]string {
	if len(all)/2 < most {
		return all
	}
	return append(all[:0], all[len(all)-most:]...)
}

// show returns the lines of an event, none if it is not wanted.
func (p *printer) show(e rundir.Event) ([]string, error) {
	p.next = e.Seq + 1
	wanted := p.query.wants(e)
	if p.raw == nil {
		if !wanted {
			p.lines.Skip(e)
			return nil, nil
		}
		return p.lines.Render(e), nil
	}
	line, err := p.raw.next(e)
	if err != nil || !wanted {
		return nil, err
	}
	if p.query.Width > 0 {
		return []string{visible(string(line))}, nil
	}
	return []string{string(line)}, nil
}

// finish prints the words that nothing followed, and waits until all is written.
// An output that failed is the cause of whatever else ended the printing.
func (p *printer) finish(err error) error {
	for _, line := range p.lines.Flush() {
		_ = p.out.print(line) // close says what went wrong
	}
	if failed := p.out.close(); failed != nil {
		return fmt.Errorf("printing: %w", failed)
	}
	return err
}

// visible writes what a terminal would obey or hide with JSON's escapes: the JSON
// means the same.
func visible(line string) string {
	hidden := func(r rune) bool { return r >= 0x7f && !unicode.IsPrint(r) }
	if strings.IndexFunc(line, hidden) < 0 {
		return line
	}
	var b strings.Builder
	for _, r := range line {
		switch {
		case !hidden(r):
			b.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}
