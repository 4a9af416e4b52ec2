package loop

import (
	"context"
	"errors"
	"strings"
	"syscall"
	"testing"

	"github.com/agent-loop/ralph/internal/rundir"
)

// diskRig is a run whose record is on a file system of so many bytes.
func diskRig(t *testing.T, size string) *rig {
	t.Helper()
	r := newRig(t, says("more"))
	folder := t.TempDir()
	if err := syscall.Mount("ralph", folder, "tmpfs", 0, "size="+size); err != nil {
		t.Skipf("mounting a small disk needs root: %v", err)
	}
	must(t, r.loop.Run.Close())
	r.runs = folder
	run, err := rundir.Create(r.runs, runID, struct{}{}, rundir.Options{})
	must(t, err)
	t.Cleanup(func() {
		r.loop.Run.Close()
		if err := syscall.Unmount(folder, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	r.build(run, rundir.State{Status: rundir.Running})
	return r
}

// A run whose record cannot be written does not go on without one: the agent is
// ended, and when there is room again the run is taken up as it was.
func TestFullDisk(t *testing.T) {
	r := diskRig(t, "512k")
	ended := make(chan struct{})
	r.script(says("more"), func(ctx context.Context, p *process) int {
		defer close(ended)
		for ctx.Err() == nil { // for ever, if it could
			if _, err := p.Stdout.Write([]byte(strings.Repeat("words ", 1000) + "\n")); err != nil {
				<-ctx.Done()
			}
		}
		return 0
	}, says(complete))
	stop, err := r.loop.Execute(t.Context())
	if !errors.Is(err, syscall.ENOSPC) || stop.Status != rundir.Failed {
		t.Fatalf("ended %+v, %v", stop, err)
	}
	<-ended
	if left, _ := r.engine.List(t.Context()); len(left) > 0 {
		t.Errorf("sandboxes are left: %v", left)
	}
	if _, err := rundir.Verify(r.runs, runID); err != nil {
		t.Errorf("on the full disk: %v", err)
	}
	r.loop.Run.Close() // which cannot write what waits

	must(t, syscall.Mount("ralph", r.runs, "tmpfs", syscall.MS_REMOUNT, "size=32m"))
	r.reopen()
	if got := r.loop.Run.Iterated(); got != 1 {
		t.Errorf("%d iterations are recorded", got)
	}
	r.expect(rundir.Done, "", 2)
}
