package rundir

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// The newest runs are found without reading the others. A name that tells no time
// is always read.
func TestListOfTheNewest(t *testing.T) {
	root := t.TempDir()
	now := time.Date(2026, 11, 13, 17, 0, 0, 0, time.UTC)
	var ids []string
	for minute := range 5 {
		at := now.Add(time.Duration(minute) * time.Minute)
		id := NewID(at)
		create(t, root, id, Options{Now: func() time.Time { return at }})
		ids = append(ids, id)
	}
	between := now.Add(3*time.Minute + time.Second)
	create(t, root, "by-name", Options{Now: func() time.Time { return between }})
	must(t, os.WriteFile(filepath.Join(root, ids[0], stateFile), []byte("broken"), 0o600))

	for _, test := range []struct {
		name string
		f    Filter
		want []string
	}{
		{"all, the broken one first", Filter{}, []string{ids[0], ids[4], "by-name", ids[3], ids[2], ids[1]}},
		{"the newest", Filter{Limit: 1}, []string{ids[4]}},
		{"a name among them", Filter{Limit: 3}, []string{ids[4], "by-name", ids[3]}},
		{"more than there are", Filter{Limit: 9}, []string{ids[0], ids[4], "by-name", ids[3], ids[2], ids[1]}},
		{"the newest of a status", Filter{Limit: 2, Statuses: []Status{Running}}, []string{ids[4], "by-name"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			list, err := List(root, test.f)
			var got []string
			for _, s := range list {
				got = append(got, s.ID)
			}
			if err != nil || !slices.Equal(got, test.want) {
				t.Errorf("got %q, %v; want %q", got, err, test.want)
			}
		})
	}
}
