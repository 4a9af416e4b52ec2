package rundir

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func BenchmarkAppend(b *testing.B) {
	r, err := Create(b.TempDir(), "one", spec{}, Options{Mask: func(b []byte) []byte { return b }})
	must(b, err)
	defer r.Close()
	raw := []byte(`{"type":"assistant","message":{"content":[{"type":"text","text":"` + strings.Repeat("word ", 40) + `"}]}}`)
	for b.Loop() {
		must(b, r.AppendRaw("agent", 1, raw))
	}
	must(b, r.Sync())
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
}

func BenchmarkVerify(b *testing.B) {
	root := b.TempDir()
	r, err := Create(root, "one", spec{}, Options{})
	must(b, err)
	raw := []byte(`{"type":"assistant","message":{"content":[{"type":"text","text":"` + strings.Repeat("word ", 40) + `"}]}}`)
	for range 100_000 {
		must(b, r.AppendRaw("agent", 1, raw))
	}
	must(b, r.SaveState(State{Status: Done}), r.Close())
	b.SetBytes(r.Head().Bytes)
	for b.Loop() {
		_, err := Verify(root, "one")
		must(b, err)
	}
	b.ReportMetric(float64(b.N)*100_000/b.Elapsed().Seconds(), "events/s")
}

// BenchmarkList lists 10,000 runs; the goal is 200 ms.
func BenchmarkList(b *testing.B) {
	root := b.TempDir()
	now := time.Now()
	for i := range 10_000 {
		id := NewID(now.Add(time.Duration(i) * time.Second))
		state := State{Schema: schema, ID: id, Status: Done, Agent: "claude", Engine: "gvisor", StartedAt: now}
		text, err := state.encode()
		must(b, err)
		must(b, os.Mkdir(filepath.Join(root, id), 0o700), os.WriteFile(filepath.Join(root, id, stateFile), text, 0o600))
	}
	for b.Loop() {
		if list, err := List(root, Filter{}); err != nil || len(list) != 10_000 || list[0].Broken != "" {
			b.Fatal(len(list), err)
		}
	}
}
