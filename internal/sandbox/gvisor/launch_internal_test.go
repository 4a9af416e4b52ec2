//go:build linux

package gvisor

import (
	"errors"
	"fmt"
	"os"
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

func TestReadSetting(t *testing.T) {
	if got := readSetting("kernel/ostype"); got != "Linux" {
		t.Errorf("got %q", got)
	}
	if got := readSetting("kernel/there/is/no/such"); got != "" {
		t.Errorf("got %q", got)
	}
}

func TestStartFailure(t *testing.T) {
	const (
		banner    = "I0102 03:04:05.678901       1 main.go:201] **************** gVisor ****************\n"
		secondary = "W0102 03:04:05.700000    4321 util.go:64] FATAL ERROR: running container: creating container: cannot create sandbox: cannot read client sync file: waiting for sandbox to start: EOF\n"
		gofer     = "W0102 03:04:05.700000    4322 util.go:64] FATAL ERROR: reading mounts file: EOF\n"
		cause     = "W0102 03:04:05.690000       1 util.go:64] FATAL ERROR: error creating loader: setting up chroot: mounting \"/data\": permission denied\n"
	)
	for name, tt := range map[string]struct{ log, want string }{
		"nothing":           {"", "it ended without a word"},
		"only white space":  {" \n\t\n", "it ended without a word"},
		"the cause":         {banner + cause, `error creating loader: setting up chroot: mounting "/data": permission denied`},
		"cause comes later": {banner + secondary + gofer + cause, `error creating loader: setting up chroot: mounting "/data": permission denied`},
		"cause comes first": {cause + secondary, `error creating loader: setting up chroot: mounting "/data": permission denied`},
		"only consequences": {banner + secondary, strings.TrimSpace(secondary)},
		"no fatal line":     {banner + "panic: oh no\n\n", "panic: oh no"},
		"one line":          {"ralph: confining the sandbox: no", "ralph: confining the sandbox: no"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := startFailure(tt.log).Error(); got != "starting the sandbox: "+tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestTailIsBounded(t *testing.T) {
	const limit = 100
	log := &tail{max: limit}
	var all string
	for i, size := range []int{0, 1, 50, 49, 1, 100, 101, 5000, 3, 0} {
		chunk := strings.Repeat(string(rune('a'+i)), size)
		all += chunk
		if n, err := log.Write([]byte(chunk)); n != size || err != nil {
			t.Errorf("wrote %d of %d: %v", n, size, err)
		}
		if want := all[max(0, len(all)-limit):]; log.String() != want {
			t.Errorf("after %d bytes: %q, want %q", size, log, want)
		}
	}
}

func TestTailReadsToTheEnd(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	const size = 300_000
	go func() {
		defer w.Close()
		_, _ = w.WriteString(strings.Repeat("x", size) + "the end")
	}()
	log := &tail{max: 10}
	if n, _ := log.ReadFrom(r); n != size+7 {
		t.Errorf("read %d bytes", n)
	}
	if log.String() != "xxxthe end" {
		t.Errorf("kept %q", log)
	}
	if kept := log.buf.Cap(); kept > 64<<10 {
		t.Errorf("a log of 10 bytes takes %d", kept)
	}
}

func TestChooseCPUs(t *testing.T) {
	var allowed unix.CPUSet
	if err := unix.SchedGetaffinity(0, &allowed); err != nil {
		t.Fatal(err)
	}
	for _, n := range []float64{-1, 0, float64(allowed.Count()), float64(allowed.Count()) + 1, 1e9} {
		if got := chooseCPUs(n); got != "" {
			t.Errorf("%v of %d processors: bound to %q", n, allowed.Count(), got)
		}
	}
	for n := 1; n < min(allowed.Count(), 9); n++ {
		for range 20 { // the first one is random
			seen := map[string]bool{}
			for cpu := range strings.SplitSeq(chooseCPUs(float64(n)), ",") {
				var number int
				if _, err := fmt.Sscan(cpu, &number); err != nil || !allowed.IsSet(number) || seen[cpu] {
					t.Errorf("processor %q is not allowed, or there twice (%v)", cpu, err)
				}
				seen[cpu] = true
			}
			if len(seen) != n {
				t.Errorf("got %d processors, want %d", len(seen), n)
			}
		}
	}
}

func TestPinCPUsRefusesGarbage(t *testing.T) {
	for _, list := range []string{"x", "0,", ",", "0-1", " 0"} {
		if err := pinCPUs(list); err == nil {
			t.Errorf("%q was taken", list)
		}
	}
	if err := pinCPUs(""); err != nil {
		t.Error(err)
	}
}
