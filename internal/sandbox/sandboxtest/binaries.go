package sandboxtest

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// Binaries are the programs that tests of engines need.
type Binaries struct {
	Ralph string // ralph itself, of which engines show a copy inside
	Guest string // does inside what a shell cannot; see testdata/guest
}

// prebuiltVar hands the binaries to a test that is run again as another user, who
// may have no Go.
const prebuiltVar = "RALPH_TEST_BINARIES"

// Main is the TestMain of an engine: it builds the binaries, or finds those that
// were built before, and runs the tests.
func Main(m *testing.M, b *Binaries) (code int) {
	if prebuilt := os.Getenv(prebuiltVar); prebuilt != "" {
		b.Ralph, b.Guest, _ = strings.Cut(prebuilt, ":")
		return m.Run()
	}
	const module = "github.com/agent-loop/ralph"
	for pkg, path := range map[string]*string{
		module: &b.Ralph,
		module + "/internal/sandbox/sandboxtest/testdata/guest": &b.Guest,
	} {
		built, remove, err := Build(pkg)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer remove()
		*path = built
	}
	return m.Run()
}

// Prebuilt is the variable that tells another test binary of these.
func (b Binaries) Prebuilt() string { return prebuiltVar + "=" + b.Ralph + ":" + b.Guest }
