package token

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/agent-loop/ralph/internal/secret"
)

const (
	// MaxSize is the length of the longest credential that is taken.
	MaxSize = 8 << 10

	minSize     = 8  // what a Masker masks
	minKeySize  = 24 // of a form that is known; real ones are longer
	setupTokens = 365 * 24 * time.Hour
)

// Parse reads a credential that a person gives for an agent. kind is "" to let
// the text decide. Space around the text does not count; anything else that a
// slip in copying leaves is refused. No error holds any of the text.
func Parse(agent string, kind Kind, text string, now time.Time) (Record, error) {
	if err := checkName(agent); err != nil {
		return Record{}, err
	}
	text = strings.TrimSpace(text)
	if err := checkText(text); err != nil {
		return Record{}, err
	}
	kind, err := decideKind(agent, kind, text)
	if err != nil {
		return Record{}, err
	}
	if err := kind.suits(agent); err != nil {
		return Record{}, err
	}
	r := Record{Agent: agent, Kind: kind, Secret: secret.New(text), StoredAt: now}
	if kind == SetupToken {
		r.ExpiresAt = now.Add(setupTokens)
	}
	return r, nil
}

// checkText takes what can stand in a header and came over in one piece.
func checkText(text string) error {
	switch {
	case text == "":
		return errors.New("the credential is empty")
	case len(text) > MaxSize:
		return fmt.Errorf("the credential is longer than %d bytes", MaxSize)
	case strings.ContainsAny(text, "\r\n"):
		return withHint(errors.New("the credential has more than one line"), "give the credential alone, on one line")
	case strings.HasPrefix(text, "\ufeff"):
		return withHint(errors.New("the credential begins with a byte order mark"), "save the file as UTF-8 without one")
	case len(text) < minSize:
		return fmt.Errorf("the credential is shorter than %d bytes", minSize)
	}
	for _, c := range text {
		switch {
		case c == ' ' || c == '\t':
			return withHint(errors.New("the credential has a space in it"), "give the credential alone, without quotes or words around it")
		case c <= ' ' || c == 0x7f:
			return errors.New("the credential has a control character in it")
		case c > '~':
			return withHint(errors.New("the credential has a character in it that is not ASCII"), "it may have been shortened or changed where it was copied from")
		}
	}
	return nil
}

// decideKind lets the beginning of a text say what it is.
func decideKind(agent string, asked Kind, text string) (Kind, error) {
	f, known := formOf(text)
	switch {
	case known && f.refused != "":
		return "", withHint(fmt.Errorf("this is %s", f.refused), getOne(agent))
	case asked == Bearer:
		return Bearer, nil
	case asked == ClaudeLogin:
		return "", withHint(errors.New("a Claude login is more than one token"), "ralph store-token --agent claude --import takes it over from Claude Code")
	case !known && asked == "":
		return "", withHint(errors.New("the credential begins like none that ralph knows"),
			"for the token of a gateway, say --kind bearer")
	case !known:
		return "", fmt.Errorf("this does not begin like the kind %s (%s)", asked, asked.Describe())
	case asked != "" && asked != f.kind:
		return "", withHint(fmt.Errorf("this is of the kind %s (%s), not of the kind %s", f.kind, f.kind.Describe(), asked), getOne(agent))
	}
	return f.kind, checkBody(f, text)
}

// checkBody finds placeholders and shortened copies.
func checkBody(f form, text string) error {
	whole := strings.Trim(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") == ""
	if len(text) < minKeySize || !whole || strings.Contains(text, "..") {
		return withHint(fmt.Errorf("this begins like the kind %s (%s), but is not a whole one", f.kind, f.kind.Describe()), "copy it again; it may have been cut off or wrapped")
	}
	return nil
}

// getOne says where the right credential for an agent comes from.
func getOne(agent string) string {
	switch agent {
	case "claude":
		return `"claude setup-token" prints a token (sk-ant-oat01-...), the Anthropic console gives API keys (sk-ant-api03-...)`
	case "codex":
		return "the OpenAI platform gives API keys (sk-...)"
	case "gemini":
		return "Google AI Studio gives API keys (AIza...)"
	}
	return "leave out --kind to let its beginning decide"
}
