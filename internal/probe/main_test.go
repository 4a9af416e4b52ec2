package probe

import (
	"os"
	"testing"
)

// TestMain lets this test binary play the helper: it is called as
// "<helper> probe NAME", like the real one.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "probe" {
		os.Exit(Main(os.Args[2:], os.Stdout))
	}
	os.Exit(m.Run())
}
