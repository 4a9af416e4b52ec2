package rundir

import (
	"errors"
	"strings"
	"syscall"
	"testing"

	"github.com/agent-loop/ralph/internal/money"
)

// smallDisk mounts a file system of so many bytes.
func smallDisk(t *testing.T, options string) string {
	t.Helper()
	folder := t.TempDir()
	if err := syscall.Mount("ralph", folder, "tmpfs", 0, options); err != nil {
		t.Skipf("mounting a small disk needs root: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(folder, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return folder
}

func TestFullDisk(t *testing.T) {
	root := smallDisk(t, "size=512k")
	r := create(t, root, "one", Options{})
	iterate(t, r, 1)
	text := strings.Repeat("x", 10_000)
	var full error
	for range 200 {
		if full = errors.Join(full, r.Append("fill", 2, text)); full != nil {
			break
		}
	}
	if !errors.Is(full, syscall.ENOSPC) {
		t.Fatalf("got %v", full)
	}
	// Events wait; what must last says that it does not.
	if err := r.Append(EventCharge, 2, Charge{Spend: Spend{CostUSD: money.Cent}}); err != nil && !errors.Is(err, syscall.ENOSPC) {
		t.Error(err)
	}
	for what, err := range map[string]error{
		"sync":       r.Sync(),
		"iteration":  r.AppendIteration(Iteration{N: 2}),
		"checkpoint": r.SaveCheckpoint(2, Checkpoint{}),
		"state":      r.SaveState(State{Status: Running}),
	} {
		if !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("%s: got %v", what, err)
		}
	}
	_, err := Verify(root, "one")
	must(t, err)

	must(t, syscall.Mount("ralph", root, "tmpfs", syscall.MS_REMOUNT, "size=32m"))
	must(t, r.AppendIteration(Iteration{N: 2, Outcome: "ok"}), r.SaveCheckpoint(2, Checkpoint{}), r.SaveState(State{Status: Done}))
	report, err := Verify(root, "one")
	must(t, err)
	if report.Charges != 3 || report.Iterations != 2 || report.Unsealed != 0 {
		t.Errorf("after there was room again: %+v", report)
	}
}

func TestReadOnlyDisk(t *testing.T) {
	root := smallDisk(t, "size=1m")
	must(t, create(t, root, "one", Options{}).Close())
	must(t, syscall.Mount("ralph", root, "tmpfs", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""))
	if _, err := Create(root, "two", spec{}, Options{}); !errors.Is(err, syscall.EROFS) {
		t.Errorf("create: %v", err)
	}
	if _, err := Open(root, "one", Options{}); !errors.Is(err, syscall.EROFS) {
		t.Errorf("open: %v", err)
	}
	if list, err := List(root, Filter{}); err != nil || len(list) != 1 || list[0].Broken != "" {
		t.Errorf("list: %+v, %v", list, err)
	}
	_, err := Verify(root, "one")
	must(t, err)
}
