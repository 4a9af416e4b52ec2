package config

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"
)

// FuzzLoad: no bytes make reading fail in any way but an *Error with lines that
// exist; what loads resolves, and means the same when written and read again.
func FuzzLoad(f *testing.F) {
	for _, s := range []string{
		full, "", "\ufeff", "\r\n[agent]\r\nname = 'mini'\r\n", "[sandbox]\nprotect = ['a', '''b''', \"\\u0000\"]",
		"sandbox = { network = { policy = \"deny\" }, resources.cpus = 0.5 }", "[[sandbox]]", "[a.b.\"c.d\"]\nx = {}",
		"budget.max_time = 1979-05-27T07:32:00Z", "[budget]\nmax_cost_usd = 1e3\nmax_tokens = 0x10", "a = [[[[", "\xff\xfe",
		"[git]\nworkspace = 'in-place'\npush = true\nsign = true\nremote = '../x'\nprotected_branches = []\nmax_import = '1t'",
		"validation = { network = { policy = 'same', allowed = ['127.0.0.1:80'] }, trusted = ['../x'], setup = 'x' }",
		"sandbox.resources.timeout_minutes = 0.0015", "[agent]\nname = 1\nname = 2", "agent.command = ['\\', \"\\u001b\", '']",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		layer, err := Parse("ralph.toml", bytes.Clone(data))
		if err != nil {
			checkError(t, err, bytes.Count(data, []byte("\n"))+1)
			return
		}
		cfg, _ := Resolve(Sources{Project: layer})
		if cfg.OnHost() || cfg.Sandbox.Network.Policy == PolicyAllowAll {
			t.Errorf("a project file alone opened the boundary: %+v", cfg)
		}
		checkGitIsTheUsers(t, cfg.Git)
		checkReachesNoMore(t, cfg)
		checkRoundTrip(t, cfg)
		if again := mustParse(t, encode(t, layer)); !sameValues(layer, again) {
			t.Errorf("reading back gives\n%v, want\n%v", again.settings, layer.settings)
		}
	})
}

func checkError(t *testing.T, err error, lines int) {
	var all *Error
	if !errors.As(err, &all) || len(all.Problems) == 0 || len(all.Problems) > maxProblems+1 {
		t.Fatalf("not an *Error of some problems: %v", err)
	}
	for _, p := range all.Problems {
		if p.Line < 0 || p.Line > lines || p.Message == "" || printable(p.String()) != p.String() {
			t.Errorf("bad problem %+v of a file with %d lines", p, lines)
		}
	}
}

// encode writes a layer as a file.
func encode(t *testing.T, l *Layer) string {
	t.Helper()
	var file strings.Builder
	for _, f := range schema() {
		s, ok := l.get(f.key)
		if !ok {
			continue
		}
		text := f.show(s.value)
		switch s.value.(type) {
		case string, []string:
			data, err := toml.Marshal(map[string]any{"x": s.value})
			if err != nil {
				t.Fatal(err)
			}
			text = strings.TrimPrefix(string(data), "x = ")
		}
		fmt.Fprintf(&file, "%s = %s\n", f.key, text)
	}
	return file.String()
}

func sameValues(a, b *Layer) bool {
	if len(a.settings) != len(b.settings) {
		return false
	}
	for key, s := range a.settings {
		if !reflect.DeepEqual(s.value, b.settings[key].value) {
			return false
		}
	}
	return true
}
