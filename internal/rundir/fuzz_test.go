package rundir

import (
	"bytes"
	"crypto/sha256"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// FuzzEventLine holds that a line which is accepted is an event that the writer
// could have written.
func FuzzEventLine(f *testing.F) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	f.Add(appendLine(nil, Event{Seq: 1, Time: now, Type: EventCreated}, Hash{}))
	f.Add(appendLine(nil, Event{Seq: 9, Time: now, Type: "a", Iteration: 3, Data: jsontext.Value(`{"cost_usd":1}`)}, sha256.Sum256(nil)))
	f.Add([]byte(`{"seq":1,"seq":2}`))
	f.Add([]byte(`{"SEQ":1,"type":"a","prev":""}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		e, prev, err := parseLine(line)
		if err != nil {
			return
		}
		again, prev2, err := parseLine(appendLine(nil, e, prev))
		if err != nil || again.Seq != e.Seq || again.Type != e.Type || again.Iteration != e.Iteration ||
			!again.Time.Equal(e.Time) || prev != prev2 || !bytes.Equal(again.Data, e.Data) {
			t.Fatalf("%q became %+v, then %+v, %v", line, e, again, err)
		}
	})
}

// FuzzRawData holds that any bytes make data of one line, within the cap.
func FuzzRawData(f *testing.F) {
	f.Add([]byte(`{"a":1}`))
	f.Add([]byte("{\n}"))
	f.Add([]byte("\xff"))
	f.Add([]byte(`"\ud800"`))
	f.Add([]byte(` {} `))
	f.Fuzz(func(t *testing.T, raw []byte) {
		data, err := rawData(raw)
		if err != nil {
			t.Fatal(err)
		}
		line := appendLine(nil, Event{Seq: 1, Time: time.Unix(0, 0).UTC(), Type: "a", Data: data}, Hash{})
		if e, _, err := parseLine(line); err != nil || bytes.ContainsAny(line, "\n") || !bytes.Equal(e.Data, data) {
			t.Fatalf("%q became %q: %v", raw, line, err)
		}
	})
}

// FuzzVerify changes one file of a good run: that is noticed, unless it is the
// same as before or only has half a line more.
func FuzzVerify(f *testing.F) {
	root := f.TempDir()
	folder := sealedRun(f, root)
	good := map[string][]byte{}
	for i, name := range recordFiles() {
		content, err := os.ReadFile(filepath.Join(folder, name))
		must(f, err)
		good[name] = content
		f.Add(uint8(i), 10, 1, []byte("x"))
		f.Add(uint8(i), 0, len(content), bytes.ToUpper(content))
		f.Add(uint8(i), len(content)-1, 1, []byte{})
		f.Add(uint8(i), len(content), 0, []byte("{}\n"))
	}
	f.Fuzz(func(t *testing.T, which uint8, at, remove int, insert []byte) {
		name := recordFiles()[int(which)%len(recordFiles())]
		content := good[name]
		at = min(max(at, 0), len(content))
		remove = min(max(remove, 0), len(content)-at)
		changed := append(append(bytes.Clone(content[:at]), insert...), content[at+remove:]...)
		path := filepath.Join(folder, name)
		must(t, os.WriteFile(path, changed, 0o600))
		_, err := Verify(root, "one")
		must(t, os.WriteFile(path, content, 0o600))
		extra, grown := bytes.CutPrefix(changed, content)
		harmless := grown && (len(extra) == 0 || filepath.Ext(name) == ".jsonl" && !bytes.Contains(extra, []byte("\n")))
		if (err == nil) != harmless {
			t.Fatalf("%s with %q at %d in place of %d bytes: %v", name, insert, at, remove, err)
		}
	})
}
