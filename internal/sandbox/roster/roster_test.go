package roster

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agent-loop/ralph/internal/lockfile"
	"github.com/agent-loop/ralph/internal/sandbox"
)

const engine = "some-engine"

func newRoster(t *testing.T) *Roster {
	t.Helper()
	return New(engine, filepath.Join(t.TempDir(), engine))
}

func add(t *testing.T, r *Roster) *Entry {
	t.Helper()
	e, err := r.Add()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Release)
	return e
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// names lists what the roster's folder holds, hidden or not.
func names(t *testing.T, r *Roster) []string {
	t.Helper()
	entries, err := os.ReadDir(r.dir)
	must(t, err)
	var found []string
	for _, e := range entries {
		found = append(found, e.Name())
	}
	return found
}

func TestAdd(t *testing.T) {
	r := newRoster(t)
	a, b := add(t, r), add(t, r)
	if a.ID == b.ID || !validID.MatchString(a.ID) || a.Dir != filepath.Join(r.dir, a.ID) {
		t.Errorf("got %+v and %+v", a, b)
	}
	if got := names(t, r); len(got) != 2 {
		t.Errorf("the folder holds %q", got)
	}
	inner, err := a.Folder("inner")
	must(t, err)
	if inner != filepath.Join(a.Dir, "inner") {
		t.Errorf("the inner folder is %s", inner)
	}
	if runtime.GOOS == "windows" {
		return // modes mean nothing
	}
	for _, dir := range []string{r.dir, a.Dir, inner} {
		info, err := os.Stat(dir)
		must(t, err)
		if info.Mode().Perm() != folderMode() {
			t.Errorf("%s has mode %v", dir, info.Mode())
		}
	}
}

func TestAddWhereItCannotBe(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(file, nil, 0o600))
	if e, err := New(engine, file).Add(); err == nil || e != nil {
		t.Errorf("got %v, %v", e, err)
	}
}

func TestAnEntryFromStartToEnd(t *testing.T) {
	r := newRoster(t)
	e := add(t, r)
	spec := sandbox.Spec{
		Labels: map[string]string{"run": "1"},
		Mounts: []sandbox.Mount{{Source: "/work", Target: "/w"}},
	}
	type data struct{ Process int }
	for number := range 3 { // a record can be replaced
		must(t, e.Write(e.Status(spec), data{number}))
	}
	if got, err := os.ReadDir(e.Dir); err != nil || len(got) != 2 {
		t.Errorf("its folder holds %v, %v", got, err)
	}
	got, err := r.Get(e.ID)
	must(t, err)
	if age := time.Since(got.CreatedAt); age < -time.Second || age > time.Minute {
		t.Errorf("created %v ago", age)
	}
	want := sandbox.Status{
		ID: e.ID, Engine: engine, State: sandbox.Running, Workspace: "/work", PID: os.Getpid(),
		CreatedAt: got.CreatedAt, Labels: spec.Labels, Fingerprint: spec.Fingerprint(),
	}
	if !reflect.DeepEqual(got.Status, want) {
		t.Errorf("got %+v, want %+v", got.Status, want)
	}
	var process data
	if err := got.Decode(&process); err != nil || process.Process != 2 {
		t.Errorf("decoded %+v, %v", process, err)
	}
	e.Release()
	e.Release()
	if got, err := r.Get(e.ID); err != nil || got.State != sandbox.Stale {
		t.Errorf("released: %+v, %v", got, err)
	}
	must(t, e.Remove())
	must(t, e.Remove())
	if _, err := r.Get(e.ID); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("removed: %v", err)
	}
}

func TestGetOfNothing(t *testing.T) {
	r := newRoster(t)
	outside := filepath.Join(filepath.Dir(r.dir), "ralph-0123456789ab")
	must(t, os.MkdirAll(outside, 0o700))
	for _, id := range []string{"ralph-0123456789ab", "", ".", "..", "/", outside, "../ralph-0123456789ab", "ralph-0123456789AB", "ralph-0123456789ab\n"} {
		if got, err := r.Get(id); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%q: %+v, %v", id, got, err)
		}
	}
}

