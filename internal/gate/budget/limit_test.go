//go:build unix

package budget

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"github.com/agent-loop/ralph/internal/money"
)

// TestFileSizeLimit does what a full disk does, without root: the limit of a
// process cuts a line in its middle. The limited process is this test again.
func TestFileSizeLimit(t *testing.T) {
	if path := os.Getenv(ledgerEnv); path != "" {
		reserveUpToALimit(t, path)
		return
	}
	path := newPath(t)
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestFileSizeLimit$")
	cmd.Env = append(os.Environ(), ledgerEnv+"="+path)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	made := int64(strings.Count(string(out), "made"))
	want := Totals{Uncertain: usd(money.Cent.Times(made)), Calls: made}
	if got := totals(t, opened(t, path, Caps{USD: money.Dollar})); got != want || made == 0 {
		t.Errorf("%d calls were let through, totals %+v", made, got)
	}
}

// reserveUpToALimit reserves until the file may not grow, and leaves the ledger
// open, as a process that is killed does.
func reserveUpToALimit(t *testing.T, path string) {
	signal.Ignore(syscall.SIGXFSZ) // so that writes fail instead
	var limit syscall.Rlimit
	must(t, syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit))
	low := limit
	low.Cur = 2000
	must(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &low))
	defer syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit) // for what the testing package writes
	l, err := Open(path, Caps{USD: money.Dollar})
	for err == nil {
		if _, err = l.Reserve(t.Context(), cents(1)); err == nil {
			_, err = os.Stdout.WriteString("made\n")
		}
	}
	if !errors.Is(err, syscall.EFBIG) {
		t.Fatal(err)
	}
	if content, err := os.ReadFile(path); err != nil || content[len(content)-1] != '\n' {
		t.Errorf("half a line was left, %v", err)
	}
}
