package token

import (
	"context"
	"errors"
	"fmt"
)

// Store keeps the credentials of the user. It looks in the keyring and in files,
// and of two copies the newer one counts.
type Store struct {
	files  files
	places []place // in the order in which they are wanted
}

// place is where records lie, as bytes. Each method returns errNone when there
// is no such credential.
type place interface {
	get(ctx context.Context, name string) ([]byte, error)
	put(ctx context.Context, name string, data []byte) error
	remove(ctx context.Context, name string) error
	where(name string) string
}

// StoreVariable forces one place: "file" or "keyring".
const StoreVariable = "RALPH_TOKEN_STORE"

// OpenStore makes a store that keeps its files in a folder of its own, dir, and
// locks there, too. Nothing is created or asked before the store is used.
func OpenStore(dir string, getenv func(string) string) (*Store, error) {
	f := files{dir}
	r := &ring{patience: keyringPatience, reach: func() error { return reachKeyring(getenv) }}
	switch choice := getenv(StoreVariable); choice {
	case "":
		return &Store{files: f, places: []place{r, f}}, nil
	case "file":
		return &Store{files: f, places: []place{f}}, nil
	case "keyring":
		return &Store{files: f, places: []place{r}}, nil
	default:
		return nil, withHint(fmt.Errorf("%s is %q", StoreVariable, choice), `it can be "file" or "keyring", or not be set`)
	}
}

// Load returns the record of an agent and says where it lies. When there is
// none, the error is a *LoginError.
func (s *Store) Load(ctx context.Context, agent string) (r Record, where string, err error) {
	r, p, err := s.load(ctx, agent)
	if err != nil {
		return Record{}, "", err
	}
	return r, p.where(agent), nil
}

func (s *Store) load(ctx context.Context, agent string) (Record, place, error) {
	if err := checkName(agent); err != nil {
		return Record{}, nil, err
	}
	var newest Record
	var at place
	var silent error // why a place was not looked at
	for _, p := range s.places {
		r, err := read(ctx, p, agent)
		switch {
		case isUnreachable(err) && len(s.places) > 1:
			silent = err
		case errors.Is(err, errNone):
		case err != nil:
			return Record{}, nil, err
		case at == nil || r.changed().After(newest.changed()):
			newest, at = r, p
		}
	}
	if at == nil {
		return Record{}, nil, missing(agent, silent)
	}
	return newest, at, nil
}

func missing(agent string, silent error) error {
	e := &LoginError{Agent: agent, Reason: Missing, Detail: "none is stored", Fix: storeIt(agent)}
	if silent != nil {
		e.Detail += " in a file, and " + silent.Error()
	}
	return e
}

func read(ctx context.Context, p place, agent string) (Record, error) {
	data, err := p.get(ctx, agent)
	if err != nil {
		return Record{}, err
	}
	r, err := decode(data)
	if err == nil && r.Agent != agent {
		err = fmt.Errorf("it is for %s", r.Agent)
	}
	if err != nil {
		return Record{}, withHint(fmt.Errorf("reading the credential for %s from %s: %w", agent, p.where(agent), err),
			"ralph forget-token --agent "+agent+" removes it")
	}
	return r, nil
}

func isUnreachable(err error) bool {
	var u unreachableError
	return errors.As(err, &u)
}

// Save stores a new credential in place of an older one, and says where, in
// words for the user. On an error the older one is still there. A login whose
// refresh token was sent from here already is refused.
func (s *Store) Save(ctx context.Context, r Record) (where string, err error) {
	if !r.Refresh.IsZero() {
		r.Origin = digest(r.Refresh)
	}
	data, err := r.encode()
	if err != nil {
		return "", fmt.Errorf("storing the credential for %s: %w", r.Agent, err)
	}
	unlock, err := s.lock(ctx, r.Agent)
	if err != nil {
		return "", err
	}
	defer unlock()
	if old, _, err := s.load(ctx, r.Agent); err == nil && old.spent(r.Refresh) {
		return "", withHint(fmt.Errorf("storing the credential for %s: ralph has used the refresh token of this login already, and it works once", r.Agent),
			fmt.Sprintf("what is stored is newer; if it does not work, log in again with %q, and import that login", r.Agent))
	}
	var instead error
	for i, p := range s.places {
		err := p.put(ctx, r.Agent, data)
		if isUnreachable(err) && i < len(s.places)-1 {
			instead = err
			continue
		}
		if err != nil {
			return "", storingFailed(r.Agent, err)
		}
		s.removeOthers(ctx, r.Agent, i)
		return describe(p, r.Agent, instead), nil
	}
	return "", errors.New("there is no place to store credentials")
}

func storingFailed(agent string, err error) error {
	err = fmt.Errorf("storing the credential for %s: %w", agent, err)
	if isUnreachable(err) {
		return withHint(err, "unlock the keyring, or set "+StoreVariable+"=file to keep it in a file")
	}
	return err
}

func describe(p place, agent string, instead error) string {
	if _, ok := p.(files); !ok {
		return p.where(agent)
	}
	text := p.where(agent) + ", readable by you alone, not encrypted"
	if instead != nil {
		text += ": " + instead.Error()
	}
	return text
}

// removeOthers removes the copies that a new credential replaces. One that a
// keyring keeps because it is not reachable is older, and does not count.
func (s *Store) removeOthers(ctx context.Context, agent string, kept int) {
	for i, p := range s.places {
		if i != kept {
			_ = p.remove(ctx, agent)
		}
	}
}

// Forget removes the credential of an agent from everywhere, and says from where
// it was removed.
func (s *Store) Forget(ctx context.Context, agent string) (from []string, err error) {
	if err := checkName(agent); err != nil {
		return nil, err
	}
	unlock, err := s.lock(ctx, agent)
	if err != nil {
		return nil, err
	}
	defer unlock()
	var errs []error
	for _, p := range s.places {
		err := p.remove(ctx, agent)
		switch {
		case err == nil:
			from = append(from, p.where(agent))
		case errors.Is(err, errNone), errors.Is(err, errNoBus):
		default:
			errs = append(errs, fmt.Errorf("removing the credential for %s: %w", agent, err))
		}
	}
	return from, errors.Join(errs...)
}
