package trust_test

import (
	"bytes"
	"context"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agent-loop/ralph/internal/gate"
	"github.com/agent-loop/ralph/internal/secret"
	"github.com/agent-loop/ralph/internal/trust"
)

// The clients of these tests know neither the password nor who vouches for the
// server: the gate brings the one, the files of this package the other.
const password = "correct-horse-battery-staple"

// world is a server that wants a password, a gate that has it, and the
// environment of a client that trusts the gate.
type world struct {
	proxy  *gate.Proxy
	gate   string
	env    []string
	events chan gate.Event
	dir    string
}

// hosts leads every name to one listener.
type hosts struct{ to string }

func (hosts) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	return []netip.Addr{netip.MustParseAddr("93.184.216.34")}, nil
}

func (h hosts) dial(ctx context.Context, _ netip.AddrPort) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "tcp", h.to)
}

func newWorld(t *testing.T, handler http.Handler) *world {
	t.Helper()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, given, _ := r.BasicAuth(); user != "ralph" || given != password {
			w.Header().Set("WWW-Authenticate", "Basic")
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	server.EnableHTTP2 = true
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)

	policy, err := gate.NewPolicy(gate.ModeAllowlist, []string{"example.com"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	credentials, err := gate.NewCredentials(policy, []gate.Credential{{
		Name: "it", Hosts: []string{"example.com"}, Basic: "ralph",
		Source: func(context.Context) (secret.Secret, error) { return secret.New(password), nil },
	}})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{events: make(chan gate.Event, 1024), dir: t.TempDir()}
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	behind := hosts{server.Listener.Addr().String()}
	w.serve(t, gate.Config{Credentials: credentials, Resolver: behind, Dial: behind.dial, RootCAs: roots, Log: func(e gate.Event) { w.events <- e }})
	w.trust(t, credentials.Certificate())
	return w
}

func (w *world) serve(t *testing.T, config gate.Config) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w.gate = l.Addr().String()
	w.proxy = gate.New(config)
	go w.proxy.Serve(l)
	t.Cleanup(func() {
		now, cancel := context.WithCancel(context.Background())
		cancel()
		w.proxy.Shutdown(now)
	})
}

// trust writes the files and makes the environment, out of nothing but PATH.
func (w *world) trust(t *testing.T, authority []byte) {
	t.Helper()
	system, err := trust.Roots("/", "")
	if err != nil {
		t.Skip("the clients need the system's certificates too:", err)
	}
	if err := trust.Write(w.dir, authority, system); err != nil {
		t.Fatal(err)
	}
	w.env = append(trust.Env(w.dir, w.gate),
		"PATH="+os.Getenv("PATH"), "HOME="+t.TempDir(), "PYENV_ROOT="+os.Getenv("PYENV_ROOT"),
		"HTTPS_PROXY=http://"+w.gate, "https_proxy=http://"+w.gate, "HTTP_PROXY=http://"+w.gate, "http_proxy=http://"+w.gate,
		"GIT_TERMINAL_PROMPT=0", "GIT_CONFIG_NOSYSTEM=1",
	)
}

// need skips the test when a program is not there.
func need(t *testing.T, programs ...string) {
	t.Helper()
	for _, program := range programs {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(err)
		}
	}
}

// run runs a client and returns what it printed.
func (w *world) run(t *testing.T, dir string, argv ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = dir, w.env
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("%v: %w\n%s", argv, err, errs.String())
	}
	return out.String(), nil
}

