//go:build !linux || !(amd64 || arm64)

package callfilter_test

import (
	"errors"
	"testing"

	"github.com/agent-loop/ralph/internal/sandbox/callfilter"
)

func TestFailsClosedWithoutFilters(t *testing.T) {
	for _, err := range []error{callfilter.Install(callfilter.Options{}), callfilter.InstallForFiles()} {
		if !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("error %v, want ErrUnsupported", err)
		}
	}
}
