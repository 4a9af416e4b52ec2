package rundir

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestPlantedLinksAreNotFollowed(t *testing.T) {
	for _, name := range append(recordFiles(), "logs", "checkpoints", "logs/lock") {
		for _, inside := range []bool{true, false} {
			t.Run(strings.ReplaceAll(name, "/", "-"), func(t *testing.T) {
				root := t.TempDir()
				folder := sealedRun(t, root)
				path := filepath.Join(folder, name)
				target := filepath.Join(folder, "moved")
				if !inside {
					target = filepath.Join(t.TempDir(), "moved")
				}
				must(t, os.Rename(path, target), os.Symlink(target, path))
				if inside {
					must(t, os.Remove(path), os.Symlink(strings.Repeat("../", strings.Count(name, "/"))+"moved", path))
				}
				_, err := Verify(root, "one")
				if (err == nil) != (name == "logs/lock") { // which is no part of the record
					t.Errorf("verify: %v", err)
				}
				before := snapshot(t, target)
				r, err := Open(root, "one", Options{})
				if err == nil {
					r.SaveCheckpoint(1, Checkpoint{Summary: "x"})
					r.SaveState(State{Status: Running})
					r.Close()
				}
				if after := snapshot(t, target); after != before {
					t.Errorf("what the link leads to was changed")
				}
			})
		}
	}
}

// snapshot is the content of a file or of all files of a folder.
func snapshot(t *testing.T, path string) string {
	var all strings.Builder
	must(t, filepath.WalkDir(path, func(path string, _ os.DirEntry, err error) error {
		content, _ := os.ReadFile(path)
		all.WriteString(path + "\n" + string(content) + "\n")
		return err
	}))
	return all.String()
}

func TestListShowsABrokenRunAndHidesNoOther(t *testing.T) {
	root := t.TempDir()
	sealedRun(t, root)
	for id, content := range map[string]string{"empty": "", "text": "hello", "big": strings.Repeat(" ", maxFile+1), "deep": strings.Repeat("[", 1<<20)} {
		must(t, os.Mkdir(filepath.Join(root, id), 0o700), os.WriteFile(filepath.Join(root, id, stateFile), []byte(content), 0o600))
	}
	must(t, os.Mkdir(filepath.Join(root, "bare"), 0o700), os.WriteFile(filepath.Join(root, "file"), nil, 0o600))
	must(t, os.Symlink("one", filepath.Join(root, "link")))
	list, err := List(root, Filter{})
	must(t, err)
	broken := 0
	for _, s := range list {
		if s.Broken != "" {
			broken++
		} else if s.ID != "one" || s.Status != Done {
			t.Errorf("listed: %+v", s)
		}
	}
	if broken != 5 || len(list) != 6 {
		t.Errorf("%d of %d are broken, want 5 of 6", broken, len(list))
	}
	if list, err = List(root, Filter{Statuses: []Status{Running}}); err != nil || len(list) != 0 {
		t.Errorf("running: %v, %v", list, err)
	}
	if list, err = List(filepath.Join(root, "none"), Filter{}); err != nil || len(list) != 0 {
		t.Errorf("no folder: %v, %v", list, err)
	}
}

func TestListTellsLiveFromInterrupted(t *testing.T) {
	root := t.TempDir()
	create(t, root, "live", Options{})
	must(t, create(t, root, "left", Options{}).Close())
	list, err := List(root, Filter{})
	must(t, err)
	for _, s := range list {
		if s.Status != Running || s.Live != (s.ID == "live") {
			t.Errorf("%s: %s, live %v", s.ID, s.Status, s.Live)
		}
	}
}

// TestALargeLogIsNotReadByOpenAndList uses a gigabyte that takes no room on disk:
// state.json says where the events end.
func TestALargeLogIsNotReadByOpenAndList(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs files with holes")
	}
	root := t.TempDir()
	r := create(t, root, "one", Options{})
	must(t, r.Append("x", 0, nil), r.SaveState(State{Status: Running}))
	must(t, r.Close())
	stretch(t, filepath.Join(root, "one"), 1<<30)

	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r, err := Open(root, "one", Options{})
	must(t, err)
	must(t, r.Append("y", 0, nil), r.SaveState(State{Status: Done}), r.Close())
	_, err = List(root, Filter{})
	must(t, err)
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > 16<<20 {
		t.Errorf("opening took %d bytes of memory", used)
	}
}

// stretch moves the last event of a run a gigabyte back, behind a hole.
func stretch(t *testing.T, folder string, by int64) {
	path := filepath.Join(folder, eventsPath)
	content, err := os.ReadFile(path)
	must(t, err)
	last, err := lineBefore(strings.NewReader(string(content)), int64(len(content)))
	must(t, err)
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	must(t, err)
	defer file.Close()
	_, err = file.WriteAt(append(append([]byte("\n"), last...), '\n'), by)
	must(t, err)
	text, err := os.ReadFile(filepath.Join(folder, stateFile))
	must(t, err)
	state, err := parseState(text)
	must(t, err)
	state.EventsHead.Bytes = by + int64(len(last)) + 2
	text, err = state.encode()
	must(t, err)
	must(t, os.WriteFile(filepath.Join(folder, stateFile), text, 0o600))
}

func TestReadOnlyFolder(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root writes everywhere")
	}
	root := t.TempDir()
	must(t, os.Chmod(root, 0o500))
	if _, err := Create(root, "one", spec{}, Options{}); !errors.Is(err, os.ErrPermission) {
		t.Errorf("got %v", err)
	}
}
