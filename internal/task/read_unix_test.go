//go:build unix

package task

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Whatever an agent puts in the place of a file that the host reads: it is refused
// with the reason, at once, and nothing outside is read.
func TestWhatIsNoFile(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.WriteFile(outside, []byte(`{"userStories": [{"id": "US-1", "title": "outside", "passes": true}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name string
		put  func(path string) error
		why  string // of Load
	}{
		{"a pipe", func(path string) error { return syscall.Mkfifo(path, 0o644) }, "not a regular file"},
		{"a folder", func(path string) error { return os.Mkdir(path, 0o755) }, "not a regular file"},
		{"a link out", func(path string) error { return os.Symlink(outside, path) }, "symbolic link"},
		{"a link to a device", func(path string) error { return os.Symlink("/dev/zero", path) }, "symbolic link"},
		{"a link to itself", func(path string) error { return os.Symlink(filepath.Base(path), path) }, "symbolic link"},
		{"a device", func(path string) error { return syscall.Mknod(path, syscall.S_IFCHR|0o666, 1<<8|5) }, "not a regular file"}, // zero
		{"a socket", func(path string) error { return syscall.Mknod(path, syscall.S_IFSOCK|0o666, 0) }, "not a regular file"},
		{"a sparse monster", sparse, "larger than"},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir, root := workspace(t)
			for _, name := range []string{"prd.json", ProgressFile, "PROMPT.md"} {
				if err := test.put(filepath.Join(dir, name)); err != nil {
					t.Skipf("%s cannot be made here: %v", test.name, err)
				}
			}
			began := time.Now()
			if _, err := Load(root, "prd.json"); err == nil || !strings.Contains(err.Error(), test.why) {
				t.Errorf("the task file: %v", err)
			}
			if _, err := LoadPrompt(root, "PROMPT.md"); err == nil || !strings.Contains(err.Error(), test.why) {
				t.Errorf("the prompt: %v", err)
			}
			text, err := ReadProgress(root, ProgressFile, 1000)
			if len(text) > 1000 || strings.Contains(text, "outside") || err == nil && test.why != "larger than" {
				t.Errorf("the progress: %q, %v", text, err)
			}
			if took := time.Since(began); took > 20*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
}

// sparse makes a file that claims to have a terabyte.
func sparse(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Truncate(1 << 40)
}

// A file that is exchanged for a link, grows or shrinks while it is read is what it was
// at one time, or an error: never what lies outside, and never without end.
func TestFilesThatChangeWhileTheyAreRead(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.WriteFile(outside, []byte(`{"userStories": [{"id": "US-1", "title": "outside", "passes": true}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	dir, root := workspace(t)
	path, stop, stopped := filepath.Join(dir, "prd.json"), make(chan struct{}), make(chan struct{})
	go func() { // an agent at work
		defer close(stopped)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			spare := fmt.Sprintf("%s.%d", path, i%2)
			_ = os.Remove(spare)
			switch i % 3 {
			case 0:
				_ = os.WriteFile(spare, []byte(`{"userStories": [{"id": "US-1", "title": "inside", "passes": false}]}`), 0o600)
			case 1:
				_ = os.Symlink(outside, spare)
			case 2:
				_ = sparse(spare)
			}
			_ = os.Rename(spare, path)
		}
	}()
	read := 0
	// On a busy machine the agent may not get its turn among the first tries.
	for tries := 0; tries < 3000 || read == 0 && tries < 3_000_000; tries++ {
		list, err := Load(root, "prd.json")
		if err != nil {
			continue
		}
		read++
		if list.Stories[0].Title != "inside" {
			t.Errorf("read from outside: %+v", list.Stories[0])
			break
		}
	}
	close(stop)
	<-stopped
	if read == 0 {
		t.Error("the file was never read")
	}
}
