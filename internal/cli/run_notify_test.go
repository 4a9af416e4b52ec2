//go:build linux

package cli_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-loop/ralph/internal/rundir"
)

// TestTheUserIsTold of what a run came to, by the user's own ways alone, and the
// record says whether that worked. A question comes with its text.
func TestTheUserIsTold(t *testing.T) {
	posted := make(chan string, 1)
	chat := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		posted <- string(body)
	}))
	defer chat.Close()
	l := newHostileLab(t, `echo '<promise>DECIDE: red or blue?</promise>'`)
	told := filepath.Join(l.home, "told")
	own := filepath.Join(l.home, ".config", "ralph", "config.toml")
	must(t, os.MkdirAll(filepath.Dir(own), 0o755))
	must(t, os.WriteFile(own, []byte("[notify]\nwebhook = \""+chat.URL+"/hook\"\ncommand = [\"sh\", \"-c\", 'cat >\"$0\"; exit 3', \""+told+"\"]\n"), 0o600))
	got := l.ralph("run")
	if got.code != 4 || !strings.Contains(got.stdout, "red or blue?") {
		t.Fatalf("exit %d\n%s%s", got.code, got.stdout, got.stderr)
	}
	for where, text := range map[string]string{"the webhook": <-posted, "the command": strings.Join(lines(t, told), "\n")} {
		if !strings.Contains(text, "needs-attention") || !strings.Contains(text, "red or blue?") {
			t.Errorf("%s was told %s", where, text)
		}
	}
	results := map[string]bool{}
	for _, n := range of[rundir.Notified](t, l.read(), rundir.EventNotify) {
		results[n.Channel] = n.Error == ""
	}
	if len(results) != 2 || !results["webhook"] || results["command"] {
		t.Errorf("the record says %v", results)
	}
	if got := l.ralph("verify"); got.code != 0 || strings.Contains(got.stdout, "unsealed") {
		t.Errorf("exit %d\n%s%s", got.code, got.stdout, got.stderr)
	}
	if data, err := os.ReadFile(filepath.Join(l.run().Path(), "spec.json")); err != nil || strings.Contains(string(data), "/hook") {
		t.Errorf("%v: the address is in %s", err, data)
	}
	l.nothingLeft()
}
