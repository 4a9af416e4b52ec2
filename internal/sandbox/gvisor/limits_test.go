//go:build linux

package gvisor_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agent-loop/ralph/internal/sandbox"
)

// endedBy runs a script that must run into a limit.
func endedBy(t *testing.T, limits sandbox.Limits, script string) string {
	t.Helper()
	spec := newSpec(t)
	spec.Limits = limits
	spec.Mounts = append(spec.Mounts, sandbox.Mount{Source: guestBinary, Target: "/mnt/guest", ReadOnly: true})
	sb := create(t, newEngine(t), spec)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, err := sb.Exec(ctx, sandbox.Command{Args: []string{"sh", "-c", script}})
	var limit *sandbox.LimitError
	if !errors.As(err, &limit) {
		t.Fatalf("%s: error is %v, want a LimitError", script, err)
	}
	return limit.Limit
}

func TestLimitsEndTheSandbox(t *testing.T) {
	for _, test := range []struct {
		name   string
		limits sandbox.Limits
		script string
		want   string
	}{
		{"memory of a process", sandbox.Limits{Memory: 256 << 20}, "/mnt/guest hog 1000", "memory"},
		{"memory of files in /tmp", sandbox.Limits{Memory: 256 << 20}, "head -c 1G /dev/zero > /tmp/big", "memory"},
		{"memory of many processes", sandbox.Limits{Memory: 256 << 20}, "for i in 1 2 3 4 5 6; do /mnt/guest hog 60 & done; wait", "memory"},
		{"disk over many files", sandbox.Limits{Disk: 32 << 20}, "for i in 1 2 3 4 5 6 7 8; do head -c 20M /dev/zero > $i; done; sleep 30", "disk"},
		{"time", sandbox.Limits{Time: 2 * time.Second}, "sleep 60", "time"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := endedBy(t, test.limits, test.script); got != test.want {
				t.Errorf("the %s limit ended it, want %s", got, test.want)
			}
		})
	}
}

func TestOneFileCannotPassTheDiskLimit(t *testing.T) {
	spec := newSpec(t)
	spec.Limits.Disk = 8 << 20
	sb := create(t, newEngine(t), spec)
	_, _ = sb.Exec(t.Context(), sandbox.Command{Args: []string{"sh", "-c", "head -c 100M /dev/zero > big"}})
	info, err := os.Stat(filepath.Join(spec.Workspace(), "big"))
	if err != nil || info.Size() > spec.Limits.Disk {
		t.Errorf("the file has %d bytes, %v", info.Size(), err)
	}
}

func TestProcessLimitIsForTheWholeSandbox(t *testing.T) {
	spec := newSpec(t)
	spec.Limits.Processes = 20
	sb := create(t, newEngine(t), spec)
	var stderr strings.Builder
	code, err := sb.Exec(t.Context(), sandbox.Command{
		Args:   []string{"sh", "-c", "for i in $(seq 40); do sleep 30 & done"},
		Stderr: &stderr,
	})
	if err != nil || code == 0 {
		t.Errorf("40 processes passed a limit of 20: exit code %d, %v, %s", code, err, &stderr)
	}
}

func TestCPULimitIsSeenInside(t *testing.T) {
	spec := newSpec(t)
	spec.Limits.CPUs = 1
	if got := output(t, create(t, newEngine(t), spec), "nproc"); got != "1\n" {
		t.Errorf("nproc printed %q", got)
	}
}
