package sandboxtest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// each runs do for every name and fails if one of them failed.
func (p *Process) each(names []string, do func(name string) error) int {
	code := 0
	for _, name := range names {
		if err := do(name); err != nil {
			code = p.fail(err)
		}
	}
	return code
}

// ls lists names, one a line: ls [-a] [PATH...].
func ls(_ context.Context, p *Process) int {
	options, names := splitOptions(p.Args[1:])
	if len(names) == 0 {
		names = []string{"."}
	}
	return p.each(names, func(name string) error {
		info, err := p.files().stat(p.Path(name))
		if err != nil {
			return err
		}
		if !info.IsDir() {
			fmt.Fprintln(p.Stdout, name)
			return nil
		}
		entries, err := p.files().readDir(p.Path(name))
		for _, e := range entries {
			if !strings.HasPrefix(e.Name(), ".") || strings.ContainsAny(options, "aA") {
				fmt.Fprintln(p.Stdout, e.Name())
			}
		}
		return err
	})
}

func mkdir(_ context.Context, p *Process) int {
	options, names := splitOptions(p.Args[1:])
	return p.each(names, func(name string) error {
		if strings.Contains(options, "p") {
			return p.mkdirAll(p.Path(name))
		}
		return p.files().mkdir(p.Path(name))
	})
}

func (p *Process) mkdirAll(guest string) error {
	if info, err := p.files().stat(guest); err == nil && info.IsDir() {
		return nil
	}
	if parent := path.Dir(guest); parent != guest {
		if err := p.mkdirAll(parent); err != nil {
			return err
		}
	}
	return p.files().mkdir(guest)
}

func rm(_ context.Context, p *Process) int {
	options, names := splitOptions(p.Args[1:])
	return p.each(names, func(name string) error {
		err := p.removeTree(p.Path(name), strings.ContainsAny(options, "rR"))
		if errors.Is(err, fs.ErrNotExist) && strings.Contains(options, "f") {
			return nil
		}
		return err
	})
}

func (p *Process) removeTree(guest string, recursive bool) error {
	info, err := p.files().lstat(guest)
	if err != nil {
		return err
	}
	if info.IsDir() && !recursive {
		return &fs.PathError{Op: "rm", Path: guest, Err: errors.New("is a directory")}
	}
	if info.IsDir() {
		entries, err := p.files().readDir(guest)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if err := p.removeTree(guest+"/"+e.Name(), true); err != nil {
				return err
			}
		}
	}
	return p.files().unlink(guest)
}

// into is where a file lands when the last argument may be a folder.
func (p *Process) into(dest, source string) string {
	if info, err := p.files().stat(p.Path(dest)); err == nil && info.IsDir() {
		return p.Path(dest) + "/" + path.Base(source)
	}
	return p.Path(dest)
}

func mv(_ context.Context, p *Process) int {
	_, names := splitOptions(p.Args[1:])
	if len(names) != 2 {
		return p.fail(errors.New("usage: mv FROM TO"))
	}
	return p.each(names[:1], func(from string) error {
		return p.files().rename(p.Path(from), p.into(names[1], from))
	})
}

// ln makes symbolic links alone: ln -s[f] TARGET LINK.
func ln(_ context.Context, p *Process) int {
	options, names := splitOptions(p.Args[1:])
	if len(names) != 2 || !strings.Contains(options, "s") {
		return p.fail(errors.New("usage: ln -s[f] TARGET LINK"))
	}
	link := p.into(names[1], names[0])
	if strings.Contains(options, "f") {
		if err := p.files().unlink(link); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return p.fail(err)
		}
	}
	return p.each(names[:1], func(target string) error { return p.files().symlink(target, link) })
}

func readlink(_ context.Context, p *Process) int {
	return p.each(p.Args[1:], func(name string) error {
		target, err := p.files().readlink(p.Path(name))
		if err == nil {
			fmt.Fprintln(p.Stdout, target)
		}
		return err
	})
}

func touch(_ context.Context, p *Process) int {
	return p.each(p.Args[1:], func(name string) error { return p.files().touch(p.Path(name)) })
}

func chmod(_ context.Context, p *Process) int {
	if len(p.Args) < 3 {
		return p.fail(errors.New("usage: chmod MODE FILES"))
	}
	return p.each(p.Args[2:], func(name string) error {
		info, err := p.files().stat(p.Path(name))
		if err != nil {
			return err
		}
		mode, err := newMode(p.Args[1], info.Mode().Perm())
		if err != nil {
			return err
		}
		return p.files().chmod(p.Path(name), mode)
	})
}

// newMode understands 755 and the likes of +x and u-w.
func newMode(change string, old fs.FileMode) (fs.FileMode, error) {
	if n, err := strconv.ParseUint(change, 8, 9); err == nil {
		return fs.FileMode(n), nil
	}
	at := strings.IndexAny(change, "+-")
	if at < 0 {
		return 0, fmt.Errorf("invalid mode: %s", change)
	}
	who, what := modeBits(change[:at], map[rune]fs.FileMode{'u': 0o700, 'g': 0o070, 'o': 0o007, 'a': 0o777}), modeBits(change[at+1:], map[rune]fs.FileMode{'r': 0o444, 'w': 0o222, 'x': 0o111})
	if who == 0 {
		who = 0o777
	}
	if change[at] == '-' {
		return old &^ (who & what), nil
	}
	return old | who&what, nil
}

func modeBits(letters string, bits map[rune]fs.FileMode) (mode fs.FileMode) {
	for _, l := range letters {
		mode |= bits[l]
	}
	return mode
}
