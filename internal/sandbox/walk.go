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

// Walk visits everything below dir, whose contents may be a guest's and may
// change meanwhile. No link is followed, and the time it takes grows with the
// number of files alone, however deep they lie. visit gets the slash path below
// dir and says whether to go into a folder; its error ends the walk. What cannot
// be read is passed over.
func Walk(ctx context.Context, dir string, visit func(path string, info fs.FileInfo) (enter bool, err error)) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	return walk(ctx, root, "", 0, visit)
}

// walk visits one folder and closes it.
func walk(ctx context.Context, folder *os.Root, at string, depth int, visit func(string, fs.FileInfo) (bool, error)) error {
	defer folder.Close()
	if depth > maxDepth {
		return errDeep
	}
	names, err := readNames(folder)
	if err != nil {
		return nil //nolint:nilerr // not for us to see
	}
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return err
		}
		info, err := folder.Lstat(name)
		if err != nil {
			continue // gone
		}
		enter, err := visit(path.Join(at, name), info)
		if err != nil {
			return err
		}
		if !enter || !info.IsDir() {
			continue
		}
		inner, err := folder.OpenRoot(name)
		if err != nil {
			continue
		}
		if err := walk(ctx, inner, path.Join(at, name), depth+1, visit); err != nil && !errors.Is(err, errDeep) {
			return err
		}
	}
	return nil
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
