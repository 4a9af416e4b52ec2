//go:build unix

package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/agent-loop/ralph/internal/sandbox"
)

// TestInnerSettings: what the outer sandbox lets be written and reached, and no more.
func TestInnerSettings(t *testing.T) {
	const rest = `"denyWrite":[]},"bwrapPath":"/opt/ralph-inner/bwrap"}`
	for name, tt := range map[string]struct {
		spec sandbox.Spec
		want string
	}{
		"a workspace and the gate": {
			sandbox.Spec{Network: sandbox.NetworkGate, Mounts: []sandbox.Mount{{Target: "/w"}, {Target: "/data", ReadOnly: true}}},
			`{"network":{"allowedDomains":[],"deniedDomains":[],"httpProxyPort":3128},"filesystem":{"denyRead":[],"allowWrite":["/tmp","/home/agent","/w"],` + rest,
		},
		"no network": {
			sandbox.Spec{Network: sandbox.NetworkNone},
			`{"network":{"allowedDomains":[],"deniedDomains":[]},"filesystem":{"denyRead":[],"allowWrite":["/tmp","/home/agent"],` + rest,
		},
		"files of its own, and a name that could be a pattern": {
			sandbox.Spec{Network: sandbox.NetworkNone, Own: []string{"/own"}, Mounts: []sandbox.Mount{{Target: "/w/[a]*"}}},
			`{"network":{"allowedDomains":[],"deniedDomains":[]},"filesystem":{"denyRead":[],"allowWrite":["/tmp","/home/agent","/own",{"path":"/w/[a]*","literal":true}],` + rest,
		},
	} {
		settings, err := newSRTSettings(tt.spec)
		if err != nil {
			t.Fatal(err)
		}
		if text, err := json.Marshal(settings); err != nil || string(text) != tt.want {
			t.Errorf("%s: %v\n got %s\nwant %s", name, err, text, tt.want)
		}
	}
}

// TestInnerBwrap: only where bwrap cannot make a network does unshare.
func TestInnerBwrap(t *testing.T) {
	for name, tt := range map[string]struct {
		networks string // whether bwrap can make them
		args     []string
		want     string
	}{
		"no network is asked for": {"1", []string{"--ro-bind", "/", "/", "true"}, "bwrap|--ro-bind|/|/|true|"},
		"bwrap can":               {"0", []string{"--unshare-net", "--", "a b", "*"}, "bwrap|--unshare-net|--|a b|*|"},
		"bwrap cannot": {"1", []string{"--new-session", "--unshare-net", "--", "a b", "", "--unshare-net"},
			"unshare|--user|--map-current-user|--net|--|bwrap|--new-session|--|a b||--unshare-net|"},
		"it is only said to a program": {"1", []string{"--", "x", "--unshare-net"}, "bwrap|--|x|--unshare-net|"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			tell := "#!/bin/sh\n[ \"$*\" = '--unshare-user --unshare-net --ro-bind / / true' ] && exit " + tt.networks + "\nprintf '%s|' \"${0##*/}\" \"$@\"\n"
			for file, text := range map[string]string{"shim": bwrapScript, "bwrap": tell, "unshare": tell} {
				if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			cmd := exec.CommandContext(t.Context(), "/bin/sh", append([]string{filepath.Join(dir, "shim")}, tt.args...)...)
			cmd.Env = []string{"PATH=" + dir + ":/usr/bin:/bin"}
			if out, err := cmd.CombinedOutput(); err != nil || string(out) != tt.want {
				t.Errorf("%v\n got %s\nwant %s", err, out, tt.want)
			}
		})
	}
}
