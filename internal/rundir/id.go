package rundir

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"
)

const (
	maxIDLength   = 64
	maxCandidates = 10

	timeForm   = "20060102-150405-" // how an id begins
	tailLength = 6                  // and how long its end is, which tells runs of a second apart
)

// NewID returns an id for a run that starts now, such as 20261115-063200-k3f9q2:
// ids sort by time, to the second, in UTC.
func NewID(now time.Time) string {
	const letters = "abcdefghijkmnpqrstuvwxyz23456789" // 32 of them: a byte's low bits choose evenly
	tail := make([]byte, tailLength)
	_, _ = rand.Read(tail) // never fails
	for i, b := range tail {
		tail[i] = letters[b%32]
	}
	return now.UTC().Format(timeForm) + string(tail)
}

// tellsTime reports whether an id has the form of NewID. Somebody may have named a
// run so; the run's own start is what it is sorted by then, among those that are
// read.
func tellsTime(id string) bool {
	if len(id) != len(timeForm)+tailLength {
		return false
	}
	_, err := time.Parse(timeForm, id[:len(timeForm)])
	return err == nil
}

// CheckID refuses an id that no run can have.
func CheckID(id string) error { return checkID(id) }

// checkID refuses what is no plain name of a folder on every system.
func checkID(id string) error {
	if id == "" || len(id) > maxIDLength {
		return fmt.Errorf("a run's id has 1 to %d characters", maxIDLength)
	}
	if strings.Trim(id[:1]+id[len(id)-1:], ".-") != id[:1]+id[len(id)-1:] {
		return fmt.Errorf("run id %q begins or ends with a dot or dash", id)
	}
	for _, c := range id {
		if !isWord(c) && c != '-' && c != '.' {
			return fmt.Errorf("run id %q has other characters than letters, digits, dot, dash and underscore", id)
		}
	}
	return nil
}

func isWord(c rune) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_'
}

// Resolve returns the id of the one run that is meant by an id, by its first
// characters, or by all that follows one of its dashes.
func Resolve(root, short string) (string, error) {
	runs, id, err := find(root, short)
	if err != nil {
		return "", err
	}
	return id, runs.Close()
}

// find opens the folder of runs and resolves an id in it. The folder is the
// caller's to close.
func find(root, short string) (*os.Root, string, error) {
	runs, err := os.OpenRoot(root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, "", &NotFoundError{short}
	} else if err != nil {
		return nil, "", fmt.Errorf("opening the folder of runs: %w", err)
	}
	id, err := resolve(runs, short)
	if err != nil {
		runs.Close()
		return nil, "", err
	}
	return runs, id, nil
}

func resolve(runs *os.Root, short string) (string, error) {
	if checkID(strings.TrimRight(short, "-.")) != nil {
		return "", &NotFoundError{short}
	}
	if info, err := runs.Lstat(short); err == nil && info.IsDir() && checkID(short) == nil {
		return short, nil
	}
	ids, err := listIDs(runs)
	if err != nil {
		return "", err
	}
	ids = slices.DeleteFunc(ids, func(id string) bool {
		return !strings.HasPrefix(id, short) && !strings.HasSuffix(id, "-"+short)
	})
	switch len(ids) {
	case 0:
		return "", &NotFoundError{short}
	case 1:
		return ids[0], nil
	}
	slices.SortFunc(ids, func(a, b string) int { return strings.Compare(b, a) })
	return "", &AmbiguousError{Short: short, Candidates: ids[:min(len(ids), maxCandidates)]}
}

// listIDs names the folders that may be runs. Links are none.
func listIDs(runs *os.Root) ([]string, error) {
	folder, err := runs.Open(".")
	if err != nil {
		return nil, fmt.Errorf("opening the folder of runs: %w", err)
	}
	defer folder.Close()
	entries, err := folder.ReadDir(-1)
	if err != nil {
		return nil, fmt.Errorf("listing the folder of runs: %w", err)
	}
	ids := make([]string, 0, len(entries))
	for _, entry := range entries {
		if entry.IsDir() && checkID(entry.Name()) == nil {
			ids = append(ids, entry.Name())
		}
	}
	return ids, nil
}
