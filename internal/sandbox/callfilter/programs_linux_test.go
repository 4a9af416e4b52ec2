//go:build amd64 || arm64

package callfilter_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/agent-loop/ralph/internal/sandbox/callfilter"
)

// everything is the strictest filter.
var everything = job{Filter: "sandbox", Options: callfilter.Options{Kernel: true}}

// jobs are what a filtered process may be asked to do besides trying calls.
var jobs = map[string]func() error{
	"serve":   serveLoopback,
	"threads": filterThreads,
	"sockets": reachSocket,
	"trace":   traceChild,
	"prices":  printPrices,
}

// TestProgramsWork: a filter that breaks what agents run is no use.
func TestProgramsWork(t *testing.T) {
	tests := map[string]struct{ needs, script, want string }{
		"shell":     {"sh", "mkdir -p a/b && echo hi > a/b/c && chmod 755 a/b/c && (cat a/b/c | tr h j) && rm -r a", "ji"},
		"git":       {"git", "git init -q . && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m one && git log --format=%s", "one"},
		"fallocate": {"python3", `python3 -c 'import os; f=os.open("f",os.O_RDWR|os.O_CREAT); os.posix_fallocate(f,0,100000); print(os.stat("f").st_size)'`, "100000"},
		"python":    {"python3", `python3 -c 'import threading,subprocess; t=threading.Thread(target=lambda: print(subprocess.check_output(["echo","thread"],text=True),end="")); t.start(); t.join()'`, "thread"},
		"node":      {"node", `node -e 'require("child_process").exec("echo node",(e,o)=>process.stdout.write(o))'`, "node"},
		"tar":       {"tar", "mkdir d && echo x > d/f && tar cf - d | (mkdir e && cd e && tar xf - && cat d/f)", "x"},
		"cp":        {"cp", "echo y > f && cp -a f g && cat g", "y"},
		"taskset":   {"taskset", "taskset 1 echo pinned", "pinned"},
		"nice":      {"nice", "nice -n 5 echo nice", "nice"},
		"timeout":   {"timeout", "timeout 10 echo in time", "in time"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if _, err := exec.LookPath(test.needs); err != nil {
				t.Skip(test.needs + " is needed")
			}
			j := everything
			j.Program = []string{"sh", "-c", test.script}
			out, err := j.run(t)
			if err != nil || strings.TrimSpace(out) != test.want {
				t.Errorf("printed %q (error %v), want %q", out, err, test.want)
			}
		})
	}
}

