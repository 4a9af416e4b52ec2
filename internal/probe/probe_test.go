package probe

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

func TestMainReportsAndExits(t *testing.T) {
	tests := []struct {
		name    string
		args    []string
		facts   string
		verdict Verdict
		exit    int
	}{
		{"without facts nothing is tried", []string{"home-by-path"}, "", Failed, ExitError},
		{"facts that are no JSON", []string{"home-by-path"}, "{", Failed, ExitError},
		{"a secret that is not encoded", []string{"home-by-path"}, `{"secret":"plain"}`, Failed, ExitError},
		{"no name", nil, "{}", Failed, ExitError},
		{"an unknown name", []string{"no-such-probe"}, "{}", Failed, ExitError},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv(FactsVariable, tt.facts)
			var out bytes.Buffer
			if exit := Main(tt.args, &out); exit != tt.exit {
				t.Errorf("exit code %d, want %d", exit, tt.exit)
			}
			var r Report
			if err := json.Unmarshal(out.Bytes(), &r); err != nil {
				t.Fatalf("the output is not one JSON line: %v: %s", err, out.String())
			}
			if r.Verdict != tt.verdict {
				t.Errorf("verdict %q, want %q: %s", r.Verdict, tt.verdict, r.Detail)
			}
		})
	}
}

func TestExitCodesTellVerdictsApart(t *testing.T) {
	seen := map[int]Verdict{}
	for _, v := range []Verdict{Blocked, Breach, Failed, NotApplicable} {
		if other, taken := seen[v.exitCode()]; taken {
			t.Errorf("%q and %q share exit code %d", v, other, v.exitCode())
		}
		seen[v.exitCode()] = v
	}
}

// The facts lie in the environment of every probe, so the secret in them must
// not look like one that leaked.
func TestFactsHideTheSecret(t *testing.T) {
	facts := Facts{Secret: "the secret", HomeFile: "/home/x/id", KernelLog: "a log line"}
	env, err := facts.Env()
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(env, "the secret") || strings.Contains(env, "a log line") {
		t.Errorf("the secret can be read in %s", env)
	}
	read, err := ReadFacts(strings.TrimPrefix(env, FactsVariable+"="))
	if err != nil {
		t.Fatal(err)
	}
	if read.Secret != facts.Secret || read.HomeFile != facts.HomeFile {
		t.Errorf("read %+v, want %+v", read, facts)
	}
}

func TestDecode(t *testing.T) {
	good := `{"name":"p","verdict":"blocked","detail":"d"}`
	tests := []struct {
		name, output string
		want         Verdict // empty: an error
	}{
		{"a report", good + "\n", Blocked},
		{"a report after noise", "noise\nmore noise\n" + good + "\n", Blocked},
		{"a breach", `{"name":"p","verdict":"breach","detail":""}`, Breach},
		{"nothing", "", ""},
		{"only newlines", "\n\n", ""},
		{"not JSON", "blocked", ""},
		{"another probe's report", `{"name":"q","verdict":"blocked","detail":"d"}`, ""},
		{"an invented verdict", `{"name":"p","verdict":"fine","detail":"d"}`, ""},
		{"no verdict", `{"name":"p","detail":"d"}`, ""},
		{"an unknown field", `{"name":"p","verdict":"blocked","detail":"d","x":1}`, ""},
		{"two reports in a line", good + good, ""},
		{"a report that is followed by noise", good + "\nnoise\n", ""},
		{"an endless line", `{"name":"p","verdict":"blocked","detail":"` + strings.Repeat("x", maxReport) + `"}`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, err := Decode("p", []byte(tt.output))
			if (err != nil) != (tt.want == "") || r.Verdict != tt.want {
				t.Errorf("Decode: %+v, %v; want verdict %q", r, err, tt.want)
			}
		})
	}
}

func TestDecodedDetailIsFitToShow(t *testing.T) {
	detail := "a\x1b[31mb\nc\u009bd" + strings.Repeat("\u00e9", maxDetail)
	line, err := json.Marshal(Report{"p", Result{Blocked, detail}})
	if err != nil {
		t.Fatal(err)
	}
	r, err := Decode("p", line)
	if err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(r.Detail, "\x1b\n\u009b") || len(r.Detail) > maxDetail+3 {
		t.Errorf("detail of %d bytes: %q", len(r.Detail), r.Detail)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"name":"p","verdict":"blocked","detail":"d"}`))
	f.Add([]byte("noise\n" + `{"name":"p","verdict":"breach","detail":"\u001b[0m"}` + "\n"))
	f.Add([]byte(`{"name":"p","verdict":"n/a","detail":"` + strings.Repeat("\u00e9", 700) + `"}`))
	f.Add([]byte(`{"name":"q","verdict":"error"}`))
	f.Add([]byte("\n\r\n"))
	f.Fuzz(func(t *testing.T, output []byte) {
		r, err := Decode("p", output)
		if err != nil {
			return
		}
		if r.Name != "p" || r.Verdict.exitCode() == ExitError && r.Verdict != Failed {
			t.Errorf("accepted %+v", r)
		}
		if len(r.Detail) > maxDetail+3 || strings.ContainsFunc(r.Detail, func(c rune) bool { return c < ' ' || c == 0x7f }) {
			t.Errorf("accepted the detail %q", r.Detail)
		}
	})
}

func FuzzReadFacts(f *testing.F) {
	f.Add(`{"secret":"6162","host_pid":1,"protected":[".git"]}`)
	f.Add(`{"secret":"zz"}`)
	f.Add(``)
	f.Add(`[]`)
	f.Fuzz(func(t *testing.T, value string) {
		facts, err := ReadFacts(value)
		if err != nil {
			return
		}
		env, err := facts.Env()
		if err != nil {
			t.Fatalf("facts that were read cannot be written: %v", err)
		}
		again, err := ReadFacts(strings.TrimPrefix(env, FactsVariable+"="))
		if err != nil || again.Secret != facts.Secret || again.HostPID != facts.HostPID {
			t.Errorf("%+v came back as %+v, %v", facts, again, err)
		}
	})
}
