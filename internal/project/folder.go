package project

import (
	"io"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
)

const (
	maxEntries = 2000      // of one folder
	maxFile    = 512 << 10 // of one marker file
)

// plainName is a name that means itself in a shell and is no option.
var plainName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,63}$`)
})

// folder is one folder of a project: its entries, and a way to read some.
type folder struct {
	root  *os.Root
	dir   string // slash path below root, "." for root itself
	files map[string]bool
	dirs  []string // of plain names, sorted
}

// openFolder lists a folder. Of one with too many entries it sees the first.
func openFolder(root *os.Root, dir string) (folder, error) {
	f := folder{root: root, dir: dir, files: map[string]bool{}}
	handle, err := root.Open(dir)
	if err != nil {
		return f, err
	}
	defer handle.Close()
	entries, err := handle.ReadDir(maxEntries)
	if err != nil && err != io.EOF { //nolint:errorlint // ReadDir promises io.EOF itself
		return f, err
	}
	for _, e := range entries {
		switch {
		case e.Type().IsRegular():
			f.files[e.Name()] = true
		case e.IsDir() && plainName().MatchString(e.Name()):
			f.dirs = append(f.dirs, e.Name())
		}
	}
	slices.Sort(f.dirs)
	return f, nil
}

// has returns the first of names that is a regular file here, or "".
func (f folder) has(names ...string) string {
	for _, name := range names {
		if f.files[name] {
			return name
		}
	}
	return ""
}

// hasSuffix returns the first file name, by the alphabet, that ends in suffix.
func (f folder) hasSuffix(suffix string) string {
	best := ""
	for name := range f.files {
		if strings.HasSuffix(name, suffix) && (best == "" || name < best) {
			best = name
		}
	}
	return best
}

func (f folder) hasDir(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return slices.Contains(f.dirs, name) })
}

// text reads a file that is here; what cannot be read is empty.
func (f folder) text(name string) string {
	if !f.files[name] {
		return ""
	}
	full := path.Join(f.dir, name)
	if info, err := f.root.Lstat(full); err != nil || info.Mode()&fs.ModeType != 0 {
		return ""
	}
	handle, err := f.root.Open(full)
	if err != nil {
		return ""
	}
	defer handle.Close()
	data, err := io.ReadAll(io.LimitReader(handle, maxFile))
	if err != nil {
		return ""
	}
	return string(data)
}

// json reads a JSON file that is here. What does not parse leaves v as it is,
// or partly filled.
func (f folder) json(name string, v any) {
	_ = json.Unmarshal([]byte(f.text(name)), v)
}
