package sandboxtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path"
	"strings"
	"syscall"

	"github.com/agent-loop/ralph/internal/sandbox"
)

// ProgramFunc is a program that runs in a memory sandbox. It returns its exit
// code, and does so soon after ctx ends.
type ProgramFunc func(ctx context.Context, p *Process) int

// Process is what a running program can see and do.
type Process struct {
	Args   []string // Args[0] is the program
	Env    []string // as KEY=VALUE
	Dir    string
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer

	sandbox *memorySandbox
}

// Path turns a name as the program writes it into an absolute path inside.
func (p *Process) Path(name string) string {
	if name == "" || path.IsAbs(name) {
		return name
	}
	return strings.TrimSuffix(p.Dir, "/") + "/" + name
}

// Open opens a file of the sandbox, as os.OpenFile does.
func (p *Process) Open(name string, flag int, perm fs.FileMode) (*os.File, error) {
	return p.files().open(p.Path(name), flag, perm)
}

// Getenv returns the value of a variable, or "".
func (p *Process) Getenv(name string) string {
	for _, entry := range p.Env {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}

// Dial connects to the sandbox's gate.
func (p *Process) Dial(ctx context.Context) (net.Conn, error) { return p.sandbox.dial(ctx) }

// Shell runs a script in place of the program and returns its exit code.
func (p *Process) Shell(ctx context.Context, script string) int {
	return p.interpret(ctx, shell{name: p.name(), source: strings.NewReader(script), params: p.Args[1:]})
}

func (p *Process) files() *namespace { return p.sandbox.files }

func (p *Process) name() string {
	if len(p.Args) == 0 {
		return ""
	}
	return p.Args[0]
}

// fail reports an error the way programs do and returns an exit code.
func (p *Process) fail(err error) int {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		err = fmt.Errorf("%s: %w", pathErr.Path, pathErr.Err)
	}
	fmt.Fprintf(p.Stderr, "%s: %v\n", path.Base(p.name()), err)
	return 1
}

// run runs the program that find has found.
func (p *Process) run(ctx context.Context) int {
	if fn := p.program(); fn != nil {
		return fn(ctx, p)
	}
	return p.script(ctx)
}

// find reports a *sandbox.StartError when there is nothing to run.
func (p *Process) find() error {
	refuse := func(code int, reason string) error {
		return &sandbox.StartError{Program: p.name(), Code: code, Reason: reason}
	}
	if p.program() != nil {
		return nil
	}
	if !strings.Contains(p.name(), "/") {
		return refuse(127, "not found")
	}
	info, err := p.files().stat(p.Path(p.name()))
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return refuse(127, "not found")
	case err != nil:
		return refuse(126, cause(err).Error())
	case info.IsDir(), info.Mode()&0o111 == 0:
		return refuse(126, "permission denied")
	}
	if source, err := p.readScript(); err != nil || !isShell(source) {
		return refuse(126, "exec format error")
	}
	return nil
}

// program looks up the name among the engine's programs, which a guest also
// finds in the usual folders. Builtins of the shell are programs of their own
// there.
func (p *Process) program() ProgramFunc {
	dir, name := path.Split(p.name())
	switch dir {
	case "", "/bin/", "/usr/bin/":
		return p.sandbox.engine.program(name)
	default:
		return nil
	}
}

// maxScript bounds a script, so that a mistake cannot fill the test's memory.
const maxScript = 1 << 20

func (p *Process) readScript() ([]byte, error) {
	f, err := p.Open(p.name(), os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxScript))
}

// isShell reports whether the first line names a shell.
func isShell(source []byte) bool {
	first, _, _ := bytes.Cut(source, []byte("\n"))
	return bytes.HasPrefix(first, []byte("#!")) && bytes.Contains(first, []byte("sh"))
}

func (p *Process) script(ctx context.Context) int {
	source, err := p.readScript()
	if err != nil {
		return p.fail(err)
	}
	return p.interpret(ctx, shell{name: p.name(), source: bytes.NewReader(source), params: p.Args[1:]})
}
