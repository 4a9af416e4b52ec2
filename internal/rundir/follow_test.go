package rundir

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestFollowSeesEventsAsTheyComeAndEndsWithTheWriter(t *testing.T) {
	root := t.TempDir()
	r := create(t, root, "one", Options{})
	seen, done := make(chan int64, 100), make(chan error, 1)
	reader := r.reopened(t, root)
	go func() {
		for e, err := range reader.Follow(t.Context(), 3) {
			if err != nil {
				done <- err
				return
			}
			seen <- e.Seq
		}
		done <- nil
	}()
	for n := int64(3); n < 6; n++ {
		must(t, r.Append("tick", 0, nil))
		if got := <-seen; got != n { // before the next is written
			t.Fatalf("saw %d, want %d", got, n)
		}
	}
	must(t, r.Append("last", 0, nil), r.Close())
	if got := <-seen; got != 6 {
		t.Errorf("saw %d, want the last", got)
	}
	must(t, <-done)
}

func TestFollowEndsWithItsContext(t *testing.T) {
	r := create(t, t.TempDir(), "one", Options{})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	count := 0
	for _, err := range r.Follow(ctx, 1) {
		must(t, err)
		count++
	}
	if count != 2 || ctx.Err() == nil {
		t.Errorf("saw %d events, context: %v", count, ctx.Err())
	}
}

func TestLineReaderSurvivesAHalfLineThatIsCutOff(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	file, err := os.Create(path)
	must(t, err)
	defer file.Close()
	write := func(text string, at int64) {
		must(t, file.Truncate(at))
		_, err := file.WriteAt([]byte(text), at)
		must(t, err)
	}
	lines := lineReader{file: file}
	write("one\ntw", 0)
	if line, err := lines.next(); string(line) != "one" || err != nil {
		t.Fatalf("%q, %v", line, err)
	}
	for range 2 {
		if _, err := lines.next(); !errors.Is(err, errTorn) {
			t.Fatalf("got %v", err)
		}
	}
	write("TWO\n", 4)
	if line, err := lines.next(); string(line) != "TWO" || err != nil {
		t.Fatalf("%q, %v", line, err)
	}
}
