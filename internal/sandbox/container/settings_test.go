//go:build linux

package container_test

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agent-loop/ralph/internal/sandbox"
	"github.com/agent-loop/ralph/internal/sandbox/container"
	"github.com/agent-loop/ralph/internal/sandbox/sandboxtest"
)

// TestUserSettingsStayOut: what a user has his engine add to every container is
// not for sandboxes.
func TestUserSettingsStayOut(t *testing.T) {
	const proxy = "http://user:password@proxy.example:8080"
	settings := t.TempDir()
	for name, text := range map[string]string{
		"config.json": `{"proxies":{"default":{"httpProxy":"` + proxy + `"}}}`,
		"extra.conf":  podmanSettings(t) + "\n[containers]\nenv = [\"LEAK=" + proxy + "\"]\nvolumes = [\"" + settings + ":/leak\"]\nhttp_proxy = true\nenv_host = true\n",
	} {
		if err := os.WriteFile(filepath.Join(settings, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, flavour := range []container.Flavour{container.Docker, container.Podman} {
		t.Run(string(flavour), func(t *testing.T) {
			e := newEngine(t, flavour, func(o *container.Options) {
				o.Env = append(o.Env, "DOCKER_CONFIG="+settings, "CONTAINERS_CONF="+filepath.Join(settings, "extra.conf"), "HTTP_PROXY="+proxy, "LEAK="+proxy)
			})
			sb := sandboxtest.Create(t, e, sandboxtest.Plain(t))
			if env := e.must(t, "inspect", "--format", "{{json .Config.Env}} {{json .Mounts}}", sb.ID()); strings.Contains(env, "proxy") || strings.Contains(env, "leak") {
				t.Errorf("the container has %s", env)
			}
			sandboxtest.Output(t, sb, "sh", "-c", "test ! -e /leak")
		})
	}
}

// podmanSettings are those that podman needs here, but for the table that the test
// adds to.
func podmanSettings(t *testing.T) string {
	t.Helper()
	path := os.Getenv("CONTAINERS_CONF")
	if path == "" {
		path = filepath.Join(os.Getenv("HOME"), ".config/containers/containers.conf")
	}
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	needed, _, _ := strings.Cut(string(data), "[containers]")
	return needed
}

// TestContext finds docker by the context that the user has chosen.
func TestContext(t *testing.T) {
	config := t.TempDir()
	plain := newEngine(t, container.Docker)
	plain.must(t, "--config", config, "context", "create", "private", "--docker", "host="+os.Getenv(dockerVar))
	plain.must(t, "--config", config, "context", "create", "far", "--docker", "host=tcp://192.0.2.1:2375")
	o := plain.options
	o.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "DOCKER_CONFIG=" + config, "DOCKER_CONTEXT=private"}
	sandboxtest.Create(t, container.New(o), sandboxtest.Plain(t))

	o.Env = append(o.Env, "DOCKER_CONTEXT=far")
	_, err := container.New(o).Probe(t.Context())
	checkUnavailable(t, "another machine", err)
}

func checkUnavailable(t *testing.T, want string, err error) {
	t.Helper()
	var unavailable *sandbox.UnavailableError
	if !errors.As(err, &unavailable) || !strings.Contains(err.Error(), want) || unavailable.Fix == "" {
		t.Errorf("error is %v, want an UnavailableError with %q and a fix", err, want)
	}
}

func TestUnavailable(t *testing.T) {
	docker := newEngine(t, container.Docker).options
	for _, test := range []struct{ host, want string }{
		{"unix://" + filepath.Join(t.TempDir(), "docker.sock"), "does not answer"},
		{"tcp://192.0.2.1:2375", "another machine"},
		{"ssh://somewhere", "another machine"},
	} {
		o := docker
		o.Env = append(o.Env[:len(o.Env):len(o.Env)], "DOCKER_HOST="+test.host)
		_, err := container.New(o).Probe(t.Context())
		checkUnavailable(t, test.want, err)
	}
	o := docker
	o.Runtime = "no-such-runtime"
	_, err := container.New(o).Probe(t.Context())
	checkUnavailable(t, "no-such-runtime", err)
}

// TestHungEngine: one that never answers does not hang ralph.
func TestHungEngine(t *testing.T) {
	docker := newEngine(t, container.Docker).options
	socket := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	docker.Env = append(docker.Env, "DOCKER_HOST=unix://"+socket)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	began := time.Now()
	if _, err := container.New(docker).Probe(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error is %v", err)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("it took %v", took)
	}
}
