package rundir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// Summary is a line of a list of runs. Of a broken run the ID alone is known.
type Summary struct {
	State  `json:",inline"`
	Live   bool   `json:"live"`             // some process writes it now
	Broken string `json:"broken,omitempty"` // why it cannot be read
}

// Filter says which runs to list. The zero Filter lists all.
type Filter struct {
	Statuses []Status // any of them; empty for all. Broken runs are listed only then
	Limit    int      // at most so many, the newest; 0 for all. What cannot be among them may not be read
}

// List returns the runs under root, newest first. It reads the state of each alone.
// A run that cannot be read is listed as broken, before the others.
func List(root string, filter Filter) ([]Summary, error) {
	runs, err := os.OpenRoot(root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("opening the folder of runs: %w", err)
	}
	defer runs.Close()
	ids, err := listIDs(runs)
	if err != nil {
		return nil, err
	}
	if len(filter.Statuses) == 0 {
		ids = newestIDs(ids, filter.Limit)
	}
	list := slices.DeleteFunc(summarize(runs, ids), func(s Summary) bool {
		return len(filter.Statuses) > 0 && !slices.Contains(filter.Statuses, s.Status)
	})
	slices.SortFunc(list, newestFirst)
	if filter.Limit > 0 && len(list) > filter.Limit {
		list = list[:filter.Limit]
	}
	return list, nil
}

// newestIDs leaves out what cannot be among the newest: of the ids that tell when
// the run began, all but the last. Others are kept, for they tell nothing.
func newestIDs(ids []string, limit int) []string {
	if limit <= 0 || len(ids) <= limit {
		return ids
	}
	var telling, others []string
	for _, id := range ids {
		if tellsTime(id) {
			telling = append(telling, id)
		} else {
			others = append(others, id)
		}
	}
	slices.Sort(telling)
	return append(others, telling[max(0, len(telling)-limit):]...)
}

func newestFirst(a, b Summary) int {
	if (a.Broken == "") != (b.Broken == "") {
		return strings.Compare(b.Broken, a.Broken)
	}
	if order := b.StartedAt.Compare(a.StartedAt); order != 0 {
		return order
	}
	return strings.Compare(b.ID, a.ID)
}

// summarize reads all runs, as many at a time as there are processors.
func summarize(runs *os.Root, ids []string) []Summary {
	list := make([]Summary, len(ids))
	workers := min(2*runtime.GOMAXPROCS(0), len(ids))
	var group sync.WaitGroup
	for first := range workers {
		group.Go(func() {
			for i := first; i < len(ids); i += workers {
				list[i] = summarizeOne(runs, ids[i])
			}
		})
	}
	group.Wait()
	return list
}

func summarizeOne(runs *os.Root, id string) Summary {
	s, err := readSummary(runs, id)
	if err != nil {
		return Summary{State: State{ID: id}, Broken: err.Error()}
	}
	return s
}

func readSummary(runs *os.Root, id string) (s Summary, err error) {
	text, err := readFile(runs, id+"/"+stateFile)
	if err != nil {
		return s, err
	}
	if s.State, err = parseState(text); err != nil {
		return s, err
	}
	if s.ID != id { // also when the folder was made a link just now
		return s, bad(stateFile, 0, "it is of run %q", s.ID)
	}
	if s.Status == Running || s.Status == Paused {
		s.Live, err = isLive(runs, id)
	}
	return s, err
}

func isLive(runs *os.Root, id string) (bool, error) {
	dir, err := openFolder(runs, id)
	if err != nil {
		return false, err
	}
	defer dir.Close()
	logs, err := openFolder(dir, logsFolder)
	if err != nil {
		return false, err
	}
	defer logs.Close()
	_, held, err := holder(logs)
	return held, err
}
