package streams

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"github.com/agent-loop/ralph/internal/sandbox"
)

// lingering is how long output is awaited after a command has ended while
// something it left in the background still holds the pipe.
const lingering = 250 * time.Millisecond

// Streams connects a command's three descriptors to the caller. They are always
// pipes, or a terminal of the sandbox's own: gVisor would write to a plain file
// from its start, and the caller's terminal would let the guest type into it.
type Streams struct {
	stdin, stdout, stderr *os.File   // the guest's ends
	host                  []*os.File // ours
	readers               []*os.File // those of ours that carry output
	copying               sync.WaitGroup
	failed                atomic.Pointer[error] // the first write to the caller that failed
}

// Open makes the descriptors of a command and begins to copy its output.
func Open(cmd sandbox.Command) (*Streams, error) {
	s := &Streams{}
	var err error
	if cmd.Terminal != nil {
		err = s.openTerminal(cmd)
	} else {
		err = errors.Join(s.openInput(cmd.Stdin), s.openOutputs(cmd.Stdout, cmd.Stderr))
	}
	if err != nil {
		s.Close()
		return nil, fmt.Errorf("opening the command's streams: %w", err)
	}
	return s, nil
}

func (s *Streams) openInput(from io.Reader) error {
	if from == nil {
		var err error
		s.stdin, err = os.Open(os.DevNull)
		return err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	s.stdin = r
	s.host = append(s.host, w)
	// The copy is not awaited: the caller's reader may never return.
	go func() {
		_, _ = io.Copy(w, from)
		w.Close()
	}()
	return nil
}

// openOutputs uses one pipe when both streams go to the same writer, which then
// is written to by one goroutine only and in the right order.
func (s *Streams) openOutputs(stdout, stderr io.Writer) error {
	if err := s.openOutput(&s.stdout, stdout); err != nil {
		return err
	}
	if Same(stdout, stderr) {
		s.stderr = s.stdout
		return nil
	}
	return s.openOutput(&s.stderr, stderr)
}

func (s *Streams) openOutput(guest **os.File, to io.Writer) error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	*guest = w
	s.host = append(s.host, r)
	if to == nil {
		to = io.Discard
	}
	s.copyOut(to, r)
	return nil
}

// copyOut copies output until it ends. When the caller takes no more, the pipe
// is closed, so that the command learns of it as it would outside.
func (s *Streams) copyOut(to io.Writer, from *os.File) {
	s.readers = append(s.readers, from)
	s.copying.Go(func() {
		_, err := io.Copy(to, from)
		if errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, unix.EIO) {
			return // we stopped reading; or a terminal's last user is gone
		}
		if err != nil {
			s.failed.CompareAndSwap(nil, &err)
			from.Close()
		}
	})
}

// openTerminal gives the command a new terminal and copies what it shows (see
// Attend for the other way).
func (s *Streams) openTerminal(cmd sandbox.Command) error {
	master, replica, err := pty.Open()
	if err != nil {
		return err
	}
	s.stdin, s.stdout, s.stderr = replica, replica, replica
	s.host = append(s.host, master)
	if err := setSize(master, cmd.Terminal.Size); err != nil {
		return err
	}
	out := cmd.Stdout
	if out == nil {
		out = io.Discard
	}
	s.copyOut(out, master)
	return nil
}

// Attend passes on what is typed, and the later sizes of a terminal. The command is
// told with signals what our kernel cannot tell it: to our kernel, nobody is in the
// terminal.
func (s *Streams) Attend(cmd sandbox.Command, tell func(unix.Signal)) {
	if cmd.Terminal == nil {
		return
	}
	master := s.host[0]
	if cmd.Stdin != nil {
		go typeIn(master, cmd.Stdin, tell)
	}
	if cmd.Terminal.Resize == nil {
		return
	}
	go func() {
		for size := range cmd.Terminal.Resize {
			if setSize(master, size) == nil {
				tell(unix.SIGWINCH)
			}
		}
	}()
}

