package sandboxtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/interp"
	"mvdan.cc/sh/v3/syntax"

	"github.com/agent-loop/ralph/internal/sandbox"
)

// shell is one script to interpret.
type shell struct {
	name    string // $0
	source  io.Reader
	options []string // such as -e
	params  []string // $1 and on
}

// interpret runs a script in p's place.
func (p *Process) interpret(ctx context.Context, sh shell) int {
	file, err := syntax.NewParser().Parse(sh.source, sh.name)
	if err != nil {
		fmt.Fprintln(p.Stderr, err)
		return 2
	}
	runner, err := interp.New(
		interp.Env(expand.ListEnviron(p.Env...)),
		func(r *interp.Runner) error { r.Dir = p.Dir; return nil }, // interp.Dir would look on the host
		interp.StdIO(p.Stdin, p.Stdout, p.Stderr),
		interp.Params(append(append(sh.options, "--"), sh.params...)...),
		interp.CallHandler(replaceBuiltins),
		interp.ExecHandlers(func(interp.ExecHandlerFunc) interp.ExecHandlerFunc { return p.exec }),
		interp.OpenHandler(p.openRedirect),
		interp.ReadDirHandler2(p.readGlob),
		interp.StatHandler(p.statFile),
		interp.AccessHandler(p.access),
	)
	if err != nil {
		return p.fail(err)
	}
	return exitCode(runner.Run(ctx, file))
}

// killed is how a script learns that it was ended by a signal.
type killed int

func (k killed) Error() string { return fmt.Sprintf("killed by signal %d", int(k)) }

func exitCode(err error) int {
	var status interp.ExitStatus
	var signal killed
	switch {
	case err == nil:
		return 0
	case errors.As(err, &signal):
		return 128 + int(signal)
	case errors.As(err, &status):
		return int(status)
	default: // the sandbox ended: Exec reports that, not this
		return 128 + int(syscall.SIGKILL)
	}
}

// replaced are builtins that the interpreter lacks, or that look at the host.
// Their programs carry names that no script can mean by accident.
const (
	killProgram = "memory:kill"
	findProgram = "memory:command -v"
)

func replaceBuiltins(_ context.Context, args []string) ([]string, error) {
	switch {
	case args[0] == "kill":
		return append([]string{killProgram}, args[1:]...), nil
	case args[0] == "pwd":
		return args[:1], nil // -P would follow links on the host
	case args[0] == "command" && len(args) > 1 && args[1] == "-v":
		return append([]string{findProgram}, args[2:]...), nil
	default:
		return args, nil
	}
}

// exec runs a program that a script names.
func (p *Process) exec(ctx context.Context, args []string) error {
	child := p.child(interp.HandlerCtx(ctx), args)
	switch args[0] {
	case killProgram:
		return child.kill()
	case findProgram:
		return status(child.commandV())
	}
	var start *sandbox.StartError
	if err := child.find(); errors.As(err, &start) {
		fmt.Fprintf(child.Stderr, "%s: %s\n", start.Program, start.Reason)
		return interp.ExitStatus(uint8(start.Code))
	}
	code := child.run(ctx)
	if err := ctx.Err(); err != nil {
		return err
	}
	return status(code)
}

func status(code int) error {
	if code == 0 {
		return nil
	}
	return interp.ExitStatus(uint8(code))
}

func (p *Process) child(hc interp.HandlerContext, args []string) *Process {
	c := &Process{Args: args, Dir: hc.Dir, Stdin: hc.Stdin, Stdout: hc.Stdout, Stderr: hc.Stderr, sandbox: p.sandbox}
	if c.Stdin == nil {
		c.Stdin = strings.NewReader("")
	}
	for name, v := range hc.Env.Each {
		if v.Exported && v.Kind == expand.String {
			c.Env = append(c.Env, name+"="+v.Str)
		}
	}
	return c
}

// kill ends the script that calls it; there is no other process to signal.
func (p *Process) kill() error {
	if len(p.Args) != 3 {
		fmt.Fprintln(p.Stderr, "usage: kill -SIGNAL $$")
		return interp.ExitStatus(2)
	}
	if p.Args[2] != strconv.Itoa(os.Getpid()) { // what the interpreter has for $$
		fmt.Fprintf(p.Stderr, "kill: %s: no such process\n", p.Args[2])
		return interp.ExitStatus(1)
	}
	signals := map[string]int{"-0": 0, "-9": 9, "-KILL": 9, "-15": 15, "-TERM": 15, "-2": 2, "-INT": 2}
	n, ok := signals[p.Args[1]]
	switch {
	case !ok:
		fmt.Fprintf(p.Stderr, "kill: %s: not a signal known here\n", p.Args[1])
		return interp.ExitStatus(1)
	case n == 0:
		return nil
	default:
		return killed(n)
	}
}

func (p *Process) commandV() int {
	for _, name := range p.Args[1:] {
		wanted := &Process{Args: []string{name}, Dir: p.Dir, sandbox: p.sandbox}
		if !interp.IsBuiltin(name) && wanted.find() != nil {
			return 127
		}
		fmt.Fprintln(p.Stdout, name)
	}
	return 0
}

func (p *Process) openRedirect(ctx context.Context, name string, flag int, perm fs.FileMode) (io.ReadWriteCloser, error) {
	at := Process{Dir: interp.HandlerCtx(ctx).Dir}
	f, err := p.files().open(at.Path(name), flag, perm)
	if err != nil {
		return nil, err // not f: a nil *os.File in an interface is not nil
	}
	return f, nil
}

func (p *Process) readGlob(ctx context.Context, dir string) ([]fs.DirEntry, error) {
	at := Process{Dir: interp.HandlerCtx(ctx).Dir}
	return p.files().readDir(at.Path(dir))
}

func (p *Process) statFile(_ context.Context, name string, follow bool) (fs.FileInfo, error) {
	if follow {
		return p.files().stat(name)
	}
	return p.files().lstat(name)
}

// access goes by the permission bits alone, since the test may run as root.
func (p *Process) access(_ context.Context, name string, mode interp.AccessMode) error {
	at, err := p.files().resolve("access", name, true)
	if err != nil {
		return err
	}
	info, err := os.Stat(at.host)
	if err != nil {
		return guestError("access", name, err)
	}
	if mode&interp.AccessWrite != 0 {
		err = at.writable()
	}
	if wanted := fs.FileMode(mode) << 6; err == nil && info.Mode()&wanted != wanted {
		err = syscall.EACCES
	}
	return guestError("access", name, err)
}
