package token

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/agent-loop/ralph/internal/secret"
)

// The words of Spec.From.
const (
	FromEnv     = "env"
	FromFile    = "file"
	FromCommand = "command"
	FromStore   = "store"
)

// Spec says where a credential comes from, as a user's configuration does.
type Spec struct {
	From    string
	Name    string   // of the variable, for "env"; of the credential, for "store"
	Path    string   // for "file"
	Command []string // for "command"
	Kind    Kind     // Bearer if empty; a stored credential knows its own
}

// Host is what sources need of the machine they run on.
type Host struct {
	Getenv func(string) string
	Home   string // where commands run
	Store  *Store
}

// From makes the source that a spec describes. It looks at nothing yet: what is
// missing shows when the source is asked.
//
// A file must be private, as the files of the store are, but may belong to root.
// The output of a command is used for a minute, or until it is rejected.
func From(spec Spec, host Host) (Source, error) {
	if spec.Kind == "" {
		spec.Kind = Bearer
	}
	if err := spec.check(); err != nil {
		return nil, err
	}
	switch spec.From {
	case FromStore:
		return host.Store.Source(spec.Name), nil
	case FromEnv:
		return &outside{spec: spec, fetch: func(context.Context) (string, error) { return fromEnv(spec.Name, host.Getenv) }}, nil
	case FromFile:
		return &outside{spec: spec, fetch: func(context.Context) (string, error) { return fromFile(ExpandHome(spec.Path, host.Home)) }}, nil
	default:
		return newCommandSource(spec, host.Home), nil
	}
}

// check finds what is missing from a spec, and what stands there to no purpose.
func (s Spec) check() error {
	given := map[string]bool{
		FromEnv: s.Name != "", FromStore: s.Name != "", FromFile: s.Path != "", FromCommand: len(s.Command) > 0,
	}
	needs := map[string]string{FromEnv: "a name", FromStore: "a name", FromFile: "a path", FromCommand: "a command"}
	need, known := needs[s.From]
	switch {
	case !known:
		return fmt.Errorf(`a credential comes from "env", "file", "command" or "store", not from %q`, s.From)
	case !given[s.From]:
		return fmt.Errorf("a credential from %q needs %s", s.From, need)
	}
	for other, is := range given {
		if is && needs[other] != need {
			return fmt.Errorf("a credential from %q has no use for %s", s.From, needs[other])
		}
	}
	if _, err := ParseKind(string(s.Kind)); err != nil {
		return err
	}
	return s.checkPlace()
}

// checkPlace refuses what would depend on the current folder, which may be one
// that agents write to.
func (s Spec) checkPlace() error {
	switch s.From {
	case FromFile:
		if !filepath.IsAbs(s.Path) && !strings.HasPrefix(s.Path, "~/") {
			return fmt.Errorf("the path %q of a credential is neither absolute nor begins with ~/", s.Path)
		}
	case FromCommand:
		if program := s.Command[0]; strings.ContainsAny(program, `/\`) && !filepath.IsAbs(program) {
			return fmt.Errorf("the program %q of a credential is neither absolute nor a name", program)
		}
	case FromStore:
		return checkName(s.Name)
	}
	return nil
}

// ExpandHome puts the home directory in the place of a leading ~/.
func ExpandHome(path, home string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		return filepath.Join(home, rest)
	}
	return path
}

// outside is a credential that somebody else looks after.
type outside struct {
	spec  Spec
	fetch func(context.Context) (string, error)
}

// Token is part of the Source interface.
func (o *outside) Token(ctx context.Context) (Credential, error) {
	text, err := o.fetch(ctx)
	if err == nil {
		text = strings.TrimSpace(text)
		err = checkText(text)
	}
	if err != nil {
		return Credential{}, fmt.Errorf("getting a credential from %s: %w", o.spec.name(), err)
	}
	return Credential{Kind: o.spec.Kind, Secret: secret.New(text)}, nil
}

// Rejected is part of the Source interface.
func (o *outside) Rejected(ctx context.Context, c Credential) (Credential, error) {
	now, err := o.Token(ctx)
	if err != nil {
		return Credential{}, err
	}
	if now.Secret.Equal(c.Secret.Reveal()) {
		return Credential{}, &LoginError{Agent: o.spec.name(), Reason: Rejected,
			Detail: "the provider rejects it", Fix: "put a new one there"}
	}
	return now, nil
}

// name says in a few words where the credential comes from.
func (s Spec) name() string {
	switch s.From {
	case FromEnv:
		return "the variable " + s.Name
	case FromFile:
		return "the file " + s.Path
	case FromCommand:
		return "the command " + s.Command[0]
	}
	return "the store"
}

func fromEnv(name string, getenv func(string) string) (string, error) {
	value := getenv(name)
	if value == "" {
		return "", withHint(errors.New("it is not set"), "export "+name+"=... before you start ralph")
	}
	return value, nil
}

// fromFile follows links: the path is the user's own word.
func fromFile(path string) (string, error) {
	data, err := readPrivate(path, MaxSize+16, checkReadable) // room for the space around it
	return string(data), err
}
