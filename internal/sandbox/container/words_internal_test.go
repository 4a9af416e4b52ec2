package container

import (
	"errors"
	"strings"
	"testing"

	"github.com/agent-loop/ralph/internal/sandbox"
)

// TestExplain has the words of real engines, as they were printed.
func TestExplain(t *testing.T) {
	for _, test := range []struct {
		name        string
		flavour     flavour
		said        string
		unavailable bool
		want, hint  string // parts of the message and of the hint
	}{
		{"docker is down", dockerFlavour(), "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?\n", true, "does not answer", "systemctl start docker"},
		{"not one of the group", dockerFlavour(), "WARNING: Error loading config file: open /root/.docker/config.json: permission denied\n" +
			"permission denied while trying to connect to the Docker daemon socket at unix:///var/run/docker.sock: Get \"http://%2Fvar%2Frun%2Fdocker.sock/v1.50/info\": dial unix /var/run/docker.sock: connect: permission denied\n",
			true, "may not use docker", "root on this machine"},
		{"no such image", dockerFlavour(), "docker: Error response from daemon: No such image: nope:latest\n\nRun 'docker run --help' for more information\n", false, "not on this machine", "docker pull"},
		{"no such image in podman", podmanFlavour(), "Error: nope:latest: image not known\n", false, "not on this machine", "podman pull"},
		{"no such runtime", dockerFlavour(), "docker: Error response from daemon: Unknown runtime specified nope\n\nRun 'docker run --help' for more information\n", true, "OCI runtime", "info"},
		{"no such runtime in podman", podmanFlavour(), "Error: default OCI runtime \"nope\" not found: invalid argument\n", true, "OCI runtime", "info"},
		{"the disk is full", dockerFlavour(), "docker: Error response from daemon: mkdir /var/lib/docker/overlay2/1: no space left on device.\nSee 'docker run --help'.\n", false, "full", "prune"},
		{"the name is taken", dockerFlavour(), "docker: Error response from daemon: Conflict. The container name \"/x\" is already in use by container \"abc\".\n", false, "exists already", "again"},
		{"the daemon died", dockerFlavour(), "time=\"2026-11-15T13:40:00Z\" level=error msg=\"error waiting for container: unexpected EOF\"\n", false, "went away", "systemctl start docker"},
		{"the daemon died at the start", dockerFlavour(), "error during connect: Post \"http://%2Fs/v1.41/containers/4d7d/start\": EOF.\n", false, "went away", "systemctl start docker"},
		{"podman has no users", podmanFlavour(), "Error: command required for rootless mode with multiple IDs: exec: \"newuidmap\": executable file not found in $PATH\n", true, "no users to map", "uidmap"},
		{"something else", podmanFlavour(), "Resource limits are not supported and ignored on cgroups V1 rootless systems\nError: crun: it is Monday\n", false, "crun: it is Monday", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := test.flavour.explain(lastWords(test.said))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("got %v, want %q", err, test.want)
			}
			var unavailable *sandbox.UnavailableError
			if got := errors.As(err, &unavailable); got != test.unavailable {
				t.Errorf("%#v: unavailable is %v", err, got)
			}
			hint := ""
			if hinter, ok := err.(interface{ Hint() string }); ok {
				hint = hinter.Hint()
			}
			if !strings.Contains(hint, test.hint) {
				t.Errorf("the hint is %q, want %q", hint, test.hint)
			}
		})
	}
	if err := dockerFlavour().explain(lastWords("\n\nSee 'docker run --help'.\n")); err != nil {
		t.Errorf("no words are explained as %v", err)
	}
}

func FuzzLastWords(f *testing.F) {
	f.Add("docker: Error response from daemon: x\n\nRun 'docker run --help' for more information\n")
	f.Add("time=\"x\" level=warning msg=y\n\xff\x00")
	f.Fuzz(func(t *testing.T, said string) {
		words := lastWords(said)
		if len(words) > 1000 || strings.ContainsAny(words, "\n\r") || strings.TrimSpace(said) == "" && words != "" {
			t.Errorf("got %q", words)
		}
	})
}
