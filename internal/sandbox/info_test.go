package sandbox_test

import (
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/agent-loop/ralph/internal/sandbox"
)

// able is an engine that can do everything.
func able() sandbox.Info {
	return sandbox.Info{
		Engine:         "able",
		Networks:       []sandbox.Network{sandbox.NetworkNone, sandbox.NetworkGate, sandbox.NetworkOpen},
		Isolated:       true,
		ProtectedPaths: true, Rootfs: true, Terminal: true,
		LimitMemory: true, LimitCPUs: true, FractionalCPUs: true, LimitProcesses: true, LimitDisk: true,
		OwnFiles: true,
	}
}

func TestInfoCheck(t *testing.T) {
	gate := func(net.Listener) error { return nil }
	protect := []sandbox.Mount{{Source: "/a"}, {Source: "/b", Protect: []string{".git"}}}
	for name, tt := range map[string]struct {
		spec sandbox.Spec
		lose func(*sandbox.Info) // the ability that the spec needs; nil: nothing helps
		why  string
	}{
		"no network":      {sandbox.Spec{Network: sandbox.NetworkNone}, func(i *sandbox.Info) { i.Networks = nil }, `enforce network "none"`},
		"gate":            {sandbox.Spec{Network: sandbox.NetworkGate, Gate: gate}, func(i *sandbox.Info) { i.Networks = i.Networks[:1] }, `enforce network "gate"`},
		"open":            {sandbox.Spec{Network: sandbox.NetworkOpen}, func(i *sandbox.Info) { i.Networks = i.Networks[:2] }, `enforce network "open"`},
		"unnamed network": {sandbox.Spec{}, nil, `enforce network ""`},
		"unknown network": {sandbox.Spec{Network: "NONE"}, nil, `enforce network "NONE"`},
		"gate of nothing": {sandbox.Spec{Network: sandbox.NetworkGate}, nil, "open a door without a gate behind it"},
		"protect":         {sandbox.Spec{Network: sandbox.NetworkNone, Mounts: protect}, func(i *sandbox.Info) { i.ProtectedPaths = false }, "keep paths read-only inside a writable mount"},
		"rootfs":          {sandbox.Spec{Network: sandbox.NetworkNone, Rootfs: "/r"}, func(i *sandbox.Info) { i.Rootfs = false }, "use a root file system folder"},
		"own folders":     {sandbox.Spec{Network: sandbox.NetworkNone, Own: []string{"/a"}}, func(i *sandbox.Info) { i.OwnFiles = false }, "give a sandbox folders of its own"},
		"memory":          {limited(sandbox.Limits{Memory: 1}), func(i *sandbox.Info) { i.LimitMemory = false }, "limit memory"},
		"cpus":            {limited(sandbox.Limits{CPUs: 1}), func(i *sandbox.Info) { i.LimitCPUs = false }, "limit CPUs"},
		"half a cpu":      {limited(sandbox.Limits{CPUs: 1.5}), func(i *sandbox.Info) { i.FractionalCPUs = false }, "limit CPUs to a fraction"},
		"processes":       {limited(sandbox.Limits{Processes: 1}), func(i *sandbox.Info) { i.LimitProcesses = false }, "limit processes"},
		"disk":            {limited(sandbox.Limits{Disk: 1}), func(i *sandbox.Info) { i.LimitDisk = false }, "limit the disk written"},
	} {
		t.Run(name, func(t *testing.T) {
			info := able()
			if tt.lose != nil {
				if err := info.Check(tt.spec); err != nil {
					t.Errorf("an engine that can do everything: %v", err)
				}
				tt.lose(&info)
			}
			var refused *sandbox.RefusedError
			if err := info.Check(tt.spec); !errors.As(err, &refused) || refused.Why != "it cannot "+tt.why {
				t.Errorf("got %v, want %q", err, tt.why)
			}
		})
	}
}

func limited(l sandbox.Limits) sandbox.Spec {
	return sandbox.Spec{Network: sandbox.NetworkNone, Limits: l}
}

// An engine without any ability serves a spec that asks for none; time is kept
// by ralph itself.
func TestInfoCheckOfLittle(t *testing.T) {
	poor := sandbox.Info{Engine: "poor", Networks: []sandbox.Network{sandbox.NetworkNone}}
	spec := limited(sandbox.Limits{Time: time.Hour, CPUs: 0})
	spec.Mounts = []sandbox.Mount{{Source: "/a", Target: "/a"}}
	if err := poor.Check(spec); err != nil {
		t.Error(err)
	}
}

func TestInfoCheckNamesEveryReason(t *testing.T) {
	spec := limited(sandbox.Limits{Memory: 1, CPUs: 0.5, Processes: 1, Disk: 1})
	spec.Network, spec.Rootfs = sandbox.NetworkGate, "/r"
	spec.Mounts, spec.Own = []sandbox.Mount{{Protect: []string{"x"}}}, []string{"/own"}
	err := sandbox.Info{Engine: "poor"}.Check(spec)
	if err == nil {
		t.Fatal("allowed")
	}
	if got := strings.Count(err.Error(), ", nor "); got != 9 {
		t.Errorf("%d reasons, want 10: %v", got+1, err)
	}
	if !strings.HasPrefix(err.Error(), "engine poor refused: it cannot enforce") {
		t.Errorf("got %v", err)
	}
}