// TestJobs runs what needs more than a script.
func TestJobs(t *testing.T) {
	for name, j := range map[string]job{
		"a server on loopback works":     {Filter: "sandbox", Options: everything.Options, Then: "serve"},
		"all threads are filtered":       {Filter: "none", Then: "threads"},
		"a debugger works":               {Filter: "sandbox", Options: everything.Options, Then: "trace"},
		"a second filter can be stacked": {Filter: "sandbox", Options: everything.Options, Then: "threads"},
	} {
		t.Run(name, func(t *testing.T) {
			if out, err := j.run(t); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

func serveLoopback() error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	served := make(chan error, 1)
	go func() {
		served <- http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello") }))
	}()
	resp, err := http.Get("http://" + l.Addr().String())
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if body, err := io.ReadAll(resp.Body); string(body) != "hello" {
		return fmt.Errorf("got %q: %w", body, err)
	}
	return errors.Join(l.Close(), ignoreClosed(<-served))
}

func ignoreClosed(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// filterThreads has threads running before the filter comes; each must have it.
func filterThreads() error {
	const threads = 8
	var running, done sync.WaitGroup
	installed := make(chan struct{})
	errs := make([]error, threads)
	for i := range threads {
		running.Add(1)
		done.Go(func() {
			runtime.LockOSThread()
			running.Done()
			<-installed
			if err := pair(unix.SOCK_DGRAM)(); !errors.Is(err, unix.EACCES) {
				errs[i] = fmt.Errorf("thread %d, want EACCES: %w", i, err)
			}
			if on, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0); on != 1 || err != nil {
				errs[i] = fmt.Errorf("thread %d may get new privileges: %w", i, err)
			}
		})
	}
	running.Wait()
	err := callfilter.Install(callfilter.Options{})
	close(installed)
	done.Wait()
	return errors.Join(append(errs, err)...)
}

// traceChild starts a program under trace, as debuggers do.
func traceChild() error {
	runtime.LockOSThread()
	cmd := exec.Command("true")
	cmd.SysProcAttr = &unix.SysProcAttr{Ptrace: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	var status unix.WaitStatus
	if _, err := unix.Wait4(cmd.Process.Pid, &status, 0, nil); err != nil || !status.Stopped() {
		return fmt.Errorf("waiting for the tracee: status %#x, %w", status, err)
	}
	if err := unix.PtraceCont(cmd.Process.Pid, 0); err != nil {
		return err
	}
	if _, err := unix.Wait4(cmd.Process.Pid, &status, 0, nil); err != nil || status.ExitStatus() != 0 {
		return fmt.Errorf("the tracee ended with %#x, %w", status, err)
	}
	return nil
}

const socketVar = "RALPH_CALLFILTER_SOCKET"

// TestSocketOfTheHost: no socket that a filtered program can have leads to one that
// a program of the host listens on.
func TestSocketOfTheHost(t *testing.T) {
	for kind, network := range map[string]string{"datagram": "unixgram", "stream": "unix", "packet": "unixpacket"} {
		t.Run(kind, func(t *testing.T) {
			listen(t, network)
			if out, err := (job{Filter: "none", Then: "sockets"}).run(t); err != nil || out == "" {
				t.Fatalf("without a filter the socket was not reached, which makes this test void: %v", err)
			}
			j := everything
			j.Then = "sockets"
			if out, err := j.run(t); err != nil || out != "" {
				t.Errorf("reached the host's socket: %s (error %v)", out, err)
			}
		})
	}
}

// listen plays the host, and tells children where.
func listen(t *testing.T, network string) {
	t.Helper()
	path := t.TempDir() + "/s"
	t.Setenv(socketVar, path)
	var c io.Closer
	var err error
	if network == "unixgram" {
		c, err = net.ListenPacket(network, path)
	} else {
		c, err = net.Listen(network, path)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
}

// reachSocket tries all ways to the host's socket and prints those that worked.
func reachSocket() error {
	to := &unix.SockaddrUnix{Name: os.Getenv(socketVar)}
	for _, kind := range []int{unix.SOCK_STREAM, unix.SOCK_DGRAM, unix.SOCK_SEQPACKET, unix.SOCK_RAW} {
		if fd, err := unix.Socket(unix.AF_UNIX, kind, 0); err == nil && unix.Connect(fd, to) == nil {
			fmt.Println("socket of kind", kind)
		}
		for name, spoil := range map[string]func(fds [2]int){
			"whole":    func([2]int) {},
			"shut":     func(fds [2]int) { unix.Shutdown(fds[0], unix.SHUT_RDWR) },
			"orphaned": func(fds [2]int) { unix.Close(fds[1]) },
		} {
			fds, err := unix.Socketpair(unix.AF_UNIX, kind, 0)
			if err != nil {
				continue
			}
			spoil(fds)
			// A packet socket ignores the address: what it sends goes to its peer.
			if unix.Sendto(fds[0], []byte("x"), unix.MSG_NOSIGNAL, to) == nil && kind != unix.SOCK_SEQPACKET {
				fmt.Println("sent through a pair of kind", kind, name)
			}
			if unix.Connect(fds[0], to) == nil {
				fmt.Println("connected a pair of kind", kind, name)
			}
			if unix.Bind(fds[0], &unix.SockaddrUnix{Name: name}) == nil && unix.Listen(fds[0], 1) == nil {
				fmt.Println("listens on a pair of kind", kind, name)
			}
		}
	}
	return nil
}