// typeIn copies keys, and signals for those that stand for a signal while the
// command lets the terminal see to that.
func typeIn(master *os.File, from io.Reader, tell func(unix.Signal)) {
	keys := make([]byte, 4096)
	for {
		n, err := from.Read(keys)
		meant := signalKeys(master, keys[:n])
		if _, werr := master.Write(keys[:n]); err != nil || werr != nil {
			return
		}
		for _, signal := range meant {
			tell(signal)
		}
	}
}

// signalKeys are the signals that keys stand for, as the terminal is set now.
func signalKeys(master *os.File, keys []byte) (signals []unix.Signal) {
	mode, err := termios(master)
	if err != nil || mode.Lflag&unix.ISIG == 0 {
		return nil
	}
	for _, key := range keys {
		switch key {
		case 0: // a key that is switched off
		case mode.Cc[unix.VINTR]:
			signals = append(signals, unix.SIGINT)
		case mode.Cc[unix.VQUIT]:
			signals = append(signals, unix.SIGQUIT)
		case mode.Cc[unix.VSUSP]:
			signals = append(signals, unix.SIGTSTP)
		}
	}
	return signals
}

func termios(f *os.File) (mode *unix.Termios, err error) {
	conn, err := f.SyscallConn()
	if err != nil {
		return nil, err
	}
	if cerr := conn.Control(func(fd uintptr) { mode, err = unix.IoctlGetTermios(int(fd), unix.TCGETS) }); cerr != nil {
		return nil, cerr
	}
	return mode, err
}

func setSize(master *os.File, size sandbox.TerminalSize) error {
	return pty.Setsize(master, &pty.Winsize{Rows: size.Rows, Cols: size.Cols})
}

// Guest is what the command gets as descriptors 0, 1 and 2.
func (s *Streams) Guest() map[int]*os.File {
	return map[int]*os.File{0: s.stdin, 1: s.stdout, 2: s.stderr}
}

// Started closes our copies of the guest's ends, so that output ends when the
// last process inside has closed its own.
func (s *Streams) Started() {
	for _, f := range []*os.File{s.stdin, s.stdout, s.stderr} {
		f.Close() // a terminal is there three times; closing again is harmless
	}
}

// Finish waits for the rest of the output and returns why the caller did not
// take it all. A caller who takes nothing is waited for as long as the sandbox
// lives, and a moment longer.
func (s *Streams) Finish(ended <-chan struct{}) error {
	done := make(chan struct{})
	go func() {
		s.copying.Wait()
		close(done)
	}()
	var over <-chan time.Time
	for {
		select {
		case <-done:
			return s.outputError()
		case <-time.After(lingering):
			s.expire()
		case <-ended:
			ended, over = nil, time.After(4*lingering)
		case <-over:
			return nil
		}
	}
}

func (s *Streams) outputError() error {
	if err := s.failed.Load(); err != nil {
		return fmt.Errorf("passing on the command's output: %w", *err)
	}
	return nil
}

// expire ends the reading of pipes that have nothing left in them. As long as
// there is output that the caller has not taken yet, it does nothing.
func (s *Streams) expire() {
	for _, r := range s.readers {
		if unread(r) > 0 {
			return
		}
	}
	for _, r := range s.readers {
		_ = r.SetReadDeadline(time.Now())
	}
}

func unread(f *os.File) int {
	conn, err := f.SyscallConn()
	if err != nil {
		return 0
	}
	n := 0
	_ = conn.Control(func(fd uintptr) { n, _ = unix.IoctlGetInt(int(fd), unix.TIOCINQ) })
	return n
}

// Close closes everything that is still open.
func (s *Streams) Close() {
	for _, f := range append(s.host, s.stdin, s.stdout, s.stderr) {
		f.Close() // nil and closed files are fine
	}
}
