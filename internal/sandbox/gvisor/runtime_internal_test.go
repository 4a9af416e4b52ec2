//go:build linux

package gvisor

import (
	"testing"

	"github.com/opencontainers/runtime-spec/specs-go"
	"gvisor.dev/gvisor/runsc/config"
)

// The network of a container is the engine's to furnish; where it does not, the
// container gets a loopback device and nothing else.
func TestRuntimeNetwork(t *testing.T) {
	own := specs.LinuxNamespace{Type: specs.NetworkNamespace}
	furnished := specs.LinuxNamespace{Type: specs.NetworkNamespace, Path: "/run/netns/x"}
	for name, c := range map[string]struct {
		spec specs.Spec
		want config.NetworkType
	}{
		"podman, no network":  {specs.Spec{Linux: &specs.Linux{Namespaces: []specs.LinuxNamespace{own}}}, config.NetworkNone},
		"podman, a network":   {specs.Spec{Linux: &specs.Linux{Namespaces: []specs.LinuxNamespace{furnished}}}, config.NetworkSandbox},
		"docker furnishes it": {specs.Spec{Linux: &specs.Linux{Namespaces: []specs.LinuxNamespace{own}}, Hooks: &specs.Hooks{}}, config.NetworkSandbox},
		"the host's":          {specs.Spec{Linux: &specs.Linux{}}, config.NetworkSandbox},
		"nothing is said":     {specs.Spec{}, config.NetworkSandbox},
		"another namespace":   {specs.Spec{Linux: &specs.Linux{Namespaces: []specs.LinuxNamespace{{Type: specs.PIDNamespace}}}}, config.NetworkSandbox},
	} {
		conf := &config.Config{Network: config.NetworkSandbox}
		if err := fit(conf, &c.spec); err != nil || conf.Network != c.want {
			t.Errorf("%s: network %v, %v", name, conf.Network, err)
		}
	}
}

// Limits that were asked for are never passed over in silence.
func TestRuntimeLimits(t *testing.T) {
	for name, c := range map[string]struct {
		resources *specs.LinuxResources
		want      bool
	}{
		"nothing":   {nil, false},
		"empty":     {&specs.LinuxResources{}, false},
		"devices":   {&specs.LinuxResources{Devices: []specs.LinuxDeviceCgroup{{}}}, false},
		"memory":    {&specs.LinuxResources{Memory: &specs.LinuxMemory{}}, true},
		"processor": {&specs.LinuxResources{CPU: &specs.LinuxCPU{}}, true},
		"processes": {&specs.LinuxResources{Pids: &specs.LinuxPids{}}, true},
		"version 2": {&specs.LinuxResources{Unified: map[string]string{"memory.high": "1"}}, true},
	} {
		if got := limited(&specs.Spec{Linux: &specs.Linux{Resources: c.resources}}); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if limited(&specs.Spec{}) {
		t.Error("a container without settings is limited")
	}
}

func TestRuntimeRefusesAnnotationsForGVisor(t *testing.T) {
	for name, refused := range map[string]bool{
		"dev.gvisor.flag.host-uds":     true,
		"dev.gvisor.spec.mount.a.type": true,
		"io.container.manager":         false,
	} {
		err := fit(&config.Config{}, &specs.Spec{Annotations: map[string]string{name: "all"}})
		if (err != nil) != refused {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRuntimeKnowsSIGKILL(t *testing.T) {
	for signal, want := range map[string]bool{"9": true, "KILL": true, "SIGKILL": true, "kill": true, "15": false, "TERM": false, "": false, "99": false} {
		if got := isSIGKILL(signal); got != want {
			t.Errorf("%q: %v", signal, got)
		}
	}
}
