package agent_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/agent-loop/ralph/internal/agent"
)

func session(args ...string) agent.Session {
	return agent.Session{
		Access:         agent.Access{BaseURL: "http://127.0.0.1:3128/x", Phantom: "phantom-" + strings.Repeat("p", 30) + "-end", Kind: agent.APIKey},
		PermissionMode: agent.Bypass, Program: []string{"/opt/it"}, Home: "/home/agent", Project: "/projects/a project", Args: args,
	}
}

func interact(t *testing.T, name string, s agent.Session) agent.Interaction {
	t.Helper()
	who, err := agent.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	begun, err := who.Interactive(s)
	if err != nil {
		t.Fatal(err)
	}
	return begun
}

// What a person says to an agent comes last, so that it wins; the phantom is in no
// command line; sessions are where the agent finds them again.
func TestInteractive(t *testing.T) {
	for _, test := range []struct {
		agent, keeps string
		argv, env    []string
	}{
		{"claude", ".claude", []string{"--model", "--permission-mode", "bypassPermissions", "--settings"}, []string{"CLAUDE_CONFIG_DIR=/home/agent/.claude", "IS_SANDBOX=1"}},
		{"codex", ".codex", []string{`projects={"/projects/a project"={trust_level="trusted"}}`, `sandbox_mode="danger-full-access"`, `approval_policy="never"`}, []string{"CODEX_HOME=/home/agent/.codex"}},
		{"opencode", "", nil, []string{"OPENCODE_DISABLE_AUTOUPDATE=1"}},
		{"command", "", nil, []string{"RALPH_PERMISSION_MODE=bypassPermissions"}},
	} {
		t.Run(test.agent, func(t *testing.T) {
			begun := interact(t, test.agent, session("last", "words"))
			if begun.Argv[0] != "/opt/it" || !slices.Equal(begun.Argv[len(begun.Argv)-2:], []string{"last", "words"}) {
				t.Errorf("argv %q", begun.Argv)
			}
			for _, want := range test.argv {
				if !slices.Contains(begun.Argv, want) {
					t.Errorf("argv %q, want %q in it", begun.Argv, want)
				}
			}
			for _, want := range append(test.env, "HOME=/home/agent") {
				if !slices.Contains(begun.Env, want) {
					t.Errorf("env %q, want %q in it", begun.Env, want)
				}
			}
			if strings.Contains(strings.Join(begun.Argv, " "), "phantom") || begun.Keeps != test.keeps {
				t.Errorf("argv %q, keeps %q", begun.Argv, begun.Keeps)
			}
		})
	}
}

// Agents draw on a screen, unless they are told otherwise.
func TestInteractiveScreen(t *testing.T) {
	for _, test := range []struct {
		agent string
		args  []string
		want  bool
	}{
		{"claude", nil, true},
		{"claude", []string{"--resume"}, true},
		{"claude", []string{"-p", "do it"}, false},
		{"claude", []string{"--continue", "--print"}, false},
		{"claude", []string{"--version"}, false},
		{"codex", nil, true},
		{"codex", []string{"-p", "profile"}, true},
		{"codex", []string{"resume", "--last"}, true},
		{"codex", []string{"exec", "do it"}, false},
		{"opencode", []string{"run", "do it"}, false},
		{"command", nil, false},
	} {
		if got := interact(t, test.agent, session(test.args...)).Screen; got != test.want {
			t.Errorf("%s %q: screen %v", test.agent, test.args, got)
		}
	}
}

// Where the user wants to be asked, agents ask.
func TestInteractiveAsks(t *testing.T) {
	s := session()
	s.PermissionMode = agent.AcceptEdits
	claude, codex := interact(t, "claude", s), interact(t, "codex", s)
	if !slices.Contains(claude.Argv, "acceptEdits") || slices.Contains(claude.Env, "IS_SANDBOX=1") {
		t.Errorf("claude: %q, %q", claude.Argv, claude.Env)
	}
	if !slices.Contains(codex.Argv, `sandbox_mode="workspace-write"`) || slices.Contains(codex.Argv, `approval_policy="never"`) {
		t.Errorf("codex: %q", codex.Argv)
	}
}

// A command without models gets no address of any.
func TestInteractiveCommandWithoutModels(t *testing.T) {
	s := session()
	s.Access = agent.Access{}
	for _, variable := range interact(t, "command", s).Env {
		if strings.HasPrefix(variable, "ANTHROPIC") || strings.HasPrefix(variable, "=") {
			t.Errorf("it gets %s", variable)
		}
	}
}

