package machine

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestExplainNamespaceError(t *testing.T) {
	const apparmor, clone, count = "kernel/apparmor_restrict_unprivileged_userns", "kernel/unprivileged_userns_clone", "user/max_user_namespaces"
	fork := func(errno error) error { return &os.PathError{Op: "fork/exec", Path: "/usr/bin/ralph", Err: errno} }
	for name, tt := range map[string]struct {
		err         error
		settings    map[string]string
		reason, fix string
	}{
		"apparmor":          {fork(unix.EACCES), map[string]string{apparmor: "1", clone: "1"}, "apparmor_restrict_unprivileged_userns=1", "AppArmor profile"},
		"apparmor is off":   {fork(unix.EINVAL), map[string]string{apparmor: "0"}, "cannot be made: ", "another engine"},
		"debian":            {fork(unix.EPERM), map[string]string{clone: "0"}, "unprivileged_userns_clone=0", "unprivileged_userns_clone=1"},
		"none left":         {fork(unix.ENOSPC), map[string]string{count: "100"}, "max_user_namespaces", "sysctl user.max_user_namespaces"},
		"none at all":       {fork(unix.EPERM), map[string]string{count: "0"}, "max_user_namespaces", "sysctl user.max_user_namespaces"},
		"container":         {fork(unix.EPERM), map[string]string{clone: "1", count: "100"}, "default seccomp profile", "--security-opt seccomp=unconfined"},
		"container, nested": {fmt.Errorf("starting: %w", fork(unix.EPERM)), nil, "default seccomp profile", "--security-opt"},
		"anything else":     {errors.New("odd"), nil, "cannot be made: odd", "another engine"},
	} {
		t.Run(name, func(t *testing.T) {
			reason, fix := explainNamespaceError(tt.err, func(name string) string { return tt.settings[name] })
			if !strings.Contains(reason, tt.reason) || !strings.Contains(fix, tt.fix) {
				t.Errorf("got %q, %q; want %q, %q", reason, fix, tt.reason, tt.fix)
			}
		})
	}
}

func TestChooseCPUs(t *testing.T) {
	var allowed unix.CPUSet
	if err := unix.SchedGetaffinity(0, &allowed); err != nil {
		t.Fatal(err)
	}
	for _, n := range []float64{-1, 0, float64(allowed.Count()), float64(allowed.Count()) + 1, 1e9} {
		if got := ChooseCPUs(n); got != nil {
			t.Errorf("%v of %d processors: bound to %v", n, allowed.Count(), got)
		}
	}
	for n := 1; n < min(allowed.Count(), 9); n++ {
		for range 20 { // the first one is random
			seen := map[int]bool{}
			for _, cpu := range ChooseCPUs(float64(n)) {
				if !allowed.IsSet(cpu) || seen[cpu] {
					t.Errorf("processor %d is not allowed, or there twice", cpu)
				}
				seen[cpu] = true
			}
			if len(seen) != n {
				t.Errorf("got %d processors, want %d", len(seen), n)
			}
		}
	}
}

func TestListsOfProcessors(t *testing.T) {
	for _, list := range []string{"x", "0,", ",", "0-1", " 0", "-1"} {
		if _, err := ParseCPUs(list); err == nil {
			t.Errorf("%q was taken", list)
		}
	}
	for _, list := range [][]int{nil, {0}, {3, 1, 200}} {
		if got, err := ParseCPUs(FormatCPUs(list)); err != nil || !slices.Equal(got, list) {
			t.Errorf("%v became %v, %v", list, got, err)
		}
	}
}

func TestPinningToNothingChangesNothing(t *testing.T) {
	if err := PinCPUs(nil); err != nil {
		t.Error(err)
	}
}

func TestReadSetting(t *testing.T) {
	if got := readSetting("kernel/ostype"); got != "Linux" {
		t.Errorf("got %q", got)
	}
	if got := readSetting("kernel/there/is/no/such"); got != "" {
		t.Errorf("got %q", got)
	}
}
