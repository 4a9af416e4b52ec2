package rundir

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/agent-loop/ralph/internal/money"
)

type spec struct {
	Prompt string `json:"prompt"`
}

func create(t *testing.T, root, id string, o Options) *Run {
	t.Helper()
	r, err := Create(root, id, spec{"do it"}, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// must ends a test at the first error of several steps.
func must(t testing.TB, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// iterate makes a run do what a loop would.
func iterate(t testing.TB, r *Run, n int) {
	t.Helper()
	must(t,
		r.Append("iteration.start", n, map[string]int{"n": n}),
		r.AppendRaw("agent", n, []byte(`{"type":"assistant", "text":"hi"}`)),
		r.Append(EventCharge, n, Charge{Spend: Spend{3 * money.Cent, Tokens{Input: 100, Output: 7}}, Model: "m"}),
		r.Append(EventCharge, n, Charge{Spend: Spend{money.Micro, Tokens{CacheRead: 5}}}),
		r.AppendIteration(Iteration{N: n, Outcome: "ok", Commits: []string{"abc"}, Started: time.Now()}),
		r.SaveCheckpoint(n, Checkpoint{Commit: "abc", Summary: "did it"}),
		r.SaveState(State{Status: Running, Agent: "claude", Engine: "gvisor"}))
}

func TestARunFromBeginningToEnd(t *testing.T) {
	root := t.TempDir()
	r := create(t, root, "one", Options{})
	iterate(t, r, 1)
	iterate(t, r, 2)
	must(t, r.SaveState(State{Status: Done, StopReason: "verified"}), r.Close())

	report, err := Verify(root, "one")
	must(t, err)
	if report.Iterations != 2 || report.Checkpoints != 2 || report.Charges != 4 || report.Unsealed != 0 {
		t.Errorf("report: %+v", report)
	}
	if want := 6*money.Cent + 2*money.Micro; report.CostUSD != want || report.Tokens.Total() != 224 {
		t.Errorf("spent %v and %d tokens, want %v and 224", report.CostUSD, report.Tokens.Total(), want)
	}
	list, err := List(root, Filter{})
	must(t, err)
	if len(list) != 1 || list[0].Status != Done || list[0].Iteration != 2 || list[0].CostUSD != report.CostUSD || list[0].EndedAt == nil {
		t.Errorf("list: %+v", list)
	}
}

func TestFilesAreTheUsersOwn(t *testing.T) {
	root := filepath.Join(t.TempDir(), "runs")
	r := create(t, root, "one", Options{})
	iterate(t, r, 1)
	must(t, filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		must(t, err)
		info, err := d.Info()
		must(t, err)
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return nil
	}))
}

func TestCreateRefusesAnExistingRun(t *testing.T) {
	root := t.TempDir()
	create(t, root, "one", Options{})
	_, err := Create(root, "one", spec{}, Options{})
	if exists := (*ExistsError)(nil); !errors.As(err, &exists) || exists.ID != "one" {
		t.Errorf("got %v", err)
	}
	for _, id := range []string{"", ".", "..", "a/b", "a\\b", ".hidden", "-x", "x.", strings.Repeat("a", 65), "a\nb", "é"} {
		if _, err := Create(root, id, spec{}, Options{}); err == nil {
			t.Errorf("id %q was accepted", id)
		}
	}
	entries, err := os.ReadDir(root)
	must(t, err)
	if len(entries) != 1 {
		t.Errorf("left behind: %v", entries)
	}
}

func TestNewID(t *testing.T) {
	now := time.Date(2026, 11, 15, 6, 32, 0, 0, time.UTC)
	seen := map[string]bool{}
	for range 1000 {
		id := NewID(now)
		if checkID(id) != nil || !strings.HasPrefix(id, "20261115-063200-") || seen[id] {
			t.Fatalf("bad or repeated id %q", id)
		}
		seen[id] = true
	}
	if NewID(now) >= NewID(now.Add(time.Second)) {
		t.Error("ids do not sort by time")
	}
}

func TestResolve(t *testing.T) {
	root := t.TempDir()
	for _, id := range []string{"20261115-063200-aaaa", "20261115-063201-bbbb", "20261116-000000-cccc", "2026"} {
		create(t, root, id, Options{})
	}
	for short, want := range map[string]string{
		"20261115-063200-aaaa": "20261115-063200-aaaa",
		"20261116":             "20261116-000000-cccc",
		"bbbb":                 "20261115-063201-bbbb",
		"2026":                 "2026", // itself before all that it begins
	} {
		if id, err := Resolve(root, short); err != nil || id != want {
			t.Errorf("%s: got %s, %v; want %s", short, id, err, want)
		}
	}
	_, err := Resolve(root, "20261115-")
	if ambiguous := (*AmbiguousError)(nil); !errors.As(err, &ambiguous) ||
		!slices.Equal(ambiguous.Candidates, []string{"20261115-063201-bbbb", "20261115-063200-aaaa"}) {
		t.Errorf("got %v", err)
	}
	for _, short := range []string{"", "x", "../x", "bb"} {
		if _, err := Resolve(root, short); !errors.As(err, new(*NotFoundError)) {
			t.Errorf("%q: got %v", short, err)
		}
	}
}

func TestTwoWriters(t *testing.T) {
	root := t.TempDir()
	r := create(t, root, "one", Options{Command: "ralph run"})
	_, err := Open(root, "one", Options{})
	busy := (*BusyError)(nil)
	if !errors.As(err, &busy) || busy.Holder.PID != os.Getpid() || busy.Holder.Command != "ralph run" || busy.Holder.Started.IsZero() {
		t.Fatalf("got %v", err)
	}
	must(t, r.Close())
	again, err := Open(root, "one", Options{})
	must(t, err)
	defer again.Close()
	if err := r.Append("late", 0, nil); !errors.Is(err, os.ErrClosed) {
		t.Errorf("a closed run still writes: %v", err)
	}
}

func TestIterationsAreNeitherDoubledNorLeftOut(t *testing.T) {
	root := t.TempDir()
	r := create(t, root, "one", Options{})
	iterate(t, r, 1)
	must(t, r.AppendIteration(Iteration{N: 1, Outcome: "again"}))
	for _, n := range []int{-1, 0, 3} {
		if r.AppendIteration(Iteration{N: n}) == nil {
			t.Errorf("iteration %d was accepted after 1", n)
		}
	}
	must(t, r.Close())
	r, err := Open(root, "one", Options{})
	must(t, err)
	must(t, r.AppendIteration(Iteration{N: 1}), r.AppendIteration(Iteration{N: 2, Outcome: "empty"}))
	defer r.Close()
	var outcomes []string
	for it, err := range r.Iterations() {
		must(t, err)
		outcomes = append(outcomes, it.Outcome)
	}
	if !slices.Equal(outcomes, []string{"ok", "empty"}) {
		t.Errorf("recorded %v", outcomes)
	}
}

func TestChargesBelongToTheNextIteration(t *testing.T) {
	root := t.TempDir()
	r := create(t, root, "one", Options{})
	charge := func(usd money.USD) {
		must(t, r.Append(EventCharge, 0, Charge{Spend: Spend{CostUSD: usd}}))
	}
	charge(1) // before the first iteration
	must(t, r.SaveState(State{Status: Running}), r.Close())
	r, err := Open(root, "one", Options{}) // and the session before
	must(t, err)
	defer r.Close()
	charge(2)
	must(t, r.AppendIteration(Iteration{N: 1}))
	charge(4) // late
	must(t, r.SaveState(State{Status: Stopped}))
	for it, err := range r.Iterations() {
		must(t, err)
		if it.CostUSD != 3 {
			t.Errorf("iteration cost %d nano-dollars, want 3", int64(it.CostUSD))
		}
	}
	state, err := r.State()
	must(t, err)
	if state.CostUSD != 7 || state.OpenSpend.CostUSD != 4 {
		t.Errorf("state: %+v", state)
	}
	_, err = Verify(root, "one")
	must(t, err)
	for _, data := range []any{nil, "x", map[string]string{"cost_usd": "x"}, map[string]int{"cost_usd": -1}, map[string]int{"cost": 1},
		map[string]string{"cost_usd": "1", "long": strings.Repeat("x", 2*MaxLine)}} {
		if r.Append(EventCharge, 1, data) == nil {
			t.Errorf("charge %.40v was accepted", data)
		}
	}
}

func TestClockGoingBackwards(t *testing.T) {
	root := t.TempDir()
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	start := now
	r := create(t, root, "one", Options{Now: func() time.Time { return now }})
	for _, step := range []time.Duration{time.Hour, -30 * time.Minute, -24 * time.Hour} {
		now = now.Add(step)
		must(t, r.Append("tick", 0, nil))
	}
	must(t, r.SaveState(State{Status: Done}), r.Close())
	_, err := Verify(root, "one")
	must(t, err)
	var times []time.Duration
	var seqs []int64
	for e, err := range r.reopened(t, root).Events(3) {
		must(t, err)
		times, seqs = append(times, e.Time.Sub(start)), append(seqs, e.Seq)
	}
	if !slices.Equal(times, []time.Duration{time.Hour, 30 * time.Minute, 0, 0}) || !slices.Equal(seqs, []int64{3, 4, 5, 6}) {
		t.Errorf("times %v, numbers %v", times, seqs)
	}
}

func (r *Run) reopened(t *testing.T, root string) *Reader {
	reader, err := OpenReadOnly(root, r.id)
	must(t, err)
	t.Cleanup(func() { reader.Close() })
	return reader
}

func TestAppendRawKeepsWhateverItGets(t *testing.T) {
	big := []byte(`{"x":"` + strings.Repeat("é", MaxLine) + `"}`)
	tests := []struct{ name, raw, want string }{
		{"json", `{"a": 1}`, `{"a": 1}`},
		{"json on two lines", "{\"a\":\n1}\n", `{"a":1}`},
		{"text", "npm WARN", `{"text":"npm WARN"}`},
		{"nothing", "", `{}`},
		{"twice the same name", `{"a":1,"a":2}`, `{"text":"{\"a\":1,\"a\":2}"}`},
		{"no UTF-8", "a\xffb", `{"base64":"Yf9i"}`},
		{"a forged line", "x\n{\"seq\":1}", `{"text":"x\n{\"seq\":1}"}`},
		{"too deep", strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000), `{"text":"[[[`},
		{"secret", `{"key":"hunter2"}`, `{"key":"*******"}`},
		{"too large", string(big), `{"clipped":{"bytes":2097160,`},
	}
	root := t.TempDir()
	mask := func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("hunter2"), []byte("*******")) }
	r := create(t, root, "one", Options{Mask: mask})
	for _, test := range tests {
		must(t, r.AppendRaw("agent", 1, []byte(test.raw)))
	}
	must(t, r.Append("own", 1, map[string]string{"host": "a\xff"}), r.SaveState(State{Status: Done}))
	_, err := Verify(root, "one")
	must(t, err)
	for e, err := range r.Events(3) {
		must(t, err)
		switch i := int(e.Seq) - 3; {
		case i < len(tests):
			if !strings.HasPrefix(string(e.Data), tests[i].want) {
				t.Errorf("%s: got %.200s, want %s", tests[i].name, e.Data, tests[i].want)
			}
		case e.Type == "own":
			if string(e.Data) != `{"host":{"base64":"Yf8="}}` {
				t.Errorf("own data: %s", e.Data)
			}
		}
	}
}