// TestMain makes this program a client too, one that is written in Go.
func TestMain(m *testing.M) {
	if to := os.Getenv("RALPH_TRUST_TEST_GET"); to != "" {
		resp, err := http.Get(to)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		io.Copy(os.Stdout, resp.Body)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

const javaClient = `
import java.net.URI;
import java.net.http.*;
public class Get {
  public static void main(String[] a) throws Exception {
    var in = new java.net.URL(a[0]).openStream();
    System.out.print(new String(in.readAllBytes()));
    var c = HttpClient.newBuilder().proxy(java.net.ProxySelector.getDefault()).build();
    System.out.print(c.send(HttpRequest.newBuilder(URI.create(a[0])).build(), HttpResponse.BodyHandlers.ofString()).body());
  }
}`

// nodeClient speaks CONNECT itself: older versions of Node know no proxy.
const nodeClient = `
const http = require('http'), https = require('https');
const proxy = new URL(process.env.https_proxy);
http.request({host: proxy.hostname, port: proxy.port, method: 'CONNECT', path: 'example.com:443'})
  .on('connect', (_, socket) => https.get('https://example.com/hello', {socket, agent: false}, r => r.pipe(process.stdout))
    .on('error', e => { console.error(e); process.exit(1) })).end()`

const pythonClient = `import urllib.request; print(urllib.request.urlopen("https://example.com/hello").read().decode(), end="")`

// TestClients has programs of many kinds fetch something through the gate.
func TestClients(t *testing.T) {
	w := newWorld(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello") }))
	java := filepath.Join(t.TempDir(), "Get.java")
	if err := os.WriteFile(java, []byte(javaClient), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, want string
		argv       []string
	}{
		{"curl", "hello", []string{"curl", "-sS", "--fail", "https://example.com/hello"}},
		{"curl twice on one connection", "hellohello", []string{"curl", "-sS", "--fail", "https://example.com/hello", "https://example.com/hello"}},
		{"wget", "hello", []string{"wget", "-q", "-O-", "--ca-certificate=" + filepath.Join(w.dir, trust.BundleFile), "https://example.com/hello"}},
		{"python", "hello", []string{"python3", "-c", pythonClient}},
		{"requests", "hello", []string{"python3", "-c", `import requests; print(requests.get("https://example.com/hello").text, end="")`}},
		{"node", "hello", []string{"node", "-e", nodeClient}},
		{"java", "hellohello", []string{"java", java, "https://example.com/hello"}},
		{"openssl", "Verification: OK", []string{"sh", "-c", `echo | openssl s_client -proxy "${https_proxy#http://}" -connect example.com:443 -servername example.com -verify_return_error -x509_strict`}},
		{"go", "hello", []string{"env", "RALPH_TRUST_TEST_GET=https://example.com/hello", os.Args[0]}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			need(t, tt.argv[0])
			if tt.name == "requests" && exec.Command("python3", "-c", "import requests").Run() != nil {
				t.Skip("python3 has no requests")
			}
			if tt.name == "openssl" {
				need(t, "openssl")
			}
			if tt.name == "java" {
				need(t, "javac") // java alone cannot run a source file
			}
			if got, err := w.run(t, t.TempDir(), tt.argv...); err != nil || !strings.Contains(got, tt.want) {
				t.Errorf("printed %q, %v", got, err)
			}
		})
	}
}

// TestClientsRefuse wants a program without the files to refuse the gate: it
// would otherwise not look at certificates at all, and the tests above say nothing.
func TestClientsRefuse(t *testing.T) {
	need(t, "curl")
	w := newWorld(t, http.NotFoundHandler())
	w.env = []string{"PATH=" + os.Getenv("PATH"), "https_proxy=http://" + w.gate}
	if got, err := w.run(t, t.TempDir(), "curl", "-sS", "https://example.com/"); err == nil {
		t.Errorf("printed %q", got)
	}
	select {
	case e := <-w.events:
		if e.Code != gate.CodeAuthorityNotTrusted {
			t.Errorf("event %+v", e)
		}
	case <-time.After(10 * time.Second):
		t.Error("no event")
	}
}

// gitServer is git's own server, with one empty repository at /acme.git.
func gitServer(t *testing.T) http.Handler {
	t.Helper()
	need(t, "git")
	core, err := exec.Command("git", "--exec-path").Output()
	backend := filepath.Join(strings.TrimSpace(string(core)), "git-http-backend")
	if _, statErr := os.Stat(backend); err != nil || statErr != nil {
		t.Skip("git has no http-backend here")
	}
	repos := t.TempDir()
	if out, err := exec.Command("git", "init", "-q", "--bare", filepath.Join(repos, "acme.git")).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return &cgi.Handler{Path: backend, Root: "/", Env: []string{"GIT_PROJECT_ROOT=" + repos, "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=ralph"}}
}

// TestGit clones, commits, pushes and fetches through the gate, over git's own
// server.
func TestGit(t *testing.T) {
	w := newWorld(t, gitServer(t))
	dir := t.TempDir()
	git := func(in string, args ...string) string {
		t.Helper()
		argv := append([]string{"git", "-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "init.defaultBranch=main", "-c", "http.postBuffer=65536"}, args...)
		out, err := w.run(t, in, argv...)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	git(dir, "clone", "https://example.com/acme.git", "one")
	one := filepath.Join(dir, "one")
	big := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	for i := range big {
		big[i] ^= byte(i * 7 >> 5) // so that it does not compress to nothing
	}
	if err := os.WriteFile(filepath.Join(one, "file"), big, 0o644); err != nil {
		t.Fatal(err)
	}
	git(one, "add", ".")
	git(one, "commit", "-qm", "first")
	git(one, "push", "origin", "HEAD:main")
	git(dir, "clone", "-b", "main", "https://example.com/acme.git", "two")
	if got, err := os.ReadFile(filepath.Join(dir, "two", "file")); err != nil || !bytes.Equal(got, big) {
		t.Errorf("the second clone has %d bytes, %v", len(got), err)
	}
}

// TestNPM installs a package from a registry that wants a password.
func TestNPM(t *testing.T) {
	need(t, "npm", "tar")
	work := t.TempDir()
	if err := os.MkdirAll(filepath.Join(work, "package"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(work, "package", "package.json"), []byte(`{"name":"demo","version":"1.0.0"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("tar", "-czf", filepath.Join(work, "demo.tgz"), "-C", work, "package").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	w := newWorld(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, ".tgz") {
			http.ServeFile(w, r, filepath.Join(work, "demo.tgz"))
			return
		}
		io.WriteString(w, `{"name":"demo","dist-tags":{"latest":"1.0.0"},"versions":{"1.0.0":{"name":"demo","version":"1.0.0","dist":{"tarball":"https://example.com/demo.tgz"}}}}`)
	}))
	dir := t.TempDir()
	if _, err := w.run(t, dir, "npm", "install", "--registry", "https://example.com/", "--no-audit", "--no-fund", "demo"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "node_modules", "demo", "package.json")); err != nil {
		t.Error(err)
	}
}
