package sandboxtest

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/agent-loop/ralph/internal/sandbox"
)

func bookkeepingChecks() []check {
	return []check{
		{"a sandbox is listed while it lives", checkListed},
		{"a failed start leaves nothing", checkFailedStart},
		{"removing what does not exist is no error", checkRemoveUnknown},
	}
}

func (s *suite) list(t *testing.T) []sandbox.Status {
	t.Helper()
	list, err := s.engine.List(patiently(t))
	if err != nil {
		t.Fatalf("listing: %v", err)
	}
	return list
}

func (s *suite) find(t *testing.T, id string) (at int, found sandbox.Status) {
	t.Helper()
	list := s.list(t)
	at = slices.IndexFunc(list, func(st sandbox.Status) bool { return st.ID == id })
	if at >= 0 {
		found = list[at]
	}
	return at, found
}

func checkListed(t *testing.T, s *suite) {
	b := s.newBox(t, func(spec *sandbox.Spec) { spec.Labels["colour"] = "blue, \"dark\"" })
	at, got := s.find(t, b.ID())
	if at < 0 {
		t.Fatalf("%s is not listed", b.ID())
	}
	if older, _ := s.find(t, s.ID()); older < 0 || older > at {
		t.Errorf("the older sandbox is at %d, the younger at %d", older, at)
	}
	if age := time.Since(got.CreatedAt); age < -time.Second || age > time.Minute {
		t.Errorf("CreatedAt is %v, %v ago", got.CreatedAt, age)
	}
	if !maps.Equal(got.Labels, b.spec.Labels) {
		t.Errorf("labels are %v, want %v", got.Labels, b.spec.Labels)
	}
	got.CreatedAt, got.Labels = time.Time{}, nil
	want := sandbox.Status{
		ID: b.ID(), Engine: s.engine.Name(), State: sandbox.Running, Workspace: b.workspace,
		PID: os.Getpid(), Fingerprint: b.spec.Fingerprint(),
	}
	if !statusEqual(got, want) {
		t.Errorf("listed as\n%+v, want\n%+v", got, want)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	if at, _ := s.find(t, b.ID()); at >= 0 {
		t.Error("it is listed after Close")
	}
}

func statusEqual(a, b sandbox.Status) bool {
	return a.ID == b.ID && a.Engine == b.Engine && a.State == b.State && a.Workspace == b.Workspace &&
		a.PID == b.PID && a.Fingerprint == b.Fingerprint
}

func checkFailedStart(t *testing.T, s *suite) {
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	missing := s.spec
	missing.Mounts = slices.Clone(s.spec.Mounts)
	missing.Mounts[0].Source = filepath.Join(s.workspace, "missing")
	for name, start := range map[string]struct {
		ctx  context.Context
		spec sandbox.Spec
	}{
		"a mount of what does not exist": {patiently(t), missing},
		"a context that has ended":       {cancelled, s.spec},
	} {
		before := len(s.list(t))
		sb, err := s.engine.Create(start.ctx, start.spec)
		if err == nil {
			t.Errorf("%s: it started", name)
			_ = sb.Close()
		}
		if after := len(s.list(t)); after != before {
			t.Errorf("%s: %d sandboxes before, %d after", name, before, after)
		}
	}
	if exists(missing.Mounts[0].Source) {
		t.Error("the missing folder was created on the host")
	}
}

func checkRemoveUnknown(t *testing.T, s *suite) {
	if err := s.engine.Remove(patiently(t), "no-such-sandbox"); err != nil {
		t.Error(err)
	}
	if at, _ := s.find(t, s.ID()); at < 0 {
		t.Error("another sandbox was removed")
	}
}
