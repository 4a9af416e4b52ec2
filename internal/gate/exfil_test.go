package gate

import (
	"slices"
	"strings"
	"testing"
)

// attempt is one way to get data out through the gate. Each is made twice: under
// the policy, where nothing may arrive; and under the same policy with the rules
// of proof, or in the shape of proofRaw, where it must arrive, because a test in
// which nothing could ever arrive proves nothing.
type attempt struct {
	name   string
	raw    string // sent to the gate
	inside []byte // sent in the tunnel, if there is one

	mode  Mode     // allowlist if empty
	allow []string // beside the rules that everyone has
	deny  []string

	proof       []string // rules that let it pass
	proofRaw    string   // or: the same without the trick, which passes as it is
	proofInside []byte

	status string // of the answer: what the one inside is told
	known  string // it does arrive: why that is accepted
}

// usual is what the policy of each attempt allows anyway.
var usual = []string{"friend.test", "*.wild.test"}

func (a attempt) policy(t *testing.T, more []string) *Policy {
	t.Helper()
	mode := a.mode
	if mode == "" {
		mode = ModeAllowlist
	}
	deny := a.deny
	if more != nil {
		deny = nil
	}
	return mustPolicy(t, mode, slices.Concat(usual, a.allow, more), deny)
}

func attempts(t *testing.T) []attempt {
	return slices.Concat(nameAttempts(), spellingAttempts(), resolverAttempts(t), addressAttempts(), metadataAttempts(),
		helloAttempts(t), portAttempts(), protocolAttempts(), requestAttempts())
}

func TestExfiltration(t *testing.T) {
	all := attempts(t)
	names := map[string]bool{}
	for _, a := range all {
		if names[a.name] {
			t.Errorf("two attempts are called %q", a.name)
		}
		names[a.name] = true
		t.Run(a.name, func(t *testing.T) { t.Parallel(); a.try(t) })
	}
	t.Logf("%d attempts", len(all))
}

func (a attempt) try(t *testing.T) {
	th := startTheatre(t, a.policy(t, nil), "")
	line := th.play(t, a.raw, a.inside)
	what := th.escaped(t)
	if !strings.Contains(line, " "+a.status+" ") {
		t.Errorf("answer %q, want %s", line, a.status)
	}
	if a.known != "" {
		if len(what) == 0 {
			t.Errorf("nothing arrived, although: %s", a.known)
		}
		return
	}
	if len(what) > 0 {
		t.Errorf("arrived: %q", what)
	}
	a.prove(t)
}

// prove makes the attempt again where it is allowed.
func (a attempt) prove(t *testing.T) {
	raw, inside := a.raw, a.inside
	if a.proofRaw != "" {
		raw, inside = a.proofRaw, a.proofInside
	}
	more := a.proof
	if more == nil {
		more = []string{}
	}
	th := startTheatre(t, a.policy(t, more), "")
	line := th.play(t, raw, inside)
	if what := th.escaped(t); len(what) == 0 {
		t.Errorf("nothing arrived where it is allowed (answer %q): the attempt proves nothing", line)
	}
}

// connectTo is a CONNECT, and plainTo a GET that carries the loot. A CONNECT needs
// no Host header, and net/http refuses one that is not ASCII.
func connectTo(authority string) string { return "CONNECT " + authority + " HTTP/1.1\r\n\r\n" }

func plainTo(authority string) string {
	return "GET http://" + authority + "/" + loot + " HTTP/1.1\r\nHost: " + authority + "\r\n\r\n"
}

// TestExfiltrationByAnotherRun gives the gate the password of another run, and
// one of its own that it must keep to itself.
func TestExfiltrationByAnotherRun(t *testing.T) {
	const others, own = "b3RoZXI6b3RoZXI=", "cnVuOmwwMHQ=" // other:other, run:l00t
	request := func(password string) string {
		return "GET http://friend.test/l00t HTTP/1.1\r\nHost: friend.test\r\nProxy-Authorization: Basic " + password + "\r\n\r\n"
	}
	policy := mustPolicy(t, ModeAllowlist, usual, nil)
	th := startTheatre(t, policy, loot)
	if line := th.play(t, request(others), nil); !strings.Contains(line, " 407 ") {
		t.Errorf("answer %q to the password of another run", line)
	}
	if what := th.escaped(t); len(what) > 0 {
		t.Errorf("arrived: %q", what)
	}
	th = startTheatre(t, policy, loot)
	th.play(t, request(own), nil)
	if what := th.escaped(t); len(what) == 0 {
		t.Error("nothing arrived with the right password")
	}
	if got := th.friend.text(); strings.Contains(got, own) || strings.Contains(got, "Proxy-") {
		t.Errorf("the password arrived: %q", got)
	}
}

// TestExfiltrationByEvents writes what it wants to get out into every place that
// is recorded. The record stays here; but it must not grow without bounds, and a
// query, where tokens travel, is not in it.
func TestExfiltrationByEvents(t *testing.T) {
	long := strings.Repeat("x", 20_000)
	th := startTheatre(t, mustPolicy(t, ModeAllowlist, usual, nil), "")
	for _, raw := range []string{
		"GET /health?" + loot + " HTTP/1.1\r\nHost: " + long + "\r\n\r\n",
		"GET http://friend.test/" + long + "?" + loot + " HTTP/1.1\r\nHost: friend.test\r\nX: " + loot + "\r\n\r\n",
		"CONNECT " + long + ":443 HTTP/1.1\r\n\r\n",
		long + " http://friend.test/ HTTP/1.1\r\nHost: friend.test\r\n\r\n",
	} {
		th.play(t, raw, nil)
		e := th.event(t)
		text := e.Method + e.Host + e.Path + e.Rule + e.Reason
		if strings.Contains(text, loot) || len(text) > 2000 {
			t.Errorf("%.40q: an event of %d bytes: %.200q", raw, len(text), text)
		}
	}
}
