package keeper

import (
	"errors"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agent-loop/ralph/internal/sandbox"
)

// A keeper that hears but does not answer, as in a container that was paused, is
// given up after a minute, with its vessel, and the command that waits is told.
func TestSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host, guest := net.Pipe() // time does not pass while a real one is read
		b, k, v := meetOver(t, sandbox.Spec{}, host, guest)
		began := time.Now()
		go func() {
			for { // everything is taken, and nothing said
				var o order
				if receive(k.orders, maxOrder, &o) != nil {
					return
				}
			}
		}()
		_, err := b.Exec(t.Context(), sandbox.Command{Args: []string{"work"}})
		if !errors.Is(err, sandbox.ErrGone) || !strings.Contains(err.Error(), "was it paused?") {
			t.Errorf("got %v", err)
		}
		if silent := time.Since(began); silent < time.Minute || silent > 2*time.Minute {
			t.Errorf("it was given up after %v", silent)
		}
		if v.kills == 0 {
			t.Error("the vessel lives on")
		}
	})
}