// folders makes entries below the roster's folder: a name ending in a slash is a
// folder, others are files with garbage.
func folders(t *testing.T, r *Roster, entries ...string) {
	t.Helper()
	for _, name := range entries {
		path := filepath.Join(r.dir, name)
		must(t, os.MkdirAll(filepath.Dir(path), 0o700))
		if strings.HasSuffix(name, "/") {
			must(t, os.MkdirAll(path, 0o700))
		} else {
			must(t, os.WriteFile(path, []byte("garbage"), 0o600))
		}
	}
}

func TestList(t *testing.T) {
	r := newRoster(t)
	const stale, lying, empty, broken, file = "ralph-000000000002", "ralph-000000000003", "ralph-00000000000a", "ralph-00000000000b", "ralph-00000000000c"
	folders(t, r,
		"notes", "notes.d/", ".new-ralph-0123456789ab/", "ralph-/", "ralph-0123456789AB/", "ralph-0123456789abc/",
		"xralph-0123456789ab/", "ralph-0123456789a\u0661/",
		stale+"/lock", lying+"/lock", empty+"/", broken+"/state.json", file)
	running, young := add(t, r), add(t, r) // the second has no record yet
	for id, status := range map[string]sandbox.Status{
		running.ID: {ID: running.ID, CreatedAt: time.Unix(300, 0), State: sandbox.Stale},
		stale:      {ID: stale, CreatedAt: time.Unix(200, 0), State: sandbox.Running},
		lying:      {ID: "../../etc", Engine: "other", CreatedAt: time.Unix(100, 0)},
	} {
		must(t, writeRecord(r.path(id), status, nil))
	}
	list, err := r.Statuses()
	must(t, err)
	var got []string
	for _, s := range list {
		if s.Engine != engine || s.CreatedAt.IsZero() {
			t.Errorf("got %+v", s)
		}
		got = append(got, s.ID+" "+string(s.State))
	}
	// Those without a record are as old as their folder, so they come last.
	want := []string{lying + " stale", stale + " stale", running.ID + " running"}
	if len(got) != 7 || !slices.Equal(got[:3], want) {
		t.Fatalf("got %q, want %q and four more", got, want)
	}
	for _, more := range []string{empty + " stale", broken + " stale", file + " stale", young.ID + " running"} {
		if !slices.Contains(got[3:], more) {
			t.Errorf("got %q without %s", got, more)
		}
	}
}

func TestListOfNothing(t *testing.T) {
	if list, err := newRoster(t).Statuses(); err != nil || list == nil || len(list) != 0 {
		t.Errorf("got %v, %v", list, err)
	}
	file := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(file, nil, 0o600))
	if list, err := New(engine, file).List(); err == nil {
		t.Errorf("listed a file: %v", list)
	}
}

