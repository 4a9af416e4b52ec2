package probe

import (
	"crypto/rand"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// bareHost sets up what the probes look for, with nothing in between: every
// probe that finds it must say so.
func bareHost(t *testing.T) Facts {
	t.Helper()
	base, err := os.MkdirTemp("", "bare") // short, for the sockets
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(base) })
	secret := "secret-" + rand.Text()
	f := Facts{
		Secret:         Secret(secret),
		HomeFile:       filepath.Join(base, "home/id"),
		SiblingRun:     filepath.Join(base, "runs/other"),
		Workspace:      filepath.Join(base, "runs/this"),
		ReadOnlyMount:  filepath.Join(base, "data"),
		Protected:      []string{".git", "ralph.toml", ".ralph"},
		HostUnixSocket: filepath.Join(base, "runs/this/s"),
		DockerSocket:   filepath.Join(base, "home/s"),
		AbstractSocket: "bare-" + rand.Text(),
		HostPaths:      []string{base},
	}
	for path, content := range map[string]string{
		f.HomeFile: secret, f.SiblingRun + "/state": secret, f.ReadOnlyMount + "/data": "data",
		f.Workspace + "/.git/config": "[core]\n", f.Workspace + "/.git/hooks/pre-commit": "#!/bin/sh\n",
		f.Workspace + "/.git/objects/info/packs": "", f.Workspace + "/.git/info/exclude": "",
		f.Workspace + "/ralph.toml": "[agent]\n", f.Workspace + "/.ralph/state": "{}\n",
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	f.HostTCP = greet(t, "tcp", "127.0.0.1:0", secret)
	for _, address := range []string{f.HostUnixSocket, f.DockerSocket, "@" + f.AbstractSocket} {
		greet(t, "unix", address, secret)
	}
	f.HostPID = startVictim(t, secret)
	return f
}

func greet(t *testing.T, network, address, secret string) string {
	t.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Write([]byte(secret)) // the prober may be gone
			conn.Close()
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
	return l.Addr().String()
}

func startVictim(t *testing.T, secret string) int {
	t.Helper()
	cmd := exec.Command("sh", "-c", "read line", secret)
	cmd.Env = []string{"SECRET=" + secret}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stdin.Close()
		_ = cmd.Wait() // it ends with its input
	})
	return cmd.Process.Pid
}

// call runs a probe as an engine does: this program again, as the helper.
func call(t *testing.T, name string, f Facts, prepare func(*exec.Cmd)) Report {
	t.Helper()
	env, err := f.Env()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "probe", name)
	cmd.Env = append(os.Environ(), env)
	cmd.Stderr = os.Stderr
	if prepare != nil {
		prepare(cmd)
	}
	out, err := cmd.Output()
	if exited := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exited) {
		t.Fatal(err)
	}
	r, err := Decode(name, out)
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if code := cmd.ProcessState.ExitCode(); code != r.Verdict.exitCode() {
		t.Errorf("exit code %d with verdict %q", code, r.Verdict)
	}
	return r
}

// Each of these finds its prey when nothing stands in between. A probe that
// could not fail would prove nothing where it does not.
func TestProbesReportBreachesOnBareHost(t *testing.T) {
	f := bareHost(t)
	probes := []string{
		"home-by-path", "home-by-dotdot", "home-by-proc-root", "home-by-symlink", "home-by-hardlink",
		"home-by-mount-alias", "other-homes", "sibling-run", "write-home", "write-read-only-mount",
		"reopen-for-writing", "setuid-file",
		"git-hook-write", "git-config-write", "git-obeyed-files", "git-rename", "git-hooks-symlink", "git-case-alias",
		"project-file-write", "project-file-rename", "project-file-unlink",
		"protected-create", "protected-attributes", "protected-hardlink", "protected-parent-move",
		"host-environment", "host-arguments", "host-signal",
		"docker-socket", "workspace-socket", "abstract-socket", "host-loopback",
		"namespace-protected",
	}
	for _, name := range probes {
		t.Run(name, func(t *testing.T) {
			r := call(t, name, f, nil)
			if name == "namespace-protected" && r.Verdict == Blocked {
				t.Skipf("this machine has no user namespaces for us: %s", r.Detail)
			}
			if r.Verdict != Breach {
				t.Errorf("verdict %q: %s", r.Verdict, r.Detail)
			}
		})
	}
}

