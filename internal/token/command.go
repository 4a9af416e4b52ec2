package token

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/agent-loop/ralph/internal/secret"
)

const (
	commandPatience = 30 * time.Second
	commandLifetime = time.Minute // for which its output is used again
	maxComplaint    = 2 << 10
)

// commandSource gets a credential from a program, and keeps it for a moment: a
// program for each request would be slow, and some ask their user something.
type commandSource struct {
	outside
	patience time.Duration

	mu    sync.Mutex
	last  Credential
	until time.Time
}

func newCommandSource(spec Spec, dir string) *commandSource {
	s := &commandSource{patience: commandPatience}
	s.outside = outside{spec: spec, fetch: func(ctx context.Context) (string, error) {
		return s.run(ctx, spec.Command, dir)
	}}
	return s
}

// Token is part of the Source interface.
func (s *commandSource) Token(ctx context.Context) (Credential, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Now().Before(s.until) {
		return s.last, nil
	}
	c, err := s.outside.Token(ctx)
	if err != nil {
		return Credential{}, err
	}
	s.last, s.until = c, time.Now().Add(commandLifetime)
	return c, nil
}

// Rejected is part of the Source interface.
func (s *commandSource) Rejected(ctx context.Context, c Credential) (Credential, error) {
	s.mu.Lock()
	if s.last.Secret.Equal(c.Secret.Reveal()) {
		s.until = time.Time{}
	}
	s.mu.Unlock()
	now, err := s.Token(ctx)
	if err != nil {
		return Credential{}, err
	}
	if now.Secret.Equal(c.Secret.Reveal()) {
		return Credential{}, &LoginError{Agent: s.spec.name(), Reason: Rejected,
			Detail: "the provider rejects what it prints", Fix: "run it yourself and see what it says"}
	}
	return now, nil
}

// run returns the first line that a program prints. What it complains of goes
// into the error, without the line.
func (s *commandSource) run(ctx context.Context, argv []string, dir string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, s.patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	stdout, stderr := &capped{most: MaxSize + 16}, &capped{most: maxComplaint}
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, stdout, stderr
	cmd.WaitDelay = time.Second // for a child of its own that keeps our pipes open
	endWithChildren(cmd)
	err := cmd.Run()
	line, _, _ := strings.Cut(string(stdout.kept), "\n")
	switch {
	case errors.Is(err, exec.ErrWaitDelay):
		err = nil // it ended well; only its child goes on
	case err != nil && ctx.Err() != nil && cmd.ProcessState != nil && !cmd.ProcessState.Exited():
		err = fmt.Errorf("it took longer than %v", s.patience)
	}
	if err == nil && strings.TrimSpace(line) == "" {
		err = errors.New("it printed nothing")
	}
	if err == nil {
		return line, nil
	}
	if said := strings.TrimSpace(string(stderr.kept)); said != "" {
		masked := secret.NewMasker(secret.New(strings.TrimSpace(line))).MaskString(said)
		err = fmt.Errorf("%w: it said %q", err, masked)
	}
	return "", err
}

// capped keeps the beginning of what is written to it.
type capped struct {
	kept []byte
	most int
}

func (c *capped) Write(p []byte) (int, error) {
	c.kept = append(c.kept, p[:min(c.most-len(c.kept), len(p))]...)
	return len(p), nil
}
