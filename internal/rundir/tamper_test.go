package rundir

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// sealedRun makes a run that was closed in order, and returns its folder.
func sealedRun(t testing.TB, root string) string {
	t.Helper()
	r, err := Create(root, "one", spec{"do it"}, Options{})
	must(t, err)
	for n := 1; n <= 2; n++ {
		iterate(t, r, n)
	}
	must(t, r.SaveState(State{Status: Done}), r.Close())
	return filepath.Join(root, "one")
}

func recordFiles() []string {
	return []string{specFile, stateFile, eventsPath, iterationsPath, "checkpoints/0001.json", "checkpoints/0002.json"}
}

func TestVerifyNoticesEveryChangedByte(t *testing.T) {
	root := memoryDir(t)
	folder := sealedRun(t, root)
	for _, name := range recordFiles() {
		path := filepath.Join(folder, name)
		content, err := os.ReadFile(path)
		must(t, err)
		for i := range content {
			changed := bytes.Clone(content)
			changed[i] ^= 1 << (i % 8)
			must(t, os.WriteFile(path, changed, 0o600))
			if _, err := Verify(root, "one"); !errors.As(err, new(*BadRecordError)) {
				t.Fatalf("%s: byte %d changed from %q to %q: %v", name, i, content[i], changed[i], err)
			}
		}
		must(t, os.WriteFile(path, content, 0o600))
	}
	_, err := Verify(root, "one")
	must(t, err)
}

func TestVerifyNamesTheFirstBadLine(t *testing.T) {
	lines := func(text []byte) [][]byte { return bytes.SplitAfter(text, []byte("\n")) }
	tests := []struct {
		name, file string
		change     func([]byte) []byte
		file2      string
		line       int
		what       string
	}{
		{"a spec changed", specFile, func(b []byte) []byte { return append(b, ' ') }, eventsPath, 1, "spec.json"},
		{"an event taken out", eventsPath, func(b []byte) []byte { l := lines(b); return bytes.Join(append(l[:4:4], l[5:]...), nil) }, eventsPath, 5, "where 5 is due"},
		{"events cut short", eventsPath, func(b []byte) []byte { return bytes.Join(lines(b)[:7], nil) }, eventsPath, 8, "missing"},
		{"an iteration cut off", iterationsPath, func(b []byte) []byte { return lines(b)[0] }, iterationsPath, 2, "missing"},
		{"an iteration made up", iterationsPath, func(b []byte) []byte {
			return append(b, bytes.Replace(lines(b)[1], []byte(`"n":2`), []byte(`"n":3`), 1)...)
		}, iterationsPath, 3, "no event"},
		{"a cheaper iteration", iterationsPath, func(b []byte) []byte { return bytes.Replace(b, []byte("0.030001"), []byte("0.010001"), 1) }, iterationsPath, 1, "changed"},
		{"a cheaper state", stateFile, func(b []byte) []byte { return bytes.Replace(b, []byte("0.060002"), []byte("0.010002"), 1) }, stateFile, 0, "seals it"},
		{"a line too long", eventsPath, func(b []byte) []byte { return append(bytes.Repeat([]byte("x"), 3*MaxLine), b...) }, eventsPath, 1, "longer"},
		{"no events", eventsPath, func([]byte) []byte { return nil }, eventsPath, 1, "missing"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			root := t.TempDir()
			path := filepath.Join(sealedRun(t, root), test.file)
			content, err := os.ReadFile(path)
			must(t, err)
			must(t, os.WriteFile(path, test.change(content), 0o600))
			_, err = Verify(root, "one")
			problem := (*BadRecordError)(nil)
			if !errors.As(err, &problem) || problem.File != test.file2 || problem.Line != test.line || !strings.Contains(problem.What, test.what) {
				t.Errorf("got %v; want %s:%d ... %s", err, test.file2, test.line, test.what)
			}
		})
	}
}

func TestOpenAddsNothingToAChangedRun(t *testing.T) {
	root := t.TempDir()
	path := filepath.Join(sealedRun(t, root), eventsPath)
	content, err := os.ReadFile(path)
	must(t, err)
	changed := bytes.Clone(content)
	changed[len(changed)-10] ^= 1
	must(t, os.WriteFile(path, changed, 0o600))
	if _, err := Open(root, "one", Options{}); !errors.As(err, new(*BadRecordError)) {
		t.Errorf("got %v", err)
	}
	now, err := os.ReadFile(path)
	must(t, err)
	if !bytes.Equal(now, changed) {
		t.Error("the log was written")
	}
	must(t, os.WriteFile(path, content, 0o600))
	r, err := Open(root, "one", Options{}) // and the lock was given back
	must(t, err)
	must(t, r.Close())
}
