package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/agent-loop/ralph/internal/sandbox"
	"github.com/agent-loop/ralph/internal/task"
	"github.com/agent-loop/ralph/internal/wholefile"
)

// mirror holds task file and progress of a clone whose files are inside, in a folder
// of the host. It is part of the loop as a loop.Mirror.
type mirror struct {
	root  *os.Root
	dir   string // the project's place inside
	files []mirrored
	known map[string]content // what is inside, as this process has seen it last
}

// mirrored is one file. Of one that is too long the loop need not see more than that.
type mirrored struct{ name, program string }

const (
	maxMirrored   = 1<<20 + 1 // one byte more than a task file may have
	mirrorTimeout = 10 * time.Second
)

func newMirror(root *os.Root, dir, tasks string) *mirror {
	m := &mirror{root: root, dir: dir, known: map[string]content{}, files: []mirrored{{task.ProgressFile, "tail"}}}
	if tasks != "" {
		m.files = append(m.files, mirrored{tasks, "head"})
	}
	return m
}

// Fetch is part of loop.Mirror.
func (m *mirror) Fetch(ctx context.Context, box sandbox.Sandbox) error {
	ctx, cancel := context.WithTimeout(ctx, mirrorTimeout)
	defer cancel()
	for _, f := range m.files {
		c, err := m.read(ctx, box, f)
		if err == nil {
			m.known[f.name] = c
			err = m.take(f.name, c)
		}
		if err != nil {
			return fmt.Errorf("fetching %s: %w", f.name, err)
		}
	}
	return nil
}

// kind is what has a name inside.
type kind int

const (
	aFile kind = iota
	nothing
	noFile // or one that cannot be read
)

// content is what has a name inside, and what is in it.
type content struct {
	is   kind
	text string
}

// readScript opens no pipe and follows no link.
const readScript = `[ -L "$1" ] && exit 4; [ -e "$1" ] || exit 3; [ -f "$1" ] || exit 4; "$2" -c "$3" "$1" || exit 4`

func (m *mirror) read(ctx context.Context, box sandbox.Sandbox, f mirrored) (content, error) {
	var text bytes.Buffer
	out := &capped{to: &text, left: maxMirrored}
	code, err := box.Exec(ctx, sandbox.Command{
		Args: []string{"sh", "-c", readScript, "sh", path.Join(m.dir, f.name), f.program, strconv.Itoa(maxMirrored)}, Dir: "/", Stdout: out,
	})
	switch {
	case out.over:
		return content{is: noFile}, nil
	case err != nil:
		return content{}, err
	case code == 0:
		return content{aFile, text.String()}, nil
	case code == 3:
		return content{is: nothing}, nil
	}
	return content{is: noFile}, nil
}

// take puts what is inside into the folder. What is no file becomes something that is
// none either, so that the loop finds it as it would find it there.
func (m *mirror) take(name string, c content) error {
	if now, err := m.now(name); err == nil && now == c && c.is != noFile {
		return nil
	}
	if c.is == aFile {
		return m.replace(name, c.text)
	}
	err := m.root.RemoveAll(name)
	if err == nil && c.is == noFile {
		err = m.root.MkdirAll(name, 0o755)
	}
	return err
}

func (m *mirror) replace(name, text string) error {
	if err := m.root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	return wholefile.Replace(m.root, name, []byte(text), 0o644)
}

// Put is part of loop.Mirror.
func (m *mirror) Put(ctx context.Context, box sandbox.Sandbox) error {
	ctx, cancel := context.WithTimeout(ctx, mirrorTimeout)
	defer cancel()
	for _, f := range m.files {
		now, err := m.now(f.name)
		if err == nil && now.is == aFile && now != m.known[f.name] {
			err = m.write(ctx, box, f.name, now)
		}
		if err != nil {
			return fmt.Errorf("putting %s in place: %w", f.name, err)
		}
	}
	return nil
}

// now is what has the name in the folder.
func (m *mirror) now(name string) (content, error) {
	info, err := m.root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return content{is: nothing}, nil
	case err != nil:
		return content{}, err
	case !info.Mode().IsRegular():
		return content{is: noFile}, nil
	}
	text, err := m.root.ReadFile(name)
	return content{aFile, string(text)}, err
}

// writeScript removes whatever is there, a folder that is locked too.
const writeScript = `chmod -R u+rwx "$1" 2>/dev/null; rm -rf "$1" "$1.ralph-new" && mkdir -p "${1%/*}" && cat >"$1.ralph-new" && mv -f "$1.ralph-new" "$1"`

func (m *mirror) write(ctx context.Context, box sandbox.Sandbox, name string, c content) error {
	code, err := box.Exec(ctx, sandbox.Command{
		Args: []string{"sh", "-c", writeScript, "sh", path.Join(m.dir, name)}, Dir: "/", Stdin: strings.NewReader(c.text),
	})
	if err == nil && code != 0 {
		err = fmt.Errorf("exit code %d", code)
	}
	if err == nil {
		m.known[name] = c
	}
	return err
}

// settle brings into a sandbox that was just filled what was changed since the one
// before was left, and what is missing there. In a process that has seen none yet, what
// the sandbox has comes first: it may be newer.
func (m *mirror) settle(ctx context.Context, box sandbox.Sandbox) error {
	for _, f := range m.files {
		limited, cancel := context.WithTimeout(ctx, mirrorTimeout)
		c, err := m.read(limited, box, f)
		cancel()
		if err != nil {
			return fmt.Errorf("looking at %s: %w", f.name, err)
		}
		_, seen := m.known[f.name]
		switch {
		case c.is == nothing:
			m.known[f.name] = c
		case !seen:
			if m.known[f.name], err = m.now(f.name); err != nil {
				return fmt.Errorf("looking at %s: %w", f.name, err)
			}
		}
	}
	return m.Put(ctx, box)
}