func TestInteractiveRefuses(t *testing.T) {
	for name, change := range map[string]func(*agent.Session){
		"project": func(s *agent.Session) { s.Project = "relative" },
		"model":   func(s *agent.Session) { s.Model = "-x" },
		"program": func(s *agent.Session) { s.Program = nil },
		"home":    func(s *agent.Session) { s.Home = "" },
		"mode":    func(s *agent.Session) { s.PermissionMode = "yolo" },
	} {
		s := session()
		change(&s)
		who, _ := agent.Find("claude")
		if _, err := who.Interactive(s); err == nil {
			t.Errorf("%s: not refused", name)
		}
	}
	who, _ := agent.Find("mini")
	if _, err := who.Interactive(session()); !errors.Is(err, agent.ErrNotInteractive) {
		t.Errorf("mini: %v", err)
	}
}

// claudeState is what ralph says in .claude.json.
type claudeState struct {
	Onboarded bool                      `json:"hasCompletedOnboarding"`
	Projects  map[string]jsontext.Value `json:"projects"` // others may be anything
	Keys      struct {
		Approved []string `json:"approved"`
		Rejected []string `json:"rejected"`
	} `json:"customApiKeyResponses"`
}

func checkAnswers(t *testing.T, text []byte, approved ...string) {
	t.Helper()
	var state claudeState
	if err := json.Unmarshal(text, &state); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	if !state.Onboarded || !strings.Contains(string(state.Projects["/projects/a project"]), `"hasTrustDialogAccepted":true`) ||
		!slices.Equal(state.Keys.Approved, approved) || len(state.Keys.Rejected) > 0 {
		t.Errorf("the answers are %s", text)
	}
}

// Claude Code's first questions are answered, and what it has written itself stays
// but for the phantoms of other sessions.
func TestClaudeAnswers(t *testing.T) {
	const end = "pppppppppppppppp-end"
	for _, test := range []struct{ name, old, kept string }{
		{"nothing", "", ""},
		{"its own", `{"numStartups":3,"projects":{"/projects/a project":{"lastCost":0.25},"/other":{}},"mcpServers":{"a":{"command":"x"}}}`, `"lastCost":0.25`},
		{"big numbers", `{"n":12345678901234567890123}`, `"n":12345678901234567890123`},
		{"another phantom", `{"customApiKeyResponses":{"approved":["old"],"rejected":["` + end + `"]},"theme":"dark"}`, `"theme":"dark"`},
		{"half", `{"numStartups":3,`, ""},
		{"no object", `[1,2]`, ""},
		{"null", `null`, ""},
		{"wrong kinds", `{"projects":[],"customApiKeyResponses":7,"hasCompletedOnboarding":"no","theme":"dark"}`, `"theme":"dark"`},
		{"project of a wrong kind", `{"projects":{"/projects/a project":null,"/other":{"a":1}}}`, `"/other":{"a":1}`},
		{"twice", `{"projects":{},"projects":{}}`, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			text, err := interact(t, "claude", session()).Settings[".claude.json"]([]byte(test.old))
			if err != nil {
				t.Fatal(err)
			}
			checkAnswers(t, text, end)
			if !strings.Contains(string(text), test.kept) {
				t.Errorf("%s is lost: %s", test.kept, text)
			}
		})
	}
	s := session()
	s.Kind = agent.OAuth
	text, err := interact(t, "claude", s).Settings[".claude.json"]([]byte(`{"customApiKeyResponses":{"approved":["old"]}}`))
	if err != nil {
		t.Fatal(err)
	}
	checkAnswers(t, text)
}

// FuzzClaudeAnswers: whatever an agent left, the answers are there.
func FuzzClaudeAnswers(f *testing.F) {
	for _, seed := range []string{"", "{}", "null", `{"projects":{"/projects/a project":{"x":[1,{"y":"z"}]}}}`, `{"a":1,"a":2}`, "{\"a\":\"\xff\"}", `{"customApiKeyResponses":{"approved":[1]}}`, `{"projects":"x"}`, strings.Repeat(`{"a":`, 200), `{"\u0000":1e999}`} {
		f.Add([]byte(seed))
	}
	who, err := agent.Find("claude")
	if err != nil {
		f.Fatal(err)
	}
	begun, err := who.Interactive(session())
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, old []byte) {
		text, err := begun.Settings[".claude.json"](old)
		if err != nil {
			t.Fatal(err)
		}
		checkAnswers(t, text, "pppppppppppppppp-end")
	})
}
