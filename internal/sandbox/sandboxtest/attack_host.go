package sandboxtest

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-loop/ralph/internal/probe"
)

// attackHost is everything outside the sandbox that an attack may be after.
type attackHost struct {
	base      string // holds all of the following
	home      string
	sibling   string
	data      string // mounted read-only
	facts     probe.Facts
	listeners []*attackListener
	victim    *exec.Cmd // a process with the secret in its arguments and environment
	died      chan error
}

// attackFolder is not t.TempDir: a socket's path must be short.
func attackFolder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "attack")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Errorf("cleaning up: %v", err)
		}
	})
	// Other users must be able to pass, for an engine that becomes one.
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func newAttackHost(t *testing.T, base string) *attackHost {
	t.Helper()
	base, err := filepath.EvalSymlinks(base)
	if err != nil {
		t.Fatal(err)
	}
	h := &attackHost{
		base:    base,
		home:    filepath.Join(base, "home", "user"),
		sibling: filepath.Join(base, "runs", "other"),
		data:    filepath.Join(base, "data"),
	}
	secret := "secret-" + rand.Text()
	h.facts = probe.Facts{
		Secret:        probe.Secret(secret),
		HomeFile:      filepath.Join(h.home, ".ssh", "id_ed25519"),
		SiblingRun:    h.sibling,
		HostPaths:     append(attackHomes(base), h.home, h.sibling),
		ReadOnlyMount: h.data,
		MetadataIP:    "169.254.169.254",
		KernelLog:     probe.Secret(attackKernelLog()),
		HostKey:       attackKey(t, secret),
	}
	// Readable by all: it is the boundary that must hide it, not its mode.
	attackWrite(t, h.facts.HomeFile, secret, 0o644)
	attackWrite(t, filepath.Join(h.sibling, "state.json"), secret, 0o644)
	attackWrite(t, filepath.Join(h.data, "data.txt"), "data\n", 0o644)
	h.listen(t, secret)
	h.startVictim(t, secret)
	return h
}

func attackWrite(t *testing.T, path, content string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
}

// attackHomes lists what lies in real home directories of this machine and can
// not be part of a root file system of its own, nor lead to our own folder.
func attackHomes(own string) []string {
	const enough = 64
	everywhere := map[string]bool{".bashrc": true, ".profile": true, ".bash_logout": true, ".wget-hsts": true}
	homes, _ := filepath.Glob("/home/*") // the pattern is well formed
	if home, err := os.UserHomeDir(); err == nil {
		homes = append(homes, home)
	}
	var list []string
	for _, home := range append(homes, "/root") {
		entries, _ := os.ReadDir(home) // a home we cannot read has nothing to check for
		for _, e := range entries {
			path := filepath.Join(home, e.Name())
			if !everywhere[e.Name()] && !strings.HasPrefix(own, path+"/") && len(list) < enough {
				list = append(list, path)
			}
		}
	}
	return list
}

// listen opens every kind of socket by which the host could be reached.
func (h *attackHost) listen(t *testing.T, secret string) {
	t.Helper()
	loopback := h.open(t, "tcp", "127.0.0.1:0", secret)
	h.facts.HostTCP = loopback.Addr().String()
	if ip := attackAddress(); ip != "" {
		h.facts.HostLAN = h.open(t, "tcp", net.JoinHostPort(ip, "0"), secret).Addr().String()
	}
	h.facts.DockerSocket = filepath.Join(h.home, "docker.sock")
	h.open(t, "unix", h.facts.DockerSocket, secret)
	if attackAbstract {
		h.facts.AbstractSocket = "attack-" + rand.Text()
		h.open(t, "unix", "@"+h.facts.AbstractSocket, secret)
	}
}

// attackAddress is an address of this machine that is not loopback.
func attackAddress() string {
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return ""
	}
	for _, a := range addresses {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && n.IP.IsGlobalUnicast() {
			return n.IP.String()
		}
	}
	return ""
}

// startVictim starts a process that ends with the test, since its input does.
func (h *attackHost) startVictim(t *testing.T, secret string) {
	t.Helper()
	h.victim = exec.Command("sh", "-c", "read line", secret)
	h.victim.Env = []string{"SECRET=" + secret}
	stdin, err := h.victim.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := h.victim.Start(); err != nil {
		t.Fatalf("starting a process to attack: %v", err)
	}
	h.facts.HostPID = h.victim.Process.Pid
	h.died = make(chan error, 1)
	go func() { h.died <- h.victim.Wait() }()
	t.Cleanup(func() { stdin.Close() })
}

// problems looks at the host after a probe.
func (h *attackHost) problems(ws *attackWorkspace, before attackState, o *attackOutcome) []string {
	var list []string
	for _, out := range [][]byte{o.stdout.bytes(), o.stderr.bytes()} {
		if bytes.Contains(out, []byte(h.facts.Secret)) {
			list = append(list, "the secret is in the probe's output")
		}
	}
	for _, l := range append(h.listeners, ws.listener) {
		if n := l.taken(); n > 0 {
			list = append(list, fmt.Sprintf("%d connections arrived at %s", n, l.Addr()))
		}
	}
	select {
	case err := <-h.died:
		list = append(list, fmt.Sprintf("the host's process was ended: %v", err))
	default:
	}
	list = append(list, before.changes(h.watch(ws))...)
	return append(list, attackDangerous(ws.dir)...)
}

// watch records what no probe may change: everything but the open part of the
// workspace.
func (h *attackHost) watch(ws *attackWorkspace) attackState {
	state := attackState{}
	for _, dir := range []string{filepath.Join(h.base, "home"), h.sibling, h.data} {
		state.add(dir)
	}
	for _, name := range attackProtected() {
		state.add(filepath.Join(ws.dir, name))
	}
	for _, dir := range []string{h.base, filepath.Join(h.base, "runs"), "/", "/etc", "/usr", "/usr/bin", "/usr/local", "/usr/local/bin", "/opt", "/root"} {
		state.addMade(dir)
	}
	return state
}
