package token

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Kind says what a credential is, and with that how it is sent.
type Kind string

// The kinds.
const (
	SetupToken   Kind = "setup-token"   // of "claude setup-token": good for a year, not renewed
	AnthropicKey Kind = "anthropic-key" // of the Anthropic console
	ClaudeLogin  Kind = "claude-login"  // of a login with Claude Code: hours, renewed by refresh token
	OpenAIKey    Kind = "openai-key"
	GeminiKey    Kind = "gemini-key"
	Bearer       Kind = "bearer" // anything that is sent as "Authorization: Bearer", as to a gateway
)

// Kinds lists all kinds.
func Kinds() []Kind {
	return []Kind{SetupToken, AnthropicKey, ClaudeLogin, OpenAIKey, GeminiKey, Bearer}
}

// Describe names the kind in a sentence.
func (k Kind) Describe() string {
	switch k {
	case SetupToken:
		return "Claude set-up token"
	case AnthropicKey:
		return "Anthropic API key"
	case ClaudeLogin:
		return "Claude login"
	case OpenAIKey:
		return "OpenAI API key"
	case GeminiKey:
		return "Gemini API key"
	case Bearer:
		return "bearer token"
	}
	return "credential of unknown kind"
}

// ParseKind reads the name of a kind.
func ParseKind(name string) (Kind, error) {
	if k := Kind(name); slices.Contains(Kinds(), k) {
		return k, nil
	}
	names := make([]string, len(Kinds()))
	for i, k := range Kinds() {
		names[i] = string(k)
	}
	return "", fmt.Errorf("there is no kind %q of credential; the kinds are %s", name, strings.Join(names, ", "))
}

// Upstream is the address of the provider that a kind belongs to, or "" for one
// that belongs to nobody in particular.
func (k Kind) Upstream() string {
	switch k {
	case SetupToken, AnthropicKey, ClaudeLogin:
		return "https://api.anthropic.com"
	case OpenAIKey:
		return "https://api.openai.com"
	case GeminiKey:
		return "https://generativelanguage.googleapis.com"
	}
	return ""
}

// agentKinds are the kinds that an agent can use. An agent that is not listed
// can use any.
var agentKinds = map[string][]Kind{
	"claude": {SetupToken, AnthropicKey, ClaudeLogin, Bearer},
	"codex":  {OpenAIKey, Bearer},
	"gemini": {GeminiKey, Bearer},
}

// suits tells whether an agent can use a kind, and why not.
func (k Kind) suits(agent string) error {
	may, ok := agentKinds[agent]
	if !ok || slices.Contains(may, k) {
		return nil
	}
	return withHint(fmt.Errorf("this is of the kind %s (%s), which %s cannot use", k, k.Describe(), agent),
		fmt.Sprintf("%s takes the kind %s", agent, may[0]))
}

// form is how credentials of one kind begin.
type form struct {
	prefix  string
	kind    Kind
	refused string // why none of this form is stored
}

// forms lists known beginnings, the longer of two alike first.
var forms = []form{
	{prefix: "sk-ant-oat", kind: SetupToken},
	{prefix: "sk-ant-api", kind: AnthropicKey},
	{prefix: "sk-ant-ort", refused: "a refresh token: it renews a login, and the login is worthless for everybody else from then on"},
	{prefix: "sk-ant-admin", refused: "an admin key: it manages an organisation and calls no model"},
	{prefix: "sk-ant-", refused: "an Anthropic credential of a form that ralph does not know"},
	{prefix: "sk-admin-", refused: "an admin key: it manages an organisation and calls no model"},
	{prefix: "sk-", kind: OpenAIKey},
	{prefix: "AIza", kind: GeminiKey},
	{prefix: "AQ.", kind: GeminiKey},
}

func formOf(text string) (form, bool) {
	for _, f := range forms {
		if strings.HasPrefix(text, f.prefix) {
			return f, true
		}
	}
	return form{}, false
}

// checkName takes what can be the name of an agent and, with a suffix, of a file.
func checkName(name string) error {
	ok := name != "" && len(name) <= 64 && !strings.HasPrefix(name, "-")
	for _, c := range []byte(name) {
		ok = ok && (c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '_')
	}
	if !ok {
		return withHint(errors.New("the name of a credential is not one"),
			"a name has up to 64 small letters, digits, dashes and underscores")
	}
	return nil
}
