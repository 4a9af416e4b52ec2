package keeper

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/agent-loop/ralph/internal/door"
	"github.com/agent-loop/ralph/internal/sandbox"
	"github.com/agent-loop/ralph/internal/sandbox/streams"
)

// run runs one command to its end and tells the host.
func (g *guest) run(o *startOrder) {
	code, err := g.execute(o)
	if err != nil {
		_ = g.replies.send(reply{Failed: failure(o.ID, err)})
		return
	}
	if g.struck != nil && g.struck() {
		g.limitReached() // first: it is why the command ended, or is about to be
	}
	_ = g.replies.send(reply{Exited: &exitedReply{o.ID, code}})
}

func (g *guest) execute(o *startOrder) (code int, err error) {
	cmd, closeStreams, err := g.connect(o)
	if err != nil {
		return 0, err
	}
	defer closeStreams()
	pipes, err := streams.Open(cmd)
	if err != nil {
		return 0, err
	}
	defer pipes.Close()
	exited, err := g.start(o, pipes)
	pipes.Started()
	if err != nil {
		return 0, err
	}
	pipes.Attend(cmd, func(syscall.Signal) {}) // the kernel that has the terminal tells by itself
	code = <-exited
	_ = pipes.Finish(g.door.Done()) // what the host did not take, it knows
	return code, nil
}

// connect opens the command's streams to the host.
func (g *guest) connect(o *startOrder) (cmd sandbox.Command, closeStreams func(), err error) {
	out, err := g.openFor(forOutput, o.ID)
	if err != nil {
		return cmd, nil, err
	}
	opened := []*door.Stream{out}
	closeStreams = func() {
		for _, s := range opened {
			s.Close()
		}
	}
	cmd.Stdout, cmd.Stderr = out, out
	if !o.Merged {
		errs, err := g.openFor(forErrors, o.ID)
		if err != nil {
			closeStreams()
			return cmd, nil, err
		}
		cmd.Stderr, opened = errs, append(opened, errs)
	}
	if o.Stdin {
		cmd.Stdin = out
	}
	if o.Terminal != nil {
		cmd.Terminal = &sandbox.Terminal{Size: *o.Terminal, Resize: g.sizes(o.ID)}
		forget := closeStreams
		closeStreams = func() { g.forgetSizes(o.ID); forget() }
	}
	return cmd, closeStreams, nil
}

// start starts the command's process.
func (g *guest) start(o *startOrder, pipes *streams.Streams) (<-chan int, error) {
	args, env := asStrings(o.Args), asStrings(o.Env)
	if info, err := os.Stat(o.Dir); err != nil {
		return nil, err
	} else if !info.IsDir() {
		return nil, &fs.PathError{Op: "chdir", Path: o.Dir, Err: syscall.ENOTDIR}
	}
	program, err := findProgram(args[0], o.Dir, env)
	if err != nil {
		return nil, err
	}
	ends := pipes.Guest()
	return g.processes.start(program, args, &syscall.ProcAttr{
		Dir:   o.Dir,
		Env:   env,
		Files: []uintptr{ends[0].Fd(), ends[1].Fd(), ends[2].Fd()},
		Sys:   &syscall.SysProcAttr{Setsid: true, Setctty: o.Terminal != nil},
	})
}

// findProgram looks a name without a slash up in the command's own PATH.
func findProgram(name, dir string, env []string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	var found error = &fs.PathError{Op: "exec", Path: name, Err: syscall.ENOENT}
	for _, entry := range env {
		list, isPath := strings.CutPrefix(entry, "PATH=")
		if !isPath {
			continue
		}
		for _, folder := range filepath.SplitList(list) {
			if !filepath.IsAbs(folder) {
				folder = filepath.Join(dir, folder)
			}
			program := filepath.Join(folder, name)
			switch info, err := os.Stat(program); {
			case err != nil || info.IsDir():
			case info.Mode()&0o111 == 0:
				found = &fs.PathError{Op: "exec", Path: program, Err: syscall.EACCES}
			default:
				return program, nil
			}
		}
	}
	return "", found
}

// failure says in a shell's words why a command could not be started. What is not
// the command's own fault has no code.
func failure(id uint32, err error) *failedReply {
	f := &failedReply{ID: id, Reason: err.Error()}
	var errno syscall.Errno
	if !errors.As(err, &errno) {
		return f
	}
	f.Reason = errno.Error()
	switch errno {
	case syscall.ENOENT:
		f.Code = 127
	case syscall.EACCES, syscall.EPERM, syscall.ENOEXEC, syscall.ENOTDIR, syscall.EISDIR, syscall.ELOOP,
		syscall.ENAMETOOLONG, syscall.E2BIG, syscall.ETXTBSY, syscall.EINVAL, syscall.ELIBBAD:
		f.Code = 126
	}
	return f
}

// sizes is where the later sizes of a command's terminal arrive.
func (g *guest) sizes(id uint32) <-chan sandbox.TerminalSize {
	g.mu.Lock()
	defer g.mu.Unlock()
	c := make(chan sandbox.TerminalSize, 1)
	g.terminals[id] = c
	return c
}

func (g *guest) forgetSizes(id uint32) {
	g.mu.Lock()
	defer g.mu.Unlock()
	close(g.terminals[id])
	delete(g.terminals, id)
}

// resize passes a size on; only the last one counts.
func (g *guest) resize(o *resizeOrder) {
	g.mu.Lock()
	defer g.mu.Unlock()
	c := g.terminals[o.ID]
	if c == nil {
		return
	}
	select {
	case <-c:
	default:
	}
	c <- o.Size
}
