package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// way is one way to reach a server: straight, or through a proxy, which is a
// process of its own.
type way struct {
	name  string
	proxy string // address; empty: straight
	cmd   *exec.Cmd
	ask   io.WriteCloser // the gate answers questions about itself, until this is closed
	reply *bufio.Reader  // one line each
	dir   string         // of its files, deleted at the end
}

// errMissing tells of a proxy that is not installed.
var errMissing = errors.New("is not installed")

// patience bounds each single step.
const patience = 20 * time.Second

// open is a connection to a server: through a proxy it is a tunnel.
func (w *way) open(to string) (net.Conn, error) {
	if w.proxy == "" {
		return net.DialTimeout("tcp", to, patience)
	}
	conn, err := net.DialTimeout("tcp", w.proxy, patience)
	if err != nil {
		return nil, err
	}
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return nil, err
	}
	if _, err := io.WriteString(conn, "CONNECT "+to+" HTTP/1.1\r\nHost: "+to+"\r\n\r\n"); err != nil {
		return nil, err
	}
	return conn, w.agreed(conn)
}

// agreed reads the head of the answer and not a byte more.
func (w *way) agreed(conn net.Conn) error {
	head := make([]byte, 0, 512)
	for !strings.HasSuffix(string(head), "\r\n\r\n") {
		if len(head) == cap(head) {
			return fmt.Errorf("%s: no end of %q", w.name, head)
		}
		// A proxy sends its answer in one piece, and nothing after it before
		// it is spoken to, but for a server that speaks first.
		n, err := conn.Read(head[len(head) : len(head)+1])
		if err != nil {
			return fmt.Errorf("%s: reading the answer: %w", w.name, err)
		}
		head = head[:len(head)+n]
	}
	if !strings.HasPrefix(string(head), "HTTP/1.1 200") && !strings.HasPrefix(string(head), "HTTP/1.0 200") {
		return fmt.Errorf("%s: answered %q", w.name, head)
	}
	return nil
}

// hangUp leaves no port busy behind.
func hangUp(conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	conn.Close()
}

// launch starts a proxy and waits until it answers at its address.
func (w *way) launch(args ...string) error { return w.launchWith(nil, args...) }

// launchWith passes files on as descriptors 3 and up, and closes them here.
func (w *way) launchWith(files []*os.File, args ...string) error {
	w.cmd = exec.Command(args[0], args[1:]...)
	w.cmd.Stderr = os.Stderr
	w.cmd.ExtraFiles = files
	defer func() {
		for _, f := range files {
			f.Close()
		}
	}()
	if err := w.cmd.Start(); err != nil {
		return fmt.Errorf("starting %s: %w", w.name, err)
	}
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if conn, err := net.Dial("tcp", w.proxy); err == nil {
			conn.Close()
			return nil
		}
	}
	return fmt.Errorf("%s does not answer at %s", w.name, w.proxy)
}

func (w *way) stop() error {
	if w.dir != "" {
		defer func() { _ = os.RemoveAll(w.dir) }() // it is in the folder for temporary files
	}
	if w.cmd == nil {
		return nil
	}
	if w.ask != nil {
		w.ask.Close()
	} else {
		_ = w.cmd.Process.Signal(syscall.SIGTERM) // it may be gone
	}
	done := make(chan struct{})
	go func() { _ = w.cmd.Wait(); close(done) }() // ended by a signal: always an error
	select {
	case <-done:
	case <-time.After(5 * time.Second):
		_ = w.cmd.Process.Kill()
		<-done
	}
	return nil
}

// freePort is one that was free a moment ago.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}
