package sandbox_test

import (
	"errors"
	"math"
	"net"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/agent-loop/ralph/internal/sandbox"
)

func fullSpec() sandbox.Spec {
	return sandbox.Spec{
		Labels:  map[string]string{"run": "1"},
		Rootfs:  "/images/base",
		Mounts:  []sandbox.Mount{{Source: "/src", Target: "/dst", Protect: []string{".git"}}, {Source: "/data", Target: "/mnt", ReadOnly: true}},
		Env:     []string{"A=1", "B=2"},
		User:    sandbox.User{UID: 1000, GID: 1000},
		Dir:     "/dst/sub",
		Limits:  sandbox.Limits{Memory: 1 << 30, CPUs: 2, Processes: 100, Disk: 1 << 20, Time: time.Minute},
		Network: sandbox.NetworkNone,
	}
}

// changes is every way in which two sandboxes can differ.
var changes = map[string]func(*sandbox.Spec){
	"rootfs":            func(s *sandbox.Spec) { s.Rootfs = "/images/other" },
	"no rootfs":         func(s *sandbox.Spec) { s.Rootfs = "" },
	"mount source":      func(s *sandbox.Spec) { s.Mounts[0].Source = "/src2" },
	"mount target":      func(s *sandbox.Spec) { s.Mounts[0].Target = "/dst2" },
	"mount writable":    func(s *sandbox.Spec) { s.Mounts[1].ReadOnly = false },
	"mount protect":     func(s *sandbox.Spec) { s.Mounts[0].Protect = nil },
	"more protect":      func(s *sandbox.Spec) { s.Mounts[0].Protect = append(s.Mounts[0].Protect, "x") },
	"fewer mounts":      func(s *sandbox.Spec) { s.Mounts = s.Mounts[:1] },
	"order of mounts":   func(s *sandbox.Spec) { s.Mounts[0], s.Mounts[1] = s.Mounts[1], s.Mounts[0] },
	"own folder":        func(s *sandbox.Spec) { s.Own = []string{"/own"} },
	"other own folder":  func(s *sandbox.Spec) { s.Own = []string{"/owned"} },
	"env value":         func(s *sandbox.Spec) { s.Env[0] = "A=2" },
	"env order":         func(s *sandbox.Spec) { s.Env[0], s.Env[1] = s.Env[1], s.Env[0] },
	"env joined":        func(s *sandbox.Spec) { s.Env = []string{`A=1" "B=2`} },
	"env not text":      func(s *sandbox.Spec) { s.Env[0] = "A=\xff" },
	"env other no text": func(s *sandbox.Spec) { s.Env[0] = "A=\xfe" },
	"env replacement":   func(s *sandbox.Spec) { s.Env[0] = "A=\ufffd" },
	"uid":               func(s *sandbox.Spec) { s.User.UID = 1001 },
	"gid":               func(s *sandbox.Spec) { s.User.GID = 1001 },
	"dir":               func(s *sandbox.Spec) { s.Dir = "" },
	"memory":            func(s *sandbox.Spec) { s.Limits.Memory++ },
	"cpus":              func(s *sandbox.Spec) { s.Limits.CPUs = 1.5 },
	"unbounded cpus":    func(s *sandbox.Spec) { s.Limits.CPUs = math.Inf(1) },
	"processes":         func(s *sandbox.Spec) { s.Limits.Processes++ },
	"disk":              func(s *sandbox.Spec) { s.Limits.Disk = 0 },
	"time":              func(s *sandbox.Spec) { s.Limits.Time++ },
	"network":           func(s *sandbox.Spec) { s.Network = sandbox.NetworkGate },
}

func TestFingerprintTellsSpecsApart(t *testing.T) {
	seen := map[string]string{fullSpec().Fingerprint(): "unchanged", sandbox.Spec{}.Fingerprint(): "empty"}
	if len(seen) != 2 {
		t.Fatal("an empty spec looks like a full one")
	}
	for name, change := range changes {
		spec := fullSpec()
		change(&spec)
		print := spec.Fingerprint()
		if other, ok := seen[print]; ok {
			t.Errorf("%s and %s have the same fingerprint", name, other)
		}
		seen[print] = name
	}
}

