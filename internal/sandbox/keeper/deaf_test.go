package keeper

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/agent-loop/ralph/internal/sandbox"
)

// A keeper that takes no orders cannot hold up a command past its time.
func TestDeafKeeper(t *testing.T) {
	b, _, _ := meet(t, sandbox.Spec{}) // nobody reads what comes after the settings
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		long := strings.Repeat("x", 4<<20) // more than the stream holds
		_, err := b.Exec(ctx, sandbox.Command{Args: []string{"work", long}})
		ended <- err
	}()
	select {
	case err := <-ended:
		var limit *sandbox.LimitError
		if !errors.As(err, &limit) || limit.Limit != "time" {
			t.Errorf("got %v, want that its time was up", err)
		}
	case <-time.After(20 * time.Second):
		t.Error("the command waits for the keeper")
	}
}