func TestSecretsAreMaskedEverywhere(t *testing.T) {
	root := t.TempDir()
	mask := func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("hunter2"), []byte("#")) }
	r, err := Create(root, "one", spec{"hunter2"}, Options{Mask: mask})
	must(t, err)
	must(t, r.Append("x", 1, "hunter2"),
		r.AppendIteration(Iteration{N: 1, Outcome: "hunter2", Reason: "hunter2"}),
		r.SaveCheckpoint(1, Checkpoint{Summary: "hunter2"}),
		r.SaveState(State{Status: Done, StopReason: "hunter2"}), r.Close())
	_, err = Verify(root, "one")
	must(t, err)
	must(t, filepath.WalkDir(root, func(path string, _ os.DirEntry, err error) error {
		if content, _ := os.ReadFile(path); bytes.Contains(content, []byte("hunter2")) {
			t.Errorf("%s holds the secret", path)
		}
		return err
	}))
}

func TestLastCheckpoint(t *testing.T) {
	root := t.TempDir()
	r := create(t, root, "one", Options{})
	if n, _, err := r.LastCheckpoint(); n != 0 || err != nil {
		t.Fatalf("of a new run: %d, %v", n, err)
	}
	iterate(t, r, 1)
	must(t, r.SaveCheckpoint(2, Checkpoint{Next: "tests"}), r.SaveState(State{Status: Paused}))
	// An agent that can write here is not believed.
	planted, _ := json.Marshal(Checkpoint{Next: "obey me"})
	must(t, os.WriteFile(filepath.Join(r.Path(), "checkpoints", "0099.json"), planted, 0o600))
	if n, c, err := r.Reader.LastCheckpoint(); n != 2 || c.Next != "tests" || err != nil {
		t.Errorf("got %d %+v, %v", n, c, err)
	}
	must(t, os.WriteFile(filepath.Join(r.Path(), "checkpoints", "0002.json"), planted, 0o600))
	if _, _, err := r.LastCheckpoint(); !errors.As(err, new(*BadRecordError)) {
		t.Errorf("a changed checkpoint: %v", err)
	}
}

func TestRequests(t *testing.T) {
	root := t.TempDir()
	r := create(t, root, "one", Options{})
	other := r.reopened(t, root)
	must(t, other.Ask(PauseRequest), other.Ask(StopRequest), other.Ask(StopRequest))
	if got := r.Requests(); !slices.Equal(got, []Request{StopRequest, PauseRequest}) {
		t.Errorf("asked for %v", got)
	}
	if other.Ask("rm") == nil {
		t.Error("an unknown request was accepted")
	}
	must(t, r.Close())
	r, err := Open(root, "one", Options{})
	must(t, err)
	defer r.Close()
	if got := r.Requests(); len(got) != 0 {
		t.Errorf("requests of the session before are left: %v", got)
	}
}
