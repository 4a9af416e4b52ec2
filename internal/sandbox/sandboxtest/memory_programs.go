package sandboxtest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agent-loop/ralph/internal/sandbox"
)

// builtinPrograms are the few that the conformance suite and scripts of tests
// need, with the few options they use. Whoever needs more registers a program.
func builtinPrograms() map[string]ProgramFunc {
	programs := map[string]ProgramFunc{
		"sh": runShell, "bash": runShell,
		"cat": cat, "env": printEnv, "head": head, "id": id, "seq": seq, "sleep": sleep, "tee": tee, "wc": wc,
		"chmod": chmod, "ln": ln, "ls": ls, "mkdir": mkdir, "mv": mv, "readlink": readlink, "rm": rm, "touch": touch,
	}
	for _, name := range []string{"[", "echo", "false", "printf", "pwd", "test", "true"} {
		programs[name] = runBuiltin
	}
	return programs
}

// runBuiltin runs a program that the interpreter has as a builtin.
func runBuiltin(ctx context.Context, p *Process) int {
	name := p.name()[strings.LastIndex(p.name(), "/")+1:]
	params := append([]string{name}, p.Args[1:]...)
	return p.interpret(ctx, shell{name: name, source: strings.NewReader(`"$@"`), params: params})
}

// runShell is sh: -c SCRIPT [NAME [ARG...]], FILE [ARG...], or a script on
// standard input.
func runShell(ctx context.Context, p *Process) int {
	options, args := splitOptions(p.Args[1:])
	sh := shell{name: p.name()}
	for _, o := range strings.ReplaceAll(strings.ReplaceAll(options, "c", ""), "s", "") {
		sh.options = append(sh.options, "-"+string(o))
	}
	switch {
	case strings.Contains(options, "c") && len(args) == 0:
		return p.fail(fmt.Errorf("-c needs a script"))
	case strings.Contains(options, "c"):
		sh.source = strings.NewReader(args[0])
		if len(args) > 1 {
			sh.name, sh.params = args[1], args[2:]
		}
	case strings.Contains(options, "s") || len(args) == 0:
		sh.source, sh.params = io.LimitReader(p.Stdin, maxScript), args
	default:
		f, err := p.Open(args[0], os.O_RDONLY, 0)
		if err != nil {
			p.fail(err)
			return 127
		}
		defer f.Close()
		sh.name, sh.source, sh.params = args[0], io.LimitReader(f, maxScript), args[1:]
	}
	return p.interpret(ctx, sh)
}

// splitOptions takes the letters of the leading -abc off args.
func splitOptions(args []string) (letters string, rest []string) {
	for i, arg := range args {
		if arg == "--" {
			return letters, args[i+1:]
		}
		if len(arg) < 2 || arg[0] != '-' {
			return letters, args[i:]
		}
		letters += arg[1:]
	}
	return letters, nil
}

func cat(_ context.Context, p *Process) int {
	if len(p.Args) == 1 {
		return p.copy(p.Stdout, p.Stdin)
	}
	code := 0
	for _, name := range p.Args[1:] {
		f, err := p.Open(name, os.O_RDONLY, 0)
		if err != nil {
			code = p.fail(err)
			continue
		}
		code = max(code, p.copy(p.Stdout, f))
		f.Close()
	}
	return code
}

func (p *Process) copy(w io.Writer, r io.Reader) int {
	if _, err := io.Copy(w, r); err != nil {
		return p.fail(cause(err))
	}
	return 0
}

func printEnv(_ context.Context, p *Process) int {
	end := "\n"
	if slices.Contains(p.Args, "-0") {
		end = "\x00"
	}
	for _, entry := range p.Env {
		fmt.Fprint(p.Stdout, entry, end)
	}
	return 0
}

// head copies the first bytes only: head -c N.
func head(_ context.Context, p *Process) int {
	if len(p.Args) != 3 || p.Args[1] != "-c" {
		return p.fail(fmt.Errorf("usage: head -c BYTES"))
	}
	n, err := strconv.ParseInt(p.Args[2], 10, 64)
	if err != nil {
		return p.fail(err)
	}
	return p.copy(p.Stdout, io.LimitReader(p.Stdin, n))
}

// guestID is the user and group of guests whose Spec names none.
const guestID = 1000

func id(_ context.Context, p *Process) int {
	user := p.sandbox.spec.User
	if user == (sandbox.User{}) {
		user = sandbox.User{UID: guestID, GID: guestID}
	}
	switch strings.Join(p.Args[1:], " ") {
	case "-u":
		fmt.Fprintln(p.Stdout, user.UID)
	case "-g":
		fmt.Fprintln(p.Stdout, user.GID)
	default:
		return p.fail(fmt.Errorf("usage: id -u | -g"))
	}
	return 0
}

// seq counts: seq FIRST LAST.
func seq(ctx context.Context, p *Process) int {
	if len(p.Args) != 3 {
		return p.fail(fmt.Errorf("usage: seq FIRST LAST"))
	}
	first, err1 := strconv.ParseInt(p.Args[1], 10, 64)
	last, err2 := strconv.ParseInt(p.Args[2], 10, 64)
	if err1 != nil || err2 != nil {
		return p.fail(fmt.Errorf("not a number"))
	}
	w := bufio.NewWriterSize(p.Stdout, 1<<16)
	for i := first; i <= last; i++ {
		if i%1024 == 0 && ctx.Err() != nil {
			return 1
		}
		line := append(strconv.AppendInt(w.AvailableBuffer(), i, 10), '\n')
		if _, err := w.Write(line); err != nil {
			return p.fail(err)
		}
	}
	if err := w.Flush(); err != nil {
		return p.fail(err)
	}
	return 0
}

func sleep(ctx context.Context, p *Process) int {
	if len(p.Args) != 2 {
		return p.fail(fmt.Errorf("usage: sleep SECONDS"))
	}
	seconds, err := strconv.ParseFloat(p.Args[1], 64)
	if err != nil {
		return p.fail(err)
	}
	timer := time.NewTimer(time.Duration(seconds * float64(time.Second)))
	defer timer.Stop()
	select {
	case <-timer.C:
		return 0
	case <-ctx.Done():
		return 1
	}
}

// tee copies its input to its output and to files: tee [-a] FILE...
func tee(_ context.Context, p *Process) int {
	options, names := splitOptions(p.Args[1:])
	flag := os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	if strings.Contains(options, "a") {
		flag = os.O_WRONLY | os.O_CREATE | os.O_APPEND
	}
	writers := []io.Writer{p.Stdout}
	for _, name := range names {
		f, err := p.Open(name, flag, 0o666)
		if err != nil {
			return p.fail(err)
		}
		defer f.Close()
		writers = append(writers, f)
	}
	return p.copy(io.MultiWriter(writers...), p.Stdin)
}

func wc(_ context.Context, p *Process) int {
	if len(p.Args) != 2 || p.Args[1] != "-c" {
		return p.fail(fmt.Errorf("usage: wc -c"))
	}
	n, err := io.Copy(io.Discard, p.Stdin)
	if err != nil {
		return p.fail(cause(err))
	}
	fmt.Fprintln(p.Stdout, n)
	return 0
}
