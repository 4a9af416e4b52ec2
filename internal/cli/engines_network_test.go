//go:build linux

package cli_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// fiveNames is an allowlist of what builds need.
const fiveNames = `
[sandbox.network]
policy = "allowlist"
allowed = ["github.com", "*.crates.io", "*.npmjs.org", "*.pypi.org", "api.anthropic.com"]
`

// clients is a script that says of every client whether it got what it asked for,
// and of everything else what became of it. The clients find their indexes as they
// always do; pip's own is not below its domain, so it is told another one.
const clients = `
ca=$PWD/ca.pem
export SSL_CERT_FILE=$ca CURL_CA_BUNDLE=$ca GIT_SSL_CAINFO=$ca NODE_EXTRA_CA_CERTS=$ca PIP_CERT=$ca CARGO_HTTP_CAINFO=$ca
export CARGO_HOME=/tmp/cargo npm_config_cache=/tmp/npm npm_config_update_notifier=false PIP_DISABLE_PIP_VERSION_CHECK=1 PATH=$PATH:/opt/rust/bin:/usr/sbin:/sbin
tell() { name=$1; shift; if "$@" >/tmp/out 2>&1; then echo "$name: reached"; else echo "$name: not"; sed "s|^|# $name: |" /tmp/out >&2; fi; }
mkdir -p /tmp/w && cd /tmp/w
has() { command -v "$1" >/dev/null; }
get() { tell "$1" curl -sSf -m 10 "$1"; }

each() {
get https://api.anthropic.com/hello
get https://github.com/hello
get https://any.crates.io/hello
get http://any.npmjs.org/hello
for place in https://elsewhere.example https://gist.github.com https://github.com.elsewhere.example https://github.com:8443 https://44.0.0.1 http://elsewhere.example; do get $place/hello; done
tell "past the proxy" curl -sSf -m 5 --noproxy '*' https://github.com/hello
tell "past the proxy by address" curl -sSf -m 5 --noproxy '*' -k https://44.0.0.1/hello
}

each >/tmp/before
cat /tmp/before
tell git git clone -q https://github.com/owner/thing.git cloned
if has npm; then mkdir -p n && tell npm npm install --prefix n --no-audit --no-fund thing; fi
if python3 -m pip --version >/dev/null 2>&1; then tell pip python3 -m pip download -q --no-deps --index-url https://any.pypi.org/simple -d p thing; fi
if has cargo; then
	mkdir -p c/src && echo >c/src/lib.rs && printf '[package]\nname = "c"\nversion = "0.1.0"\nedition = "2021"\n[dependencies]\nthing = "1"\n' >c/Cargo.toml
	tell cargo cargo fetch --manifest-path c/Cargo.toml
fi
tell "git elsewhere" git clone -q https://elsewhere.example/owner/thing.git other
if has npm; then tell "npm elsewhere" npm install --prefix n --no-audit --no-fund --fetch-retries 0 --registry https://elsewhere.example thing; fi

grep CapEff /proc/self/status
tell "a new capability" unshare -Ur true
for table in "iptables -F" "iptables -P OUTPUT ACCEPT" "nft flush ruleset" "ip link add type dummy" "ip route add default dev lo"; do
	if has ${table%% *}; then tell "$table" $table; fi
done
tell netlink python3 -c '
import socket, struct
s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
kind = struct.pack("=HH", 9, 1) + b"dummy" + bytes(3) # the name of a kind of link
body = bytes(16) + struct.pack("=HH", len(kind) + 4, 18) + kind
s.send(struct.pack("=IHHII", 16 + len(body), 16, 0x605, 1, 0) + body)
answer = s.recv(4096)
assert struct.unpack_from("=i", answer, 16)[0] == 0, answer
'
each >/tmp/after
cmp /tmp/before /tmp/after && echo "as before"
`

// TestEnginesAllowlist: five allowed names are reached by the clients that people
// use, by TLS with its names checked, and nothing else is, whatever is done to the
// firewall inside.
func TestEnginesAllowlist(t *testing.T) {
	repositories := t.TempDir()
	repository(t, repositories)
	eachEngine(t, func(t *testing.T, engine string) {
		l := newEngineLab(t, engine, fiveNames)
		net := newInternet(t, packages(t, repositories))
		l.write("ca.pem", net.authority())
		args := []string{"exec", "--mount", l.rust() + ":/opt/rust:ro", "--", "sh", "-c", clients}
		cmd := l.command(args...)
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		net.within(cmd.Start)
		if err := cmd.Wait(); err != nil {
			t.Fatalf("%v\n%s%s", err, &stdout, &stderr)
		}
		checkReached(t, stdout.String(), stderr.String())
		for _, host := range net.hosts() {
			if !slices.ContainsFunc([]string{"github.com", ".crates.io", ".npmjs.org", ".pypi.org", "api.anthropic.com"}, func(end string) bool {
				return host == end || strings.HasPrefix(end, ".") && strings.HasSuffix(host, end)
			}) {
				t.Errorf("%s was reached", host)
			}
		}
		if !strings.Contains(stderr.String(), `ralph: refused a connection to "elsewhere.example:443"`) {
			t.Errorf("the user is told\n%s", &stderr)
		}
		net.within(func() error { // it would have answered
			return exec.Command("curl", "-sSf", "--cacert", filepath.Join(l.project, "ca.pem"), "https://elsewhere.example/hello").Run()
		})
		l.nothingLeft()
		l.gone()
	}, "bubblewrap", "docker")
}

// rust is the folder of a Rust toolchain, or one without.
func (l *engineLab) rust() string {
	dir := l.t.TempDir()
	out, err := exec.Command("rustc", "--print", "sysroot").Output()
	if err != nil {
		return dir
	}
	root := strings.TrimSpace(string(out))
	if _, err := os.Stat(filepath.Join(root, "bin", "cargo")); err != nil || root == "/usr" {
		return dir
	}
	return root
}

// checkReached reads what the script said.
func checkReached(t *testing.T, said, why string) {
	t.Helper()
	want := map[string]bool{}
	for _, name := range []string{"https://api.anthropic.com/hello", "https://github.com/hello", "https://any.crates.io/hello", "http://any.npmjs.org/hello", "git", "npm", "pip", "cargo"} {
		want[name] = true
	}
	told := map[string]string{}
	for line := range strings.Lines(said) {
		name, outcome, _ := strings.Cut(strings.TrimSpace(line), ": ")
		told[name] = outcome
		if reached := outcome == "reached"; (reached || outcome == "not") && reached != want[name] {
			t.Errorf("%s: %s\n%s", name, outcome, why)
		}
	}
	for _, name := range []string{"https://github.com/hello", "https://elsewhere.example/hello", "past the proxy", "git", "netlink", "a new capability"} {
		if told[name] == "" {
			t.Errorf("nothing is said of %s:\n%s", name, said)
		}
	}
	if !strings.Contains(said, "CapEff:\t0000000000000000") || !strings.HasSuffix(said, "as before\n") {
		t.Errorf("at last it says\n%s%s", said, why)
	}
}