// Success must leave the host as it was.
func TestBreachesLeaveTheHostIntact(t *testing.T) {
	f := bareHost(t)
	file := filepath.Join(f.Workspace, "ralph.toml")
	for _, name := range []string{"project-file-write", "project-file-rename", "project-file-unlink", "git-rename", "protected-attributes", "protected-parent-move"} {
		call(t, name, f, nil)
	}
	content, err := os.ReadFile(file)
	if err != nil || string(content) != "[agent]\n" {
		t.Errorf("%s holds %q, %v", file, content, err)
	}
	if _, err := os.Stat(filepath.Join(f.Workspace, ".git/config")); err != nil {
		t.Error(err)
	}
}

func TestProbesAreBlockedWhereNothingIs(t *testing.T) {
	nowhere := filepath.Join(t.TempDir(), "nothing")
	f := Facts{Secret: "a secret nobody has", HomeFile: nowhere, SiblingRun: nowhere, HostPaths: []string{nowhere},
		DockerSocket: nowhere, AbstractSocket: "nobody-" + rand.Text(), HostUnixSocket: nowhere}
	for _, name := range []string{"home-by-path", "home-by-dotdot", "home-by-proc-root", "other-homes", "sibling-run", "abstract-socket", "workspace-socket", "host-environment"} {
		t.Run(name, func(t *testing.T) {
			if r := call(t, name, f, nil); r.Verdict != Blocked {
				t.Errorf("verdict %q: %s", r.Verdict, r.Detail)
			}
		})
	}
}

func TestProbesDoNotApplyWithoutFacts(t *testing.T) {
	for _, name := range []string{"home-by-path", "sibling-run", "git-rename", "host-signal", "host-loopback", "workspace-socket", "gate-to-host"} {
		if r := call(t, name, Facts{}, nil); r.Verdict != NotApplicable {
			t.Errorf("%s: verdict %q: %s", name, r.Verdict, r.Detail)
		}
	}
}

func TestLeakedDescriptorsAreFound(t *testing.T) {
	dir, err := os.Open("/")
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	leaks := map[string]func(*exec.Cmd){
		"a file":                     func(c *exec.Cmd) { c.ExtraFiles = []*os.File{dir} },
		"a folder as standard input": func(c *exec.Cmd) { c.Stdin = dir },
	}
	for name, leak := range leaks {
		t.Run(name, func(t *testing.T) {
			if r := call(t, "inherited-descriptors", Facts{}, leak); r.Verdict != Breach {
				t.Errorf("verdict %q: %s", r.Verdict, r.Detail)
			}
		})
	}
	f := bareHost(t)
	leak := func(c *exec.Cmd) { c.Stdin = dir }
	if r := call(t, "home-by-descriptor", f, leak); r.Verdict != Breach {
		t.Errorf("home-by-descriptor: verdict %q: %s", r.Verdict, r.Detail)
	}
}

// On a host the probes that use everything up must not even start.
func TestResourceProbesSpareTheHost(t *testing.T) {
	f := bareHost(t)
	f.MaxProcesses, f.MaxMemory, f.MaxDisk = 4, 1<<20, 1<<20
	for _, p := range append(All(), resourceSteps()...) {
		if p.Kind != Resources {
			continue
		}
		t.Run(p.Name, func(t *testing.T) {
			if r := call(t, p.Name, f, nil); r.Verdict != Breach || !strings.Contains(r.Detail, "not tried") {
				t.Errorf("verdict %q: %s", r.Verdict, r.Detail)
			}
			if r := call(t, p.Name, Facts{Workspace: f.Workspace}, nil); r.Verdict != Failed {
				t.Errorf("without a process of the host: verdict %q: %s", r.Verdict, r.Detail)
			}
		})
	}
}
