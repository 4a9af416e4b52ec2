package gate

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/agent-loop/ralph/internal/secret"
)

// A shorter secret is not used: it could not be told from other text when an
// upstream sends it back. A longer one is hardly meant.
const (
	minSecret = 8
	maxSecret = 8 << 10
)

// source asks for a secret, one call at a time, so that one that hangs costs one
// goroutine and not one for each request.
type source struct {
	ask    func(context.Context) (secret.Secret, error)
	turn   chan struct{} // holds the one token when nobody asks
	guards secret.Guards // of what it gave
}

func newSource(ask func(context.Context) (secret.Secret, error)) *source {
	s := &source{ask: ask, turn: make(chan struct{}, 1)}
	s.turn <- struct{}{}
	return s
}

type answer struct {
	secret secret.Secret
	err    error
}

// get returns the secret, or an error when that takes longer than most.
func (s *source) get(ctx context.Context, most time.Duration) (secret.Secret, error) {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	select {
	case <-s.turn:
	case <-ctx.Done():
		return secret.Secret{}, fmt.Errorf("waiting for an earlier call: %w", ctx.Err())
	}
	done := make(chan answer, 1)
	go func() {
		found, err := s.ask(ctx)
		done <- answer{found, err}
		s.turn <- struct{}{}
	}()
	select {
	case got := <-done:
		return got.secret, got.err
	case <-ctx.Done():
		return secret.Secret{}, ctx.Err()
	}
}

// injection is a secret on its way into one request.
type injection struct {
	header, value string
	guard         *secret.Guard
}

// prepare asks for the secret and spells it as the header wants it.
func (b *binding) prepare(ctx context.Context, most time.Duration) (injection, error) {
	found, err := b.source.get(ctx, most)
	if err != nil {
		return injection{}, err
	}
	text := found.Reveal()
	switch {
	case text == "":
		return injection{}, errors.New("the secret is empty")
	case len(text) < minSecret:
		return injection{}, fmt.Errorf("the secret has fewer than %d characters", minSecret)
	case len(text) > maxSecret:
		return injection{}, fmt.Errorf("the secret has more than %d characters", maxSecret)
	}
	value := b.spell(text)
	if !httpguts.ValidHeaderFieldValue(value) {
		return injection{}, errors.New("the secret holds a character that no header can: is there a line end?")
	}
	return injection{header: b.header, value: value, guard: b.source.guards.For(found)}, nil
}

func (b *binding) spell(text string) string {
	if b.isBasic {
		return "Basic " + base64.StdEncoding.EncodeToString([]byte(b.basic+":"+text))
	}
	return strings.Replace(b.format, "{}", text, 1)
}
