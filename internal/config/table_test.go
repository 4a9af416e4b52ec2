package config

import (
	"reflect"
	"strings"
	"testing"
)

const entries = `[[credential]]
name = "gh"
host = "api.github.com"
methods = ["GET", "POST"]
paths = ["/repos/acme/**"]
header = "Authorization"
from = "env:GITHUB_TOKEN"
env = "GH_TOKEN"

[[credential]]
host = ["git.example.com:8443", "*.corp.example"]
basic = "x-access-token"
from = "command:pass show git"
elsewhere = "anonymous"

[[credential]]
host = "github.com"
methods = ["GET"]

[[price]]
model = "house-model-1"
input = 2
output = 8.5
window = 200000
`

func TestEntriesOfTheUsersFile(t *testing.T) {
	cfg, notes := Resolve(Sources{User: mustParse(t, entries)})
	wantCredentials := []Credential{
		{
			Name: "gh", Hosts: []string{"api.github.com"}, Methods: []string{"GET", "POST"}, Paths: []string{"/repos/acme/**"},
			Header: "Authorization", Format: "Bearer {}", From: "env:GITHUB_TOKEN", Env: "GH_TOKEN", Elsewhere: ElsewhereRefuse, Origin: "ralph.toml:1",
		},
		{
			Name: "git.example.com:8443", Hosts: []string{"git.example.com:8443", "*.corp.example"}, Basic: "x-access-token",
			From: "command:pass show git", Elsewhere: ElsewhereAnonymous, Origin: "ralph.toml:10",
		},
		{Name: "github.com", Hosts: []string{"github.com"}, Methods: []string{"GET"}, Elsewhere: ElsewhereRefuse, Origin: "ralph.toml:16"},
	}
	wantPrices := []Price{{Model: "house-model-1", Input: 2, Output: 8.5, Window: 200000, Origin: "ralph.toml:20"}}
	if !reflect.DeepEqual(cfg.Credentials, wantCredentials) || !reflect.DeepEqual(cfg.Prices, wantPrices) || len(notes) != 0 {
		t.Errorf("got %+v\n%+v\n%q", cfg.Credentials, cfg.Prices, notes)
	}
}

// TestEntriesOfAProject shows that a repository can neither send secrets
// anywhere nor make a model look cheap.
func TestEntriesOfAProject(t *testing.T) {
	cfg, notes := Resolve(Sources{Project: mustParse(t, entries)})
	if len(cfg.Credentials) != 0 || len(cfg.Prices) != 0 {
		t.Errorf("a project's entries are used: %+v %+v", cfg.Credentials, cfg.Prices)
	}
	if len(notes) != 4 || !strings.Contains(notes[0], "ralph.toml:1: [[credential]] is not used") || !strings.Contains(notes[3], "[[price]] is not used") {
		t.Errorf("notes %q", notes)
	}
}

func TestBadEntries(t *testing.T) {
	for _, tt := range []struct{ file, want string }{
		{"[credential]\nhost = \"a\"", "ralph.toml:1: [credential] is one of a list of entries; did you mean [[credential]]?"},
		{"[[credential]]\nname = \"x\"", "ralph.toml:1: [[credential]]: host is missing"},
		{"[[credential]]\nhost = \"a.b\"\nhots = \"a\"", `ralph.toml:3: unknown key "hots" in [[credential]]`},
		{"[[credential]]\nhost = \"a.b\"\nhost = \"c.d\"", "ralph.toml:3: duplicate key host, first set on line 2"},
		{"[[credential]]\nhost = \"a.b\"\nheader = \"X\"", "from is missing"},
		{"[[credential]]\nhost = \"a.b\"\nfrom = \"env:X\"", "header or basic is missing"},
		{"[[credential]]\nhost = \"a.b\"\nfrom = \"env:X\"\nheader = \"X\"\nbasic = \"u\"", "header and basic exclude each other"},
		{"[[credential]]\nhost = \"a.b\"\nfrom = \"vault:X\"\nheader = \"X\"", "is not env:NAME, file:PATH"},
		{"[[credential]]\nhost = \"a.b\"\nmethods = [\"FETCH\"]", "is not a method"},
		{"[[credential]]\nhost = \"a.b\"\npaths = [\"x\"]", "it begins with /"},
		{"[[credential]]\nhost = \"a.b\"\nfrom = \"env:X\"\nheader = \"X\"\nformat = \"Bearer\"", "must hold {} once"},
		{"[[credential]]\nhost = \"a.b\"\nenv = \"A-B\"", "is not the name of a variable"},
		{"[[credential]]\nhost = \"*\"", "would allow everything"},
		{"[[credential]]\nhost = 3", "must be a list of strings"},
		{"[[price]]\ninput = 1\noutput = 2", "[[price]]: model is missing"},
		{"[[price]]\nmodel = \"m\"\ninput = 1", "input and output are missing"},
		{"[[price]]\nmodel = \"m\"\ninput = -1\noutput = 2", "must be an amount of dollars above 0"},
		{"[[price]]\nmodel = \"m\"\ninput = 1\noutput = inf", "must be an amount of dollars above 0"},
		{"[[agent]]\nname = \"claude\"", "[[agent]] is a list of sections"},
		{strings.Repeat("[[price]]\nmodel = \"m\"\ninput = 1\noutput = 2\n", maxEntries+1), "more than 200 entries"},
	} {
		_, err := Parse("ralph.toml", []byte(tt.file))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: %v, want %q", tt.file, err, tt.want)
		}
	}
}
