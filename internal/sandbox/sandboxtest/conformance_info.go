package sandboxtest

import (
	"errors"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/agent-loop/ralph/internal/sandbox"
)

func infoChecks() []check {
	return []check{
		{"says who it is and what stands between guest and host", checkIdentity},
		{"refuses what it cannot do, and nothing else", checkRefusals},
		{"names every reason for a refusal", checkAllReasons},
	}
}

func checkIdentity(t *testing.T, s *suite) {
	if s.info.Engine != s.engine.Name() {
		t.Errorf("Info.Engine is %q, Name is %q", s.info.Engine, s.engine.Name())
	}
	if s.info.Version == "" || s.info.Boundary == "" || len(s.info.Networks) == 0 {
		t.Errorf("Info lacks a version, a boundary or networks: %+v", s.info)
	}
	again, err := s.engine.Probe(patiently(t))
	if err != nil || again.Version != s.info.Version {
		t.Errorf("the second probe gave %+v, %v", again, err)
	}
}

// demand is something a Spec can ask for and an engine can lack.
type demand struct {
	name string
	ask  func(*sandbox.Spec)
	can  bool
}

func (s *suite) demands() []demand {
	gate := func(net.Listener) error { return nil }
	network := func(n sandbox.Network) func(*sandbox.Spec) {
		return func(spec *sandbox.Spec) { spec.Network, spec.Gate = n, gate }
	}
	has := func(n sandbox.Network) bool { return slices.Contains(s.info.Networks, n) }
	return []demand{
		{"nothing special", func(*sandbox.Spec) {}, true},
		{"network none", network(sandbox.NetworkNone), has(sandbox.NetworkNone)},
		{"network gate", network(sandbox.NetworkGate), has(sandbox.NetworkGate)},
		{"network open", network(sandbox.NetworkOpen), has(sandbox.NetworkOpen)},
		{"a network that does not exist", network("half-open"), false},
		{"no network named", network(""), false},
		{"a gate with nothing behind it", func(spec *sandbox.Spec) { spec.Network = sandbox.NetworkGate }, false},
		{"protected paths", func(spec *sandbox.Spec) { spec.Mounts[0].Protect = []string{"locked"} }, s.info.ProtectedPaths},
		{"a root file system", func(spec *sandbox.Spec) { spec.Rootfs = "/rootfs" }, s.info.Rootfs},
		{"folders of its own", func(spec *sandbox.Spec) { spec.Own = []string{"/own"} }, s.info.OwnFiles},
		{"limited memory", func(spec *sandbox.Spec) { spec.Limits.Memory = 1 << 30 }, s.info.LimitMemory},
		{"limited CPUs", func(spec *sandbox.Spec) { spec.Limits.CPUs = 1 }, s.info.LimitCPUs},
		{"a fraction of a CPU", func(spec *sandbox.Spec) { spec.Limits.CPUs = 0.5 }, s.info.LimitCPUs && s.info.FractionalCPUs},
		{"limited processes", func(spec *sandbox.Spec) { spec.Limits.Processes = 100 }, s.info.LimitProcesses},
		{"limited disk", func(spec *sandbox.Spec) { spec.Limits.Disk = 1 << 30 }, s.info.LimitDisk},
	}
}

// plainSpec asks for nothing that the engine may lack.
func (s *suite) plainSpec() sandbox.Spec {
	return sandbox.Spec{
		Mounts:  []sandbox.Mount{{Source: "/project", Target: "/project"}},
		Network: s.network(),
	}
}

func checkRefusals(t *testing.T, s *suite) {
	for _, d := range s.demands() {
		spec := s.plainSpec()
		d.ask(&spec)
		err := s.info.Check(spec)
		var refused *sandbox.RefusedError
		switch {
		case d.can && err != nil:
			t.Errorf("%s: refused: %v", d.name, err)
		case !d.can && !errors.As(err, &refused):
			t.Errorf("%s: error is %v, want a *RefusedError", d.name, err)
		case !d.can && refused.Hint() == "":
			t.Errorf("%s: the refusal does not say what to do", d.name)
		}
	}
}

func checkAllReasons(t *testing.T, s *suite) {
	spec := s.plainSpec()
	var lacking int
	for _, d := range s.demands() {
		if strings.HasPrefix(d.name, "limited") {
			d.ask(&spec)
			if !d.can {
				lacking++
			}
		}
	}
	if lacking == 0 {
		if err := s.info.Check(spec); err != nil {
			t.Errorf("all limits can be kept, but: %v", err)
		}
		return
	}
	if err := s.info.Check(spec); err == nil || strings.Count(err.Error(), "limit ") != lacking {
		t.Errorf("error is %v, want %d reasons", err, lacking)
	}
}
