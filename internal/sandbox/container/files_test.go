//go:build linux

package container_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-loop/ralph/internal/sandbox"
	"github.com/agent-loop/ralph/internal/sandbox/container"
	"github.com/agent-loop/ralph/internal/sandbox/sandboxtest"
)

func TestImage(t *testing.T) {
	each(t, func(t *testing.T, e testEngine) {
		spec := sandboxtest.Plain(t)
		spec.Image = testImage
		sb := sandboxtest.Create(t, e, spec)
		got := sandboxtest.Output(t, sb, "sh", "-c", `cat /etc/os-release; id -un; cat /etc/hosts; echo made > file; touch /new 2>&1; true`)
		for _, want := range []string{"Debian", "agent\n", "localhost ralph\n", "Read-only file system"} {
			if !strings.Contains(got, want) {
				t.Errorf("%q is not in %s", want, got)
			}
		}
		if text, err := os.ReadFile(filepath.Join(spec.Workspace(), "file")); err != nil || string(text) != "made\n" {
			t.Errorf("got %q, %v", text, err)
		}
	})
}

func TestMissingImage(t *testing.T) {
	each(t, func(t *testing.T, e testEngine) {
		for _, image := range []string{"ralph-test-missing:latest", "--privileged"} {
			spec := sandboxtest.Plain(t)
			spec.Image = image
			_, err := e.Create(t.Context(), spec)
			var refused *sandbox.RefusedError
			if err == nil || image[0] != '-' && (!errors.As(err, &refused) || !strings.Contains(refused.Fix, "pull "+image)) {
				t.Errorf("%s: error is %v", image, err)
			}
		}
		if left, err := e.List(t.Context()); err != nil || len(left) > 0 {
			t.Errorf("List gives %v, %v", left, err)
		}
	})
}

// TestImageSettings: what an image asks for does not reach past the keeper.
func TestImageSettings(t *testing.T) {
	each(t, func(t *testing.T, e testEngine) {
		const name = "ralph-test-settings"
		made := e.must(t, "create", "--network", "none", testImage, "true")
		t.Cleanup(func() { _, _ = e.command("rm", made) })
		e.must(t, "commit", "--change", "VOLUME /data", "--change", "ENV GODEBUG=x=1 LD_PRELOAD=/x IMAGE=1", "--change", "USER root",
			"--change", "WORKDIR /nowhere", "--change", `ENTRYPOINT ["/bin/false"]`, "--change", "LABEL io.ralph.sandbox=ralph-cccccccccccc", made, name)
		t.Cleanup(func() { e.must(t, "rmi", name) }) // when the sandbox is closed
		volumes := e.must(t, "volume", "ls", "--quiet")
		spec := sandboxtest.Plain(t)
		spec.Image = name
		sb := sandboxtest.Create(t, e, spec)
		got := sandboxtest.Output(t, sb, "sh", "-c", `env; id -u; grep " /data " /proc/mounts; touch /data/x && echo writable`)
		if strings.Contains(got, "IMAGE") || strings.Contains(got, "LD_PRELOAD") || strings.Contains(got, "\n0\n") {
			t.Errorf("the image's settings are seen inside: %s", got)
		}
		if !strings.Contains(got, "tmpfs /data tmpfs") || !strings.Contains(got, "writable") {
			t.Errorf("the volume is no place in memory: %s", got)
		}
		if now := e.must(t, "volume", "ls", "--quiet"); now != volumes {
			t.Errorf("the engine made a volume: %s", now)
		}
	})
}

// TestOddPaths: engines read mounts as lists with commas, and some parts of them
// by their colons.
func TestOddPaths(t *testing.T) {
	each(t, func(t *testing.T, e testEngine) {
		spec := sandboxtest.Plain(t)
		names := []string{"a,b", `quo"te`, "col:on", "with space", "readonly=true,x", "ünï"}
		for _, name := range names {
			source := filepath.Join(t.TempDir(), name)
			if err := os.Mkdir(source, 0o755); err != nil {
				t.Fatal(err)
			}
			spec.Mounts = append(spec.Mounts, sandbox.Mount{Source: source, Target: "/mnt/" + name})
		}
		sb := sandboxtest.Create(t, e, spec)
		for i, name := range names {
			sandboxtest.Output(t, sb, "sh", "-c", `echo "$1" > "/mnt/$1/file"`, "sh", name)
			if text, err := os.ReadFile(filepath.Join(spec.Mounts[i+1].Source, "file")); err != nil || string(text) != name+"\n" {
				t.Errorf("%s: got %q, %v", name, text, err)
			}
		}
	})
}

// TestAnyBytesPass: engines have keys that end a session, and bytes that look like
// them must pass. All that goes to the keeper goes by the same stream.
func TestAnyBytesPass(t *testing.T) {
	each(t, func(t *testing.T, e testEngine) {
		sb := sandboxtest.Create(t, e, sandboxtest.Plain(t))
		var all []byte
		for i := range 256 {
			all = append(all, byte(i))
		}
		sent := bytes.Repeat(append(all, 16, 17, 16, 16, 17, 3, 4, 28), 2000)
		var got bytes.Buffer
		code, err := sb.Exec(t.Context(), sandbox.Command{Args: []string{"cat"}, Stdin: bytes.NewReader(sent), Stdout: &got})
		if err != nil || code != 0 || !bytes.Equal(got.Bytes(), sent) {
			t.Errorf("sent %d bytes, got %d: code %d, %v", len(sent), got.Len(), code, err)
		}
	})
}

func TestUser(t *testing.T) {
	each(t, func(t *testing.T, e testEngine) {
		spec := sandboxtest.Plain(t)
		spec.User = sandbox.User{UID: 0, GID: 7}
		var refused *sandbox.RefusedError
		if _, err := e.Create(t.Context(), spec); !errors.As(err, &refused) {
			t.Errorf("root: error is %v", err)
		}
		spec.User = sandbox.User{UID: 4242, GID: 4243}
		if e.options.Flavour == container.Docker || os.Geteuid() == 0 {
			if _, err := e.Create(t.Context(), spec); !errors.As(err, &refused) {
				t.Errorf("another user of the host: error is %v", err)
			}
			return
		}
		sb := sandboxtest.Create(t, e, spec)
		if got := sandboxtest.Output(t, sb, "sh", "-c", "id -u; id -g; id -un; touch file; stat -c %u file"); got != "4242\n4243\nagent\n4242\n" {
			t.Errorf("got %q", got)
		}
	})
}

// TestMemoryRunsOutOnCommandsFirst: the kernel is told whom to end, and that it is
// never the keeper as long as there is another.
func TestMemoryRunsOutOnCommandsFirst(t *testing.T) {
	each(t, func(t *testing.T, e testEngine) {
		sb := sandboxtest.Create(t, e, sandboxtest.Plain(t))
		// The keeper takes the rank itself for the moment in which it starts a command.
		const script = `cat /proc/self/oom_score_adj; while [ "$(cat /proc/1/oom_score_adj)" = 900 ]; do sleep 0.01; done`
		if got := sandboxtest.Output(t, sb, "timeout", "20", "sh", "-c", script); got != "900\n" {
			t.Errorf("got %q", got)
		}
	})
}