func TestFingerprintIgnoresWhatIsNotPartOfTheSandbox(t *testing.T) {
	for name, change := range map[string]func(*sandbox.Spec){
		"nothing":     func(*sandbox.Spec) {},
		"no labels":   func(s *sandbox.Spec) { s.Labels = nil },
		"more labels": func(s *sandbox.Spec) { s.Labels["run"], s.Labels["x"] = "2", "y" },
		"gate":        func(s *sandbox.Spec) { s.Gate = func(net.Listener) error { return nil } },
		"other gate":  func(s *sandbox.Spec) { s.Gate = func(l net.Listener) error { return l.Close() } },
	} {
		spec := fullSpec()
		change(&spec)
		if spec.Fingerprint() != fullSpec().Fingerprint() {
			t.Errorf("%s changes the fingerprint", name)
		}
	}
}

func TestFingerprintLeavesTheSpecAlone(t *testing.T) {
	spec := fullSpec()
	spec.Fingerprint()
	if !reflect.DeepEqual(spec, fullSpec()) {
		t.Errorf("the spec is now %+v", spec)
	}
}

// TestCheckOwn: a folder of the sandbox's own is at a place that a mount could have,
// and in nobody's way.
func TestCheckOwn(t *testing.T) {
	mounts := []sandbox.Mount{{Source: "/src", Target: "/dst/sub"}}
	for _, tt := range []struct {
		own  []string
		want string // of the refusal; empty: there is none
	}{
		{nil, ""},
		{[]string{"/srv/project"}, ""},
		{[]string{"/srv/project", "/srv/other"}, ""},
		{[]string{"/tmp/project"}, ""},
		{[]string{"/dst/subject"}, ""},
		{[]string{"relative"}, "not an absolute path"},
		{[]string{"/"}, "replace the sandbox's root"},
		{[]string{"/srv/../etc"}, "not a plain path"},
		{[]string{"/srv/a\nb"}, "not a plain path"},
		{[]string{"/usr"}, "would hide /usr"},
		{[]string{sandbox.Home}, "would hide"},
		{[]string{"/proc/self"}, "belongs to the sandbox"},
		{[]string{"/dst/sub"}, "shares a place with the mount at /dst/sub"},
		{[]string{"/dst"}, "shares a place with the mount at /dst/sub"},
		{[]string{"/dst/sub/deep"}, "shares a place with the mount at /dst/sub"},
		{[]string{"/srv", "/srv/project"}, "shares a place with /srv"},
	} {
		err := sandbox.Spec{Mounts: mounts, Own: tt.own}.CheckOwn()
		var refused *sandbox.RefusedError
		switch {
		case tt.want == "" && err != nil:
			t.Errorf("%q: %v", tt.own, err)
		case tt.want != "" && (!errors.As(err, &refused) || !strings.Contains(refused.Why, tt.want) || refused.Hint() == ""):
			t.Errorf("%q: got %v, want %q", tt.own, err, tt.want)
		}
	}
}

func TestWorkspaceAndWorkDir(t *testing.T) {
	mounts := []sandbox.Mount{{Source: "/src", Target: "/dst"}, {Source: "/data", Target: "/mnt"}}
	for _, tt := range []struct {
		spec               sandbox.Spec
		workspace, workDir string
	}{
		{sandbox.Spec{}, "", "/"},
		{sandbox.Spec{Dir: "/x"}, "", "/x"},
		{sandbox.Spec{Mounts: mounts}, "/src", "/dst"},
		{sandbox.Spec{Mounts: mounts, Dir: "/x"}, "/src", "/x"},
	} {
		if got := tt.spec.Workspace(); got != tt.workspace {
			t.Errorf("workspace %q, want %q", got, tt.workspace)
		}
		if got := tt.spec.WorkDir(); got != tt.workDir {
			t.Errorf("working directory %q, want %q", got, tt.workDir)
		}
	}
}

func TestCleanedPaths(t *testing.T) {
	spec := sandbox.Spec{Mounts: []sandbox.Mount{{Source: "/a//b/./c", Target: "/x/"}}}
	got := spec.Cleaned().Mounts[0]
	if filepath.ToSlash(got.Source) != "/a/b/c" || filepath.ToSlash(got.Target) != "/x" {
		t.Errorf("got %+v", got)
	}
	if spec.Mounts[0].Target != "/x/" {
		t.Error("the caller's mounts were changed")
	}
}
