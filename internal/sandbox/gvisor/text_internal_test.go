//go:build linux

package gvisor

import (
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestAsTextLeavesTextAlone(t *testing.T) {
	for _, argv := range [][]string{{"ls"}, {"echo", "", "ünï\n\t\u0085", "\ufffd"}} {
		env := []string{"A=1", "B=é"}
		gotArgv, gotEnv := asText(argv, env)
		if !slices.Equal(gotArgv, argv) || !slices.Equal(gotEnv, env) {
			t.Errorf("%q became %q, %q", argv, gotArgv, gotEnv)
		}
	}
}

// Two halves of one character are not text, even side by side.
func TestAsTextFindsBrokenCharacters(t *testing.T) {
	for _, argv := range [][]string{{"\xff"}, {"a", "\xc3", "\xa9"}, {"\xed\xa0\x80"}} {
		if got, _ := asText(argv, nil); got[0] != bytesPath {
			t.Errorf("%q became %q", argv, got)
		}
	}
	if got, env := asText([]string{"a"}, []string{"V=\x80"}); got[0] != bytesPath || env != nil {
		t.Errorf("a variable became %q, %q", got, env)
	}
}

// becomeVar makes the test binary the helper inside a sandbox.
const becomeVar = "RALPH_TEST_BECOME"

func TestBecomeCommand(t *testing.T) {
	if os.Getenv(becomeVar) == "" {
		t.Skip("only for runGuestBytes")
	}
	at := slices.Index(os.Args, "--")
	os.Exit(guestBytes(os.Args[at+1:]))
}

func runGuestBytes(t *testing.T, args ...string) (output string, code int) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, append([]string{"-test.run=^TestBecomeCommand$", "--"}, args...)...)
	cmd.Env = []string{becomeVar + "=1", "RALPH_TEST_BINARIES=:", "HOST_SECRET=1"}
	data, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(data), cmd.ProcessState.ExitCode()
}

func TestBytesArriveAsTheyWere(t *testing.T) {
	const script = `printf '%s|' "$0" "$@" "$V" "$W" "$HOST_SECRET"`
	argv := []string{"sh", "-c", script, "\xff\xfe", "", "b c\n", "é", "\xc3", "*"}
	env := []string{"V=\x80 x=y", "PATH=/usr/bin:/bin", "W="}
	text, _ := asText(argv, env)
	if !utf8.ValidString(strings.Join(text, "")) {
		t.Fatalf("%q is not text", text)
	}
	got, code := runGuestBytes(t, text[1:]...)
	if want := "\xff\xfe||b c\n|é|\xc3|*|\x80 x=y|||"; got != want || code != 0 {
		t.Errorf("got %q and exit code %d, want %q", got, code, want)
	}
}

func TestGuestBytesExitCodes(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/plain", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	hex := func(argv ...string) []string {
		text, _ := asText(argv, []string{"PATH=/usr/bin:/bin", "V=\xff"})
		return text[1:]
	}
	for name, tt := range map[string]struct {
		args []string
		want int
	}{
		"its own":         {hex("sh", "-c", "exit 7"), 7},
		"not in the path": {hex("there-is-no-such-program"), 127},
		"no such file":    {hex("/there/is/no/such/program"), 127},
		"not executable":  {hex(dir + "/plain"), 126},
		"a folder":        {hex(dir), 126},
		"no arguments":    {nil, 126},
		"one argument":    {[]string{"00"}, 126},
		"not hexadecimal": {[]string{"zz", "00"}, 126},
		"half a byte":     {[]string{"00", "0"}, 126},
	} {
		t.Run(name, func(t *testing.T) {
			if out, got := runGuestBytes(t, tt.args...); got != tt.want {
				t.Errorf("exit code %d, want %d (%s)", got, tt.want, out)
			}
		})
	}
}
