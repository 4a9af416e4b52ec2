package keeper

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/agent-loop/ralph/internal/door"
	"github.com/agent-loop/ralph/internal/sandbox"
)

// Reexec must be among the first calls in main. When this process was started as
// a keeper it does that work and never returns; otherwise it does nothing.
func Reexec() {
	if len(os.Args) == 2 && os.Args[1] == Argument {
		os.Exit(guestMain())
	}
}

func guestMain() int {
	if err := serve(); err != nil {
		fmt.Fprintln(os.Stderr, "ralph: the keeper ended:", err)
		return 1
	}
	return 0
}

// guest is the keeper at work.
type guest struct {
	door      *door.Guest
	replies   *messenger
	processes *processes
	gate      chan struct{} // a place for each connection to the gate
	struck    func() bool   // tells whether the kernel's memory limit has; nil: there is none to ask

	mu        sync.Mutex
	terminals map[uint32]chan sandbox.TerminalSize
}

// gateStreams is how many connections to the gate may be open at once. The
// door's other streams are kept for commands: an agent that opens all
// connections it can must not keep ralph from running the next command.
const gateStreams = door.MaxStreams - 32

// maxSilence is how long the host may say nothing. Its end is told by the end of
// the stream, except where an engine's daemon was killed and what it started
// lives on; a ralph that is suspended for longer starts a new sandbox.
const maxSilence = 5 * time.Minute

// serve does all of the keeper's work, until the host is gone.
func serve() error {
	if os.Getpid() != 1 {
		return errors.New("it is not the first process of a sandbox")
	}
	started := newProcesses()
	if err := protect(); err != nil {
		return err
	}
	conn, err := hostConn()
	if err != nil {
		return err
	}
	g := &guest{
		door: door.Join(conn), gate: make(chan struct{}, gateStreams),
		processes: started, terminals: map[uint32]chan sandbox.TerminalSize{},
	}
	orders, err := g.open([]byte{forControl})
	if err != nil {
		return err
	}
	g.replies = &messenger{to: orders}
	for {
		_ = orders.SetReadDeadline(time.Now().Add(maxSilence))
		var o order
		if err := receive(orders, maxOrder, &o); err != nil {
			return errors.Join(err, g.door.Err())
		}
		if err := g.obey(o); err != nil {
			return err
		}
	}
}

// hostConn makes the connection of our standard streams, which nothing that is
// started inherits.
func hostConn() (net.Conn, error) {
	for _, fd := range []int{0, 1} {
		unix.CloseOnExec(fd)
		if err := unix.SetNonblock(fd, true); err != nil {
			return nil, fmt.Errorf("opening the way to the host: %w", err)
		}
	}
	return NewConn(os.NewFile(0, "from the host"), os.NewFile(1, "to the host")), nil
}

// open makes a stream that begins with what it is for.
func (g *guest) open(purpose []byte) (*door.Stream, error) {
	stream, err := g.door.Open()
	if err != nil {
		return nil, err
	}
	if _, err := stream.Write(purpose); err != nil {
		stream.Close()
		return nil, err
	}
	return stream, nil
}

func (g *guest) openFor(kind byte, command uint32) (*door.Stream, error) {
	return g.open(binary.BigEndian.AppendUint32([]byte{kind}, command))
}

func (g *guest) obey(o order) error {
	switch {
	case o.Settings != nil:
		return g.begin(*o.Settings)
	case o.Start != nil:
		go g.run(o.Start)
	case o.Resize != nil:
		g.resize(o.Resize)
	case o.Ping != 0:
		return g.replies.send(reply{Pong: o.Ping})
	case o.Measure != nil:
		go g.measure(o.Measure.ID)
	}
	return nil
}

// begin holds the settings and says so, or says why it cannot.
func (g *guest) begin(s Settings) error {
	if err := g.hold(s); err != nil {
		return errors.Join(err, g.replies.send(reply{Refused: err.Error()}))
	}
	return g.replies.send(reply{Ready: true})
}

// hold opens the door first: the listener must be ours before any program runs.
func (g *guest) hold(s Settings) error {
	if s.Gate {
		listener, err := net.Listen("tcp", sandbox.GateAddress)
		if err != nil {
			return fmt.Errorf("opening the door: %w", err)
		}
		go g.forward(listener)
	}
	if err := confine(s); err != nil {
		return err
	}
	return g.watchMemory(s)
}

// forward sends every connection to the gate.
func (g *guest) forward(listener net.Listener) {
	for {
		g.gate <- struct{}{}
		conn, err := listener.Accept()
		if err != nil {
			<-g.gate // out of descriptors, say: connections that end free some
			continue
		}
		go func() {
			defer func() { <-g.gate }()
			g.door.Carry(conn, []byte{forGate})
		}()
	}
}
