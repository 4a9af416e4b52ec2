package token

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/zalando/go-keyring"
)

const (
	service = "ralph"

	// keyringPatience is how long a keyring may take. It may ask its user for a
	// password; an unattended run must not wait for that.
	keyringPatience = 10 * time.Second
)

// unreachableError means that the keyring does not do its work here.
type unreachableError struct{ error }

func (e unreachableError) Unwrap() error { return e.error }

// ring is the keyring of the system: the macOS keychain, the Windows credential
// manager, or the Secret Service of a Linux desktop.
type ring struct {
	patience time.Duration
	reach    func() error // tells beforehand why there is no keyring

	mu   sync.Mutex
	gone error // once it did not answer, it is not asked again
}

func (*ring) where(string) string { return "the keyring of this system" }

// call does f, but does not wait for it any longer than patience: a keyring
// cannot be interrupted.
func (r *ring) call(ctx context.Context, f func() error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.gone != nil {
		return r.gone
	}
	if err := r.reach(); err != nil {
		r.gone = unreachableError{err}
		return r.gone
	}
	done := make(chan error, 1)
	go func() { done <- f() }()
	timer := time.NewTimer(r.patience)
	defer timer.Stop()
	select {
	case err := <-done:
		return r.sort(err)
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		r.gone = unreachableError{fmt.Errorf("the keyring did not answer within %v", r.patience)}
		return r.gone
	}
}

// sort tells a keyring that says no from one that is not there.
func (r *ring) sort(err error) error {
	switch {
	case err == nil, errors.Is(err, errNone):
		return err
	case errors.Is(err, keyring.ErrNotFound):
		return errNone
	case errors.Is(err, keyring.ErrSetDataTooBig):
		return unreachableError{errors.New("the credential is too long for the keyring")}
	}
	return unreachableError{fmt.Errorf("the keyring failed: %w", err)}
}

func (r *ring) get(ctx context.Context, name string) ([]byte, error) {
	result := make(chan string, 1) // a call that was given up may still end
	err := r.call(ctx, func() error {
		text, err := keyring.Get(service, name)
		result <- text
		return err
	})
	if err != nil {
		return nil, err
	}
	return []byte(<-result), nil
}

// put reads back what it wrote: not every keyring tells when it did not store.
func (r *ring) put(ctx context.Context, name string, data []byte) error {
	return r.call(ctx, func() error {
		if err := keyring.Set(service, name, string(data)); err != nil {
			return err
		}
		got, err := keyring.Get(service, name)
		if err == nil && got != string(data) {
			err = errors.New("it did not keep what it was given")
		}
		return err
	})
}

func (r *ring) remove(ctx context.Context, name string) error {
	return r.call(ctx, func() error { return keyring.Delete(service, name) })
}
