package token

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const (
	// ahead is how long before its end a credential is renewed.
	ahead = 5 * time.Minute

	// tooSoon is the time after a renewal within which a rejection is no reason
	// to renew again: the provider would reject the next one, too.
	tooSoon = time.Minute

	// pause is the time between attempts to renew while the old one still works.
	pause = 30 * time.Second
)

// storedSource is the credential of an agent in a store. What it has read is
// used until it expires or is rejected; then the store is read again, as the user or
// another process may have put a new one there.
type storedSource struct {
	store *Store
	agent string
	now   func() time.Time

	turn    chan struct{} // holds one element: who takes it may use what follows
	current Record
	retryAt time.Time
}

// Source returns the stored credential of an agent as a Source. It renews the
// ones that can be renewed, for all processes on this machine.
func (s *Store) Source(agent string) Source { return newStoredSource(s, agent, time.Now) }

func newStoredSource(s *Store, agent string, now func() time.Time) *storedSource {
	source := &storedSource{store: s, agent: agent, now: now, turn: make(chan struct{}, 1)}
	source.turn <- struct{}{}
	return source
}

func (s *storedSource) take(ctx context.Context) error {
	select {
	case <-s.turn:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *storedSource) give() { s.turn <- struct{}{} }

// Token is part of the Source interface.
func (s *storedSource) Token(ctx context.Context) (Credential, error) {
	if err := s.take(ctx); err != nil {
		return Credential{}, err
	}
	defer s.give()
	if !s.current.Secret.IsZero() && s.good(s.current) {
		return s.current.Credential(), nil
	}
	r, _, err := s.store.load(ctx, s.agent)
	if err != nil {
		return Credential{}, err
	}
	if !s.good(r) {
		if r, err = s.renew(ctx, Credential{}); err != nil {
			return Credential{}, err
		}
	}
	s.current = r
	return r.Credential(), nil
}

// good tells whether a record can be used without thinking of renewal.
func (s *storedSource) good(r Record) bool {
	if !r.Renewable() || s.now().Before(s.retryAt) {
		return !r.expired(s.now())
	}
	return !r.expired(s.now().Add(ahead))
}

// Rejected is part of the Source interface.
func (s *storedSource) Rejected(ctx context.Context, c Credential) (Credential, error) {
	if err := s.take(ctx); err != nil {
		return Credential{}, err
	}
	defer s.give()
	if replaced(s.current, c) && s.good(s.current) {
		return s.current.Credential(), nil
	}
	r, err := s.renew(ctx, c)
	if err != nil {
		return Credential{}, err
	}
	s.current = r
	return r.Credential(), nil
}

// replaced tells whether a record holds something other than c.
func replaced(r Record, c Credential) bool {
	return !r.Secret.IsZero() && !r.Secret.Equal(c.Secret.Reveal())
}

// renew gets a credential other than the rejected one, if there is such, and one
// that does not expire soon: from the store if somebody put it there, else from
// the provider. When renewing fails but the old one still works, that is used.
func (s *storedSource) renew(ctx context.Context, rejected Credential) (Record, error) {
	unlock, err := s.store.lock(ctx, s.agent)
	if err != nil {
		return Record{}, err
	}
	defer unlock()
	old, at, err := s.store.load(ctx, s.agent)
	if err != nil {
		return Record{}, err
	}
	if replaced(old, rejected) && s.good(old) {
		return old, nil
	}
	if err := s.mayRenew(old, rejected); err != nil {
		return Record{}, err
	}
	// From here on an interrupt comes too late: a refresh token that is sent
	// must bring its answer home.
	renewed, err := s.spend(context.WithoutCancel(ctx), old, at)
	if err != nil && replaced(old, rejected) && !old.expired(s.now()) {
		s.retryAt = s.now().Add(pause)
		return old, nil
	}
	return renewed, err
}

// mayRenew says why a record cannot be renewed.
func (s *storedSource) mayRenew(r Record, rejected Credential) error {
	e := &LoginError{Agent: s.agent, Fix: storeIt(s.agent)}
	switch {
	case !r.RefreshSent.IsZero():
		return s.interrupted(r)
	case r.Refresh.IsZero() && r.expired(s.now()):
		e.Reason, e.Detail = Expired, fmt.Sprintf("the %s has expired on %s", r.Kind.Describe(), r.ExpiresAt.Format(time.DateOnly))
	case r.Refresh.IsZero():
		e.Reason, e.Detail = Rejected, fmt.Sprintf("the provider rejects the %s", r.Kind.Describe())
	case !replaced(r, rejected) && s.now().Sub(r.RefreshedAt) < tooSoon:
		e.Reason, e.Detail = Rejected, "the provider rejects what it has given out a moment ago"
	default:
		return nil
	}
	return e
}

// spend sends the refresh token, with the steps in the order that leaves a trace
// of every crash.
func (s *storedSource) spend(ctx context.Context, old Record, at place) (Record, error) {
	marked := old
	marked.RefreshSent = s.now()
	if err := s.put(ctx, at, marked); err != nil {
		return Record{}, err
	}
	limited, cancel := context.WithTimeout(ctx, refreshPatience)
	defer cancel()
	renewed, err := refresh(limited, old, s.now)
	switch {
	case err == nil:
		return renewed, s.keep(ctx, at, renewed)
	case errors.Is(err, errUnsent):
		return Record{}, errors.Join(fmt.Errorf("renewing the credential for %s: %w", s.agent, err), s.put(ctx, at, old))
	case errors.Is(err, errRefused):
		return Record{}, &LoginError{Agent: s.agent, Reason: Rejected, Detail: err.Error(), Fix: logIn(s.agent)}
	default:
		return Record{}, &LoginError{Agent: s.agent, Reason: Interrupted, Detail: err.Error(), Fix: logIn(s.agent)}
	}
}

// keep stores a new pair. The store took the mark a moment ago, so it hardly
// ever fails; but this pair cannot be had again.
func (s *storedSource) keep(ctx context.Context, at place, renewed Record) error {
	var err error
	for range 3 {
		if err = s.put(ctx, at, renewed); err == nil {
			return nil
		}
	}
	return &LoginError{Agent: s.agent, Reason: Interrupted, Detail: "it was renewed and could not be stored: " + err.Error(), Fix: logIn(s.agent)}
}

func (s *storedSource) put(ctx context.Context, at place, r Record) error {
	data, err := r.encode()
	if err == nil {
		err = at.put(ctx, s.agent, data)
	}
	if err != nil {
		return fmt.Errorf("storing the credential for %s: %w", s.agent, err)
	}
	return nil
}

func (s *storedSource) interrupted(r Record) error {
	return &LoginError{Agent: s.agent, Reason: Interrupted, Fix: logIn(s.agent),
		Detail: fmt.Sprintf("renewing it on %s was not finished, and its refresh token may be spent", r.RefreshSent.Local().Format(time.DateTime))}
}

// logIn is the way on after a login that ended.
func logIn(agent string) string {
	return fmt.Sprintf("log in again with %q and take the new login over with %q, or store a set-up token with %q", agent, storeIt(agent)+" --import", storeIt(agent))
}