// Whoever looks must not pass for the owner to others who look.
func TestLookersDoNotDisturbEachOther(t *testing.T) {
	r := newRoster(t)
	e := add(t, r)
	e.Release()
	looking, err := openLock(e.Dir, 0, lockfile.TryShared)
	must(t, err)
	defer looking.Close()
	if got, err := r.Get(e.ID); err != nil || got.State != sandbox.Stale {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestRecordThatCannotBeRead(t *testing.T) {
	r := newRoster(t)
	e := add(t, r)
	must(t, os.Mkdir(filepath.Join(r.dir, "ralph-00000000000f"), 0o700))
	for name, text := range map[string]string{
		"empty":      "",
		"half":       `{"id":"x","works`,
		"a list":     "[]",
		"wrong type": `{"workspace":"/w","pid":"x"}`,
		"two":        `{"pid":1}{"pid":2}`,
		"zeros":      "\x00\x00",
		"too long":   `{"workspace":"` + strings.Repeat("w", maxRecord) + `"}`,
		"too deep":   strings.Repeat(`{"labels":`, 20_000),
	} {
		must(t, os.WriteFile(recordPath(e.Dir), []byte(text), 0o600))
		got, err := r.Get(e.ID)
		if err != nil || got.State != sandbox.Running || got.Workspace != "" || got.PID != 0 || got.CreatedAt.IsZero() {
			t.Errorf("%s: %+v, %v", name, got.Status, err)
		}
		if err := got.Decode(new(int)); err == nil {
			t.Errorf("%s: engine data was found in it", name)
		}
	}
}

// A record may be something that cannot be read to its end.
func TestRecordThatIsNoFile(t *testing.T) {
	r := newRoster(t)
	e := add(t, r)
	must(t, os.Mkdir(recordPath(e.Dir), 0o700))
	if got, err := r.Get(e.ID); err != nil || got.State != sandbox.Running {
		t.Errorf("a folder: %+v, %v", got, err)
	}
	must(t, os.Remove(recordPath(e.Dir)))
	secret := filepath.Join(t.TempDir(), "other.json")
	must(t, os.WriteFile(secret, []byte(`{"workspace":"/elsewhere"}`), 0o600))
	if os.Symlink(secret, recordPath(e.Dir)) != nil {
		t.Skip("no links here")
	}
	if got, err := r.Get(e.ID); err != nil || got.Workspace != "" {
		t.Errorf("a link: %+v, %v", got, err)
	}
}

func TestRecordThatCannotBeWritten(t *testing.T) {
	e := add(t, newRoster(t))
	good := e.Status(sandbox.Spec{})
	must(t, e.Write(good, 1))
	for name, data := range map[string]any{"no JSON": func() {}, "too long": strings.Repeat("x", maxRecord)} {
		if err := e.Write(good, data); err == nil || !strings.HasPrefix(err.Error(), "encoding the sandbox's state: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got, err := readRecord(e.Dir); err != nil || string(got.Data) != "1" {
		t.Errorf("the record was replaced: %+v, %v", got, err)
	}
	must(t, e.Remove())
	if err := e.Write(good, nil); err == nil {
		t.Error("wrote to a folder that is not there")
	}
}

func TestDecode(t *testing.T) {
	for name, tt := range map[string]struct {
		data string
		want int
		ok   bool
	}{
		"a number":  {"7", 7, true},
		"none":      {"", 0, false},
		"not a one": {`"7"`, 0, false},
	} {
		var got int
		if err := (Record{Data: json.RawMessage(tt.data)}).Decode(&got); (err == nil) != tt.ok || got != tt.want {
			t.Errorf("%s: %d, %v", name, got, err)
		}
	}
}

// Whatever a record says, who the sandbox is and whether it lives is not its say.
func FuzzRecord(f *testing.F) {
	status := sandbox.Status{ID: "ralph-0123456789ab", Engine: "docker", State: sandbox.Running, Labels: map[string]string{"a": "b"}, CreatedAt: time.Unix(1, 0)}
	good, err := json.Marshal(Record{Status: status, Data: json.RawMessage(`{"launcher":1}`)})
	must(f, err)
	for _, seed := range []string{
		string(good), "", "{", "null", `{"ID":"..","state":"running","engine_data":null}`, `{"pid":-1,"pid":1e400}`,
		`{"engine_data":{"launcher":"1"}}`, `{"created_at":"9999-12-31T23:59:59.999999999Z"}`, `{"labels":{"\u0000":"\ud800"}}`, "\xff\xfe{}",
	} {
		f.Add([]byte(seed))
	}
	r := New(engine, f.TempDir())
	const id = "ralph-0123456789ab"
	must(f, os.Mkdir(r.path(id), 0o700))
	f.Fuzz(func(t *testing.T, text []byte) {
		must(t, os.WriteFile(recordPath(r.path(id)), text, 0o600))
		got, err := r.Get(id)
		if err != nil || got.ID != id || got.Engine != engine || got.State != sandbox.Stale {
			t.Errorf("got %+v, %v", got, err)
		}
		var data struct{ Launcher int }
		_ = got.Decode(&data)
		if _, err := json.Marshal(got); err != nil {
			t.Errorf("it cannot be written: %v", err)
		}
	})
}
