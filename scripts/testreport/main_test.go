package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// goTest runs the real go test -json on packages made of the given test files.
func goTest(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	files["go.mod"] = "module " + strings.TrimSuffix(module, "/") + "\n"
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "go", "test", "-json", "-vet=off", "./...")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off", "CGO_ENABLED=0")
	out, _ := cmd.Output() // it fails if its tests do
	return string(out)
}

func source(body string) string {
	return "package a\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nvar _ = os.Exit\n\n" + body
}

func TestReport(t *testing.T) {
	good := source("func TestGood(t *testing.T) {}\n")
	skips := source(`func TestParent(t *testing.T) {
	t.Run("runs", func(t *testing.T) {})
	t.Run("skips", func(t *testing.T) {
		t.Log("not this")
		t.Skip("no engine\nruns here")
	})
}
func TestParallel(t *testing.T) { t.Parallel(); t.SkipNow() }
`)
	tests := []struct {
		name    string
		files   map[string]string
		options options
		want    []string // lines, or their beginnings
		fails   bool
	}{
		{"all is well", map[string]string{"a/a_test.go": good}, options{}, []string{"ok    a  ", "skipped:", "1 passed, 0 failed, 0 skipped"}, false},
		{"skipped", map[string]string{"a/a_test.go": skips}, options{skipped: []string{"the race detector: gcc is missing"}},
			[]string{"  a TestParent/skips: no engine runs here", "  a TestParallel: no reason given", "  the race detector: gcc is missing", "1 passed, 0 failed, 2 skipped"}, false},
		{"must not be skipped", map[string]string{"a/a_test.go": skips}, options{noSkip: []string{"a"}},
			[]string{"FAIL  a  ", "failed: a TestParent/skips", "this test must not be skipped here", "1 passed, 2 failed, 0 skipped"}, true},
		{"a subtest", map[string]string{"a/a_test.go": source(`func TestParent(t *testing.T) {
	t.Run("good", func(t *testing.T) {})
	t.Run("bad", func(t *testing.T) { t.Error("of course") })
}
`), "b/b_test.go": good}, options{}, []string{"FAIL  a  ", "ok    b  ", "failed: a TestParent/bad", "    a_test.go:12: of course", "2 passed, 1 failed, 0 skipped"}, true},
		{"a parent alone", map[string]string{"a/a_test.go": source(`func TestParent(t *testing.T) {
	t.Run("good", func(t *testing.T) {})
	t.Error("afterwards")
}
`)}, options{}, []string{"failed: a TestParent", "    a_test.go:12: afterwards", "1 passed, 1 failed, 0 skipped"}, true},
		{"a panic", map[string]string{"a/a_test.go": source("func TestBad(t *testing.T) { panic(\"at the disco\") }\n")}, options{},
			[]string{"failed: a TestBad", "panic: at the disco", "0 passed, 1 failed, 0 skipped"}, true},
		{"an end in between", map[string]string{"a/a_test.go": source("func TestBad(t *testing.T) { os.Exit(3) }\n")}, options{},
			[]string{"FAIL  a  ", "failed: a TestBad", "0 passed, 1 failed, 0 skipped"}, true},
		{"before the tests", map[string]string{"a/a_test.go": source("func TestMain(*testing.M) { println(\"no server\"); os.Exit(1) }\n"), "b/b_test.go": good}, options{},
			[]string{"failed: a", "no server", "1 passed, 0 failed, 0 skipped"}, true},
		{"a build", map[string]string{"a/a_test.go": source("func TestBad(t *testing.T) { missing() }\n"), "b/b_test.go": good}, options{},
			[]string{"FAIL  a  ", "failed: a", "a/a_test.go:10:30: undefined: missing", "1 passed, 0 failed, 0 skipped"}, true},
		{"nothing", map[string]string{"a/a.go": "package a\n"}, options{}, []string{"0 passed, 0 failed, 0 skipped"}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			err := report(strings.NewReader(goTest(t, tt.files)), &out, tt.options)
			if (err != nil) != tt.fails {
				t.Errorf("error %v", err)
			}
			for _, want := range tt.want {
				if !strings.Contains("\n"+out.String(), "\n"+want) {
					t.Errorf("no line %q in:\n%s", want, &out)
				}
			}
			if last := tt.want[len(tt.want)-1] + "\n"; !strings.HasSuffix(out.String(), "\n"+last) {
				t.Errorf("the last line is not %q", last)
			}
		})
	}
}

// A stream that breaks off has not passed, and what is no event is shown.
func TestBrokenInput(t *testing.T) {
	for _, in := range []string{
		"",
		"no such package\n",
		`{"Action":"start","Package":"a"}` + "\n" + `{"Action":"run","Package":"a","Test":"TestA"}` + "\n",
		`{"Action":"pass","Package":"a","Test":"TestA"}` + "\n" + `{"Action":"start","Package":"b"}`,
		`{"Action":"pass","Package":"a","Test":"Te`,
	} {
		var out strings.Builder
		if err := report(strings.NewReader(in), &out, options{}); err == nil {
			t.Errorf("passed: %q", in)
		}
		if !strings.HasPrefix(in, "{") && !strings.HasPrefix(out.String(), in) {
			t.Errorf("%q is not shown", in)
		}
	}
}

func TestReason(t *testing.T) {
	tests := []struct{ output, want string }{
		{"", "no reason given"},
		{"    a_test.go:7: one\n    b_test.go:12: two\n        and more", "two and more"},
		{"    cmd.go:380: curl is missing\n    testscript.go:609: WORK=/x\n        > skip", "curl is missing"},
		{"printed\n    a_test.go:7: see x.go:1: there", "see x.go:1: there"},
	}
	for _, tt := range tests {
		if got := reason(strings.Split(tt.output, "\n")); got != tt.want {
			t.Errorf("%q gives %q, want %q", tt.output, got, tt.want)
		}
	}
}

func TestOutputIsBounded(t *testing.T) {
	var in strings.Builder
	encoder := json.NewEncoder(&in)
	for i := range 10_000 {
		if err := encoder.Encode(event{Action: "output", Package: "a", Test: "TestA", Output: fmt.Sprintf("line %d %s\n", i, strings.Repeat("x", 5000))}); err != nil {
			t.Fatal(err)
		}
	}
	var out strings.Builder
	if err := report(strings.NewReader(in.String()), &out, options{}); err == nil {
		t.Error("a test without an end passed")
	}
	for _, want := range []string{"\nline 0 ", "\nline 99 ", "\n... 9800 more lines ...\n", "\nline 9900 ", "\nline 9999 "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in the report", want)
		}
	}
	if out.Len() > 201*(keepBytes+100) {
		t.Errorf("the report has %d bytes", out.Len())
	}
}
