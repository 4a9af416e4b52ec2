package budget

import (
	"context"
	"errors"
	"fmt"

	"github.com/agent-loop/ralph/internal/lockfile"
)

// exclusively runs do while no other goroutine and no other process uses the
// ledger, with all that they wrote in the state.
func (l *Ledger) exclusively(ctx context.Context, do func() error) error {
	select {
	case l.turn <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("waiting for the ledger: %w", context.Cause(ctx))
	case <-l.open.Done():
		return ErrClosed
	}
	defer func() { <-l.turn }()
	if ctx.Err() != nil { // select picks any case that is ready
		return context.Cause(ctx)
	}
	if err := l.lock(ctx); err != nil {
		return fmt.Errorf("locking the ledger: %w", err)
	}
	return l.locked(do)
}

// lock takes the file's lock. A wait for it ends with ctx, or when Close begins.
func (l *Ledger) lock(ctx context.Context) error {
	if err := lockfile.Try(l.journal.file); !errors.Is(err, lockfile.ErrHeld) {
		return err // as nearly always, without what waiting costs
	}
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	defer context.AfterFunc(l.open, func() { end(ErrClosed) })()
	return lockfile.Wait(ctx, l.journal.file)
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

// locked runs do with the file's lock, which it gives back, in this goroutine's
// turn.
func (l *Ledger) locked(do func() error) error {
	err := l.journal.catchUp()
	if err == nil {
		err = do()
	}
	if unlocking := lockfile.Unlock(l.journal.file); unlocking != nil {
		return errors.Join(err, fmt.Errorf("unlocking the ledger: %w", unlocking))
	}
	return err
}

// shut is Close, once, when no new use of the ledger begins any more.
func (l *Ledger) shut() error {
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
	if err := lockfile.Wait(ctx, l.journal.file); err != nil {
		return fmt.Errorf("locking the ledger: %w", err)
	}
	return l.locked(func() error {
		return l.journal.append(record{Op: opEnd, Owner: l.owner.id})
	})
}
