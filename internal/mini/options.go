package mini

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"

	"github.com/agent-loop/ralph/internal/secret"
)

// The defaults of what is not set, and the bounds of what is read.
const (
	DefaultModel           = "claude-sonnet-5"
	DefaultMaxTurns        = 100
	DefaultMaxOutputTokens = 16_000
	DefaultWindow          = 200_000
	DefaultToolTimeout     = 10 * time.Minute
	DefaultBackoff         = time.Second

	MaxPrompt = 1 << 20
)

// Options is what one run of the agent is given. Zero numbers mean the default.
type Options struct {
	Model           string
	MaxTurns        int   // calls of the model
	MaxOutputTokens int64 // of one call
	Window          int64 // tokens that the model can hold, the answer among them
	System          string
	Dir             string // where commands run; the working directory if empty
	ToolTimeout     time.Duration
	Backoff         time.Duration // before the second try of a call; it doubles

	Access  Access
	Environ []string // of the commands, less the credentials

	In  io.Reader // the prompt
	Out io.Writer // the events
}

// Access is the way to the model.
type Access struct {
	BaseURL    string
	Credential secret.Secret
	Kind       Kind
}

// Kind is how the credential is shown.
type Kind int

// The kinds.
const (
	APIKey Kind = iota // in X-Api-Key
	Bearer             // in Authorization
	OAuth              // in Authorization, with the beta that goes with it
)

// credentialVariables are where the credential may be, the first that is set
// being the one, as in the provider's own agent.
var credentialVariables = []struct {
	name string
	kind Kind
}{
	{"ANTHROPIC_API_KEY", APIKey},
	{"ANTHROPIC_AUTH_TOKEN", Bearer},
	{"CLAUDE_CODE_OAUTH_TOKEN", OAuth},
}

// AccessFrom reads the way to the model from the environment. What is missing
// stays empty, and Run says so.
func AccessFrom(getenv func(string) string) Access {
	access := Access{BaseURL: getenv("ANTHROPIC_BASE_URL")}
	for _, v := range credentialVariables {
		if value := getenv(v.name); value != "" {
			access.Credential, access.Kind = secret.New(value), v.kind
			break
		}
	}
	return access
}

// check tells what is missing. An address is asked for although the provider's
// is known: only a sandbox gives one, and nothing here runs outside of one.
func (a Access) check() error {
	base, err := url.Parse(a.BaseURL)
	switch {
	case a.BaseURL == "":
		return errors.New("ANTHROPIC_BASE_URL is not set: this agent runs inside a sandbox, as in ralph exec --agent mini -- ralph mini")
	case err != nil || base.Host == "" || (base.Scheme != "http" && base.Scheme != "https"):
		return errors.New("ANTHROPIC_BASE_URL is not an http or https address")
	case a.Credential.Reveal() == "":
		return errors.New("no credential: set ANTHROPIC_API_KEY, ANTHROPIC_AUTH_TOKEN or CLAUDE_CODE_OAUTH_TOKEN")
	}
	return nil
}

// withDefaults fills in what was not set.
func (o Options) withDefaults() Options {
	setDefault(&o.Model, DefaultModel)
	setDefault(&o.MaxTurns, DefaultMaxTurns)
	setDefault(&o.MaxOutputTokens, DefaultMaxOutputTokens)
	setDefault(&o.Window, DefaultWindow)
	setDefault(&o.System, systemPrompt)
	setDefault(&o.ToolTimeout, DefaultToolTimeout)
	setDefault(&o.Backoff, DefaultBackoff)
	return o
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// check refuses what can come to no good before anything is spent.
func (o Options) check() error {
	if o.MaxTurns < 0 || o.MaxOutputTokens < 0 || o.ToolTimeout < 0 || o.MaxOutputTokens >= o.Window {
		return fmt.Errorf("limits out of range: %d turns, %d output tokens in a window of %d, %v for a command", o.MaxTurns, o.MaxOutputTokens, o.Window, o.ToolTimeout)
	}
	return o.Access.check()
}

// readPrompt reads what the agent is to do.
func readPrompt(in io.Reader) (string, error) {
	data, err := io.ReadAll(io.LimitReader(in, MaxPrompt+1))
	if err != nil {
		return "", fmt.Errorf("reading the prompt: %w", err)
	}
	if len(data) > MaxPrompt {
		return "", fmt.Errorf("the prompt is over %d bytes", MaxPrompt)
	}
	prompt := strings.ToValidUTF8(string(data), "\uFFFD")
	if strings.TrimSpace(prompt) == "" {
		return "", errors.New("no prompt on standard input")
	}
	return prompt, nil
}
