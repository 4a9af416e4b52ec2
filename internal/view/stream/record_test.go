package stream

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/agent-loop/ralph/internal/gate"
	"github.com/agent-loop/ralph/internal/rundir"
)

var start = time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)

// record is a real run that a test writes, with a clock of its own.
type record struct {
	*rundir.Run
	t    testing.TB
	root string
	now  time.Time
}

func newRecord(t testing.TB) *record {
	t.Helper()
	r := &record{t: t, root: t.TempDir(), now: start}
	run, err := rundir.Create(r.root, "20261115-120000-k3f9q2", struct{}{}, rundir.Options{Now: func() time.Time { return r.now }})
	must(t, err)
	r.Run = run
	t.Cleanup(func() { must(t, run.Close()) })
	return r
}

// add appends an event that happens so long after the one before.
func (r *record) add(after time.Duration, kind string, iteration int, data any) {
	r.t.Helper()
	r.now = r.now.Add(after)
	if g, ok := data.(gate.Event); ok { // as the gate's events are written, durations in nanoseconds
		raw, err := json.Marshal(g)
		must(r.t, err, r.AppendRaw(kind, iteration, raw))
		return
	}
	must(r.t, r.Append(kind, iteration, data))
}

// iterated records an iteration with its cost.
func (r *record) iterated(after time.Duration, n int, outcome string) {
	r.t.Helper()
	r.now = r.now.Add(after)
	must(r.t, r.AppendIteration(rundir.Iteration{N: n, Outcome: outcome}))
}

// reader is what a view has of the run.
func (r *record) reader() *rundir.Reader {
	r.t.Helper()
	must(r.t, r.Sync())
	reader, err := rundir.OpenReadOnly(r.root, r.ID())
	must(r.t, err)
	r.t.Cleanup(func() { reader.Close() })
	return reader
}

// events returns all but the first two, which every run has.
func (r *record) events() (all []rundir.Event) {
	r.t.Helper()
	for e, err := range r.reader().Events(3) {
		must(r.t, err)
		all = append(all, e)
	}
	return all
}

func must(t testing.TB, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// checkSafe fails if a terminal would obey anything in a line, or wrap it.
func checkSafe(t testing.TB, line string, columns int) {
	t.Helper()
	for _, r := range line {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r != ' ' && unicode.IsSpace(r) {
			t.Fatalf("%U in %q", r, line)
		}
	}
	if width := widthOf(line); width > columns || !utf8.ValidString(line) {
		t.Fatalf("%q: %d columns of %d", line, width, columns)
	}
}

func widthOf(line string) (columns int) {
	for _, r := range line {
		columns += columnsOf(r)
	}
	return columns
}

func equal(t testing.TB, got, want []string) {
	t.Helper()
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}
