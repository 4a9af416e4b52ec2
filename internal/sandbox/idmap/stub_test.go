//go:build !linux

package idmap_test

import (
	"errors"
	"testing"

	"github.com/agent-loop/ralph/internal/sandbox/idmap"
)

func TestFailsClosedElsewhere(t *testing.T) {
	var missing *idmap.UnsupportedError
	for _, err := range []error{idmap.Supported("/"), idmap.Clone("/", "/", idmap.View{})} {
		if !errors.As(err, &missing) {
			t.Errorf("error %v, want an *UnsupportedError", err)
		}
	}
}
