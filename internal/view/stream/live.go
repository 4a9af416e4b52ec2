package stream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/agent-loop/ralph/internal/rundir"
)

const (
	drawEvery = 200 * time.Millisecond
	// mostAbove is how many finished lines wait for a terminal that takes nothing.
	mostAbove = 1000
)

// Live shows a run at the bottom of a terminal until nobody writes the run any
// more, or ctx ends: then it takes in what is in the record and returns. Iterations
// that end at event number from or later scroll by above, a line each. It leaves
// nothing else on the terminal, and does not touch the cursor's look.
//
// The record is read as fast as it is written; the terminal is drawn when there is
// time, at most five times a second. Size is called before each drawing.
func Live(ctx context.Context, out io.Writer, size func() (columns, rows int), r *rundir.Reader, from int64) error {
	ticks := time.NewTicker(drawEvery)
	defer ticks.Stop()
	l := live{screen: screen{out: out, size: size}, reader: r, from: from, now: time.Now}
	return l.run(ctx, ticks.C)
}

// live is a Live under way.
type live struct {
	screen screen
	reader *rundir.Reader
	from   int64
	now    func() time.Time

	mu     sync.Mutex // of what is read by one goroutine and shown by another
	model  *Model
	lines  *Lines
	above  []string // finished and not on the terminal yet
	missed int      // finished and never to be there
}

func (l *live) run(ctx context.Context, ticks <-chan time.Time) error {
	columns, _ := l.screen.bounds()
	l.model = NewModel(l.reader.ID())
	l.lines = NewLines(Options{Width: columns - 1, Zone: l.now().Location()})
	read, gone := make(chan error, 1), make(chan struct{})
	go func() { read <- l.read(ctx, gone) }()
	for {
		select {
		case err := <-read:
			return errors.Join(err, l.draw(true))
		case <-ticks:
			if err := l.draw(false); err != nil {
				close(gone)
				<-read
				return err
			}
		}
	}
}

// read takes in the record from its beginning: what a run has spent and how long
// it took is in what came before.
func (l *live) read(ctx context.Context, gone <-chan struct{}) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-gone:
			cancel()
		case <-ctx.Done():
		}
	}()
	for e, err := range follow(ctx, l.reader, 1) {
		if err != nil {
			return fmt.Errorf("following run %s: %w", l.reader.ID(), err)
		}
		select {
		case <-gone:
			return nil
		default:
			l.apply(e)
		}
	}
	return nil
}

func (l *live) apply(e rundir.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.model.Apply(e)
	if e.Type != rundir.EventIteration || e.Seq < l.from {
		l.lines.Skip(e)
		return
	}
	l.above = append(l.above, l.lines.Render(e)...)
	if over := len(l.above) - mostAbove; over > 0 {
		l.missed += over
		l.above = l.above[over:]
	}
}

// draw shows how the run stands, or nothing of it any more.
func (l *live) draw(over bool) error {
	columns, rows := l.screen.bounds()
	above, lines := l.look(columns)
	if over {
		lines = nil
	}
	if err := l.screen.draw(columns, rows, above, lines); err != nil {
		return fmt.Errorf("drawing: %w", err)
	}
	return nil
}

// look takes the finished lines and returns them and how the run stands.
func (l *live) look(columns int) (above, lines []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	above, l.above = l.above, nil
	if l.missed > 0 {
		above = append([]string{fmt.Sprintf("... %d lines more", l.missed)}, above...)
		l.missed = 0
	}
	l.lines.options.Width = columns - 1
	return above, l.model.View(l.now(), columns)
}
