package sandbox

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
)

// maxDepth bounds how deep Walk goes. Nobody keeps anything that far down, and
// each level holds a descriptor.
const maxDepth = 500

// errDeep ends the walk of a folder that is too deep; its siblings go on.
var errDeep = errors.New("too deep")

// Visitor is told what Walk comes across.
type Visitor struct {
	// Visit gets the slash path below the folder and says whether to go into a
	// folder. Its error ends the walk.
	Visit func(path string, info fs.FileInfo) (enter bool, err error)

	// Unreadable is told of a folder that cannot be listed; nil passes it over.
	Unreadable func(path string, err error) error
}

// Walk visits everything below dir, whose contents may be a guest's and may
// change meanwhile. No link is followed, and the time it takes grows with the
// number of files alone, however deep they lie.
func Walk(ctx context.Context, dir string, v Visitor) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	return v.walk(ctx, root, "", 0)
}

// walk visits one folder and closes it.
func (v Visitor) walk(ctx context.Context, folder *os.Root, at string, depth int) error {
	defer folder.Close()
	if depth > maxDepth {
		return errDeep
	}
	names, err := readNames(folder)
	if err != nil {
		return v.unreadable(at, err)
	}
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := v.entry(ctx, folder, path.Join(at, name), name, depth); err != nil {
			return err
		}
	}
	return nil
}

// entry visits one name in a folder, and what is below it.
func (v Visitor) entry(ctx context.Context, folder *os.Root, at, name string, depth int) error {
	info, err := folder.Lstat(name)
	if err != nil {
		return nil //nolint:nilerr // gone
	}
	enter, err := v.Visit(at, info)
	if err != nil || !enter || !info.IsDir() {
		return err
	}
	inner, err := folder.OpenRoot(name)
	if err != nil {
		return v.unreadable(at, err)
	}
	if err := v.walk(ctx, inner, at, depth+1); !errors.Is(err, errDeep) {
		return err
	}
	return nil
}

func (v Visitor) unreadable(at string, err error) error {
	if v.Unreadable == nil || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return v.Unreadable(at, err)
}

func readNames(folder *os.Root) ([]string, error) {
	f, err := folder.Open(".")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	slices.Sort(names)
	return names, err
}
