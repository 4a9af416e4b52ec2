package token

import (
	"errors"
	"strings"
	"testing"
	"time"
)

const body = "Zm9vYmFyYmF6cXV4_abcdef-012345"

func TestParse(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, test := range []struct {
		name, agent string
		kind        Kind
		text        string
		want        Kind
		wantErr     string
	}{
		{"set-up token", "claude", "", "sk-ant-oat01-" + body, SetupToken, ""},
		{"with space around it", "claude", "", " \tsk-ant-oat01-" + body + "\r\n", SetupToken, ""},
		{"named as such", "claude", SetupToken, "sk-ant-oat01-" + body, SetupToken, ""},
		{"Anthropic key", "claude", "", "sk-ant-api03-" + body, AnthropicKey, ""},
		{"OpenAI key", "codex", "", "sk-proj-" + body, OpenAIKey, ""},
		{"Gemini key", "gemini", "", "AIza" + body, GeminiKey, ""},
		{"any key for an agent that takes any", "opencode", "", "sk-ant-api03-" + body, AnthropicKey, ""},
		{"a gateway's token", "claude", Bearer, "whatever-it-is=/+", Bearer, ""},
		{"a gateway's token that looks like a key", "codex", Bearer, "sk-1234567", Bearer, ""},

		{"an API key for a set-up token", "claude", SetupToken, "sk-ant-api03-" + body, "", "of the kind anthropic-key (Anthropic API key), not of the kind setup-token"},
		{"a set-up token for an API key", "claude", AnthropicKey, "sk-ant-oat01-" + body, "", "of the kind setup-token (Claude set-up token), not of the kind anthropic-key"},
		{"a refresh token", "claude", "", "sk-ant-ort01-" + body, "", "this is a refresh token"},
		{"a refresh token as a gateway's", "claude", Bearer, "sk-ant-ort01-" + body, "", "this is a refresh token"},
		{"an admin key", "claude", "", "sk-ant-admin01-" + body, "", "this is an admin key"},
		{"of a form to come", "claude", "", "sk-ant-xyz99-" + body, "", "does not know"},
		{"another provider's", "claude", "", "sk-proj-" + body, "", "openai-key (OpenAI API key), which claude cannot use"},
		{"the other way round", "codex", "", "sk-ant-api03-" + body, "", "which codex cannot use"},
		{"unknown", "claude", "", "some-other-thing", "", "begins like none"},
		{"a login from a person", "claude", ClaudeLogin, "sk-ant-oat01-" + body, "", "more than one token"},

		{"empty", "claude", "", "", "", "is empty"},
		{"space alone", "claude", "", " \n\t ", "", "is empty"},
		{"two lines", "claude", "", "sk-ant-oat01-" + body + "\nsk-ant-oat01-" + body, "", "more than one line"},
		{"a word before it", "claude", "", "export TOKEN=sk-ant-oat01-" + body, "", "has a space"},
		{"a control character", "claude", "", "sk-ant-oat01-\x1b[1m" + body, "", "control character"},
		{"NUL", "claude", Bearer, "abcdefgh\x00ijkl", "", "control character"},
		{"a byte order mark", "claude", "", "\ufeffsk-ant-oat01-" + body, "", "byte order mark"},
		{"an ellipsis", "claude", "", "sk-ant-oat01-" + body + "…", "", "not ASCII"},
		{"bytes that are no text", "claude", Bearer, "abcdefgh\xff\xfe", "", "not ASCII"},
		{"the placeholder of a manual", "claude", "", "sk-ant-oat01-....................", "", "not a whole one"},
		{"cut off", "claude", "", "sk-ant-oat01-Zm9v", "", "not a whole one"},
		{"quotes", "claude", "", `sk-ant-oat01-` + body + `"`, "", "not a whole one"},
		{"too short", "claude", Bearer, "abc", "", "shorter than"},
		{"too long", "claude", Bearer, strings.Repeat("a", MaxSize+1), "", "longer than"},

		{"a path for a name", "../../etc/x", Bearer, "sk-1234567", "", "name of a credential"},
		{"no name", "", Bearer, "sk-1234567", "", "name of a credential"},
		{"a flag for a name", "-x", Bearer, "sk-1234567", "", "name of a credential"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r, err := Parse(test.agent, test.kind, test.text, now)
			if test.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), test.wantErr) {
					t.Fatalf("error %v, want %q in it", err, test.wantErr)
				}
				if said := err.Error() + hint(err); len(test.text) > 10 && (strings.Contains(said, body) || strings.Contains(said, strings.TrimSpace(test.text))) {
					t.Errorf("the error quotes the text: %s", said)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if r.Kind != test.want || !r.Secret.Equal(strings.TrimSpace(test.text)) || r.Agent != test.agent || !r.StoredAt.Equal(now) {
				t.Errorf("got %+v", r)
			}
			if wantsEnd := r.Kind == SetupToken; wantsEnd != r.ExpiresAt.Equal(now.AddDate(1, 0, 0)) {
				t.Errorf("expires at %v", r.ExpiresAt)
			}
		})
	}
}

func hint(err error) string {
	var h interface{ Hint() string }
	if errors.As(err, &h) {
		return h.Hint()
	}
	return ""
}

func FuzzParse(f *testing.F) {
	f.Add("claude", "", "sk-ant-oat01-"+body)
	f.Add("codex", "bearer", " abc\x00def ")
	f.Add("x", "setup-token", "\ufeffsk-ant-api03-"+body)
	f.Add("../x", "bearer", "AIza"+body+"\r\n\r\n")
	f.Fuzz(func(t *testing.T, agent, kind, text string) {
		r, err := Parse(agent, Kind(kind), text, time.Unix(1e9, 0))
		if err != nil {
			if part := strings.TrimSpace(text); len(part) > 30 && strings.Contains(err.Error(), part) {
				t.Errorf("the error quotes the text: %v", err)
			}
			return
		}
		for _, c := range r.Secret.Reveal() {
			if c <= ' ' || c > '~' {
				t.Errorf("%q was let through", r.Secret.Reveal())
			}
		}
		data, err := r.encode()
		if err != nil {
			t.Fatalf("what was parsed cannot be stored: %v", err)
		}
		if back, err := decode(data); err != nil || !back.Secret.Equal(r.Secret.Reveal()) {
			t.Errorf("read back as %+v, %v", back, err)
		}
	})
}
