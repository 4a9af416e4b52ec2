package budget

import (
	"context"
	"errors"
	"fmt"
)

// exclusively runs do while no other goroutine and no other process uses the
// ledger, with all that they wrote in the state.
func (l *Ledger) exclusively(ctx context.Context, do func() error) error {
	select {
	case l.turn <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("waiting for the ledger: %w", context.Cause(ctx))
	case <-l.closing:
		return ErrClosed
	}
	defer func() { <-l.turn }()
	if ctx.Err() != nil { // select picks any case that is ready
		return context.Cause(ctx)
	}
	return l.locked(ctx, l.closing, do)
}

// briefly is exclusively, for callers without a context.
func (l *Ledger) briefly(do func() error) error {
	ctx, stop := patiently()
	defer stop()
	return l.exclusively(ctx, do)
}

func patiently() (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(context.Background(), patience,
		fmt.Errorf("another process has kept the ledger's lock for %v", patience))
}

// locked runs do with the file's lock, in this goroutine's turn.
func (l *Ledger) locked(ctx context.Context, abort <-chan struct{}, do func() error) error {
	if err := lock(ctx, l.journal.file, abort); err != nil {
		return fmt.Errorf("locking the ledger: %w", err)
	}
	err := l.journal.catchUp()
	if err == nil {
		err = do()
	}
	if unlocking := unlock(l.journal.file); unlocking != nil {
		return errors.Join(err, fmt.Errorf("unlocking the ledger: %w", unlocking))
	}
	return err
}

// shut is Close, once.
func (l *Ledger) shut() error {
	close(l.closing)
	l.turn <- struct{}{} // never given back
	err := l.forfeitOpen()
	if l.owner != nil {
		l.owner.close()
	}
	if err = errors.Join(err, l.journal.file.Close()); err != nil {
		return fmt.Errorf("closing the ledger: %w", err)
	}
	return nil
}

// forfeitOpen ends our open holds. Where that cannot be written, the next to look
// finds our lock free.
func (l *Ledger) forfeitOpen() error {
	if l.owner == nil || !l.journal.state.owners()[l.owner.id] {
		return nil
	}
	ctx, stop := patiently()
	defer stop()
	return l.locked(ctx, nil, func() error {
		return l.journal.append(record{Op: opEnd, Owner: l.owner.id})
	})
}
