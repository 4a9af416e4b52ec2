package keeper

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agent-loop/ralph/internal/door"
	"github.com/agent-loop/ralph/internal/sandbox"
)

// fakeVessel holds no process: the keeper in it is the test.
type fakeVessel struct {
	once   sync.Once
	exited chan struct{}
	reason error
	kills  int
}

func newFakeVessel() *fakeVessel { return &fakeVessel{exited: make(chan struct{})} }

func (v *fakeVessel) Exited() <-chan struct{} { return v.exited }
func (v *fakeVessel) Reason() error           { return v.reason }
func (v *fakeVessel) Discard() error          { return nil }
func (v *fakeVessel) Kill() error {
	v.kills++
	v.end()
	return nil
}
func (v *fakeVessel) end() { v.once.Do(func() { close(v.exited) }) }

// fakeKeeper is the inside, in the hands of the test.
type fakeKeeper struct {
	t      *testing.T
	guest  *door.Guest
	orders *door.Stream
}

func (k *fakeKeeper) open(purpose []byte) *door.Stream {
	k.t.Helper()
	stream, err := k.guest.Open()
	if err == nil {
		_, err = stream.Write(purpose)
	}
	if err != nil {
		k.t.Fatalf("opening a stream: %v", err)
	}
	return stream
}

func (k *fakeKeeper) reply(r reply) {
	k.t.Helper()
	if err := (&messenger{to: k.orders}).send(r); err != nil {
		k.t.Fatalf("replying: %v", err)
	}
}

// order is the next thing that the host wants. Pings are answered on the way.
func (k *fakeKeeper) order() order {
	k.t.Helper()
	for {
		var o order
		if err := receive(k.orders, maxOrder, &o); err != nil {
			k.t.Fatalf("hearing an order: %v", err)
		}
		if o.Ping == 0 {
			return o
		}
		k.reply(reply{Pong: o.Ping})
	}
}

// pipe is a connection whose two ends are in this process.
func pipe(t *testing.T) (host, guest net.Conn) {
	t.Helper()
	hostFile, guestFile, err := door.Pair()
	if err != nil {
		t.Skip(err)
	}
	defer hostFile.Close()
	defer guestFile.Close()
	if host, err = net.FileConn(hostFile); err != nil {
		t.Fatal(err)
	}
	if guest, err = net.FileConn(guestFile); err != nil {
		t.Fatal(err)
	}
	return host, guest
}

// meet opens a box whose keeper is the test.
func meet(t *testing.T, spec sandbox.Spec) (*Box, *fakeKeeper, *fakeVessel) {
	t.Helper()
	host, guest := pipe(t)
	return meetOver(t, spec, host, guest)
}

// meetOver is meet for a connection of one's own.
func meetOver(t *testing.T, spec sandbox.Spec, host, guest net.Conn) (*Box, *fakeKeeper, *fakeVessel) {
	t.Helper()
	v := newFakeVessel()
	k := &fakeKeeper{t: t, guest: door.Join(guest)}
	go func() {
		k.orders = k.open([]byte{forControl})
		k.order()
		k.reply(reply{Ready: true})
	}()
	b, err := Open(t.Context(), Start{ID: "test", Spec: spec, Vessel: v, Conn: host})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Errorf("closing: %v", err)
		}
	})
	return b, k, v
}

// Whatever is wrong at the start is an error that says what, and nothing is left.
func TestStartsThatFail(t *testing.T) {
	for name, tt := range map[string]struct {
		play func(k *fakeKeeper, v *fakeVessel)
		want string
	}{
		"another stream first": {func(k *fakeKeeper, _ *fakeVessel) { k.open([]byte{forGate}) }, "did not open its control stream"},
		"settings refused": {func(k *fakeKeeper, _ *fakeVessel) {
			k.orders = k.open([]byte{forControl})
			k.order()
			k.reply(reply{Refused: "no filter\x1b[2J"})
		}, `could not confine the sandbox: "no filter\x1b[2J"`},
		"no word of readiness": {func(k *fakeKeeper, _ *fakeVessel) {
			k.orders = k.open([]byte{forControl})
			k.reply(reply{Pong: 1})
		}, "could not confine"},
		"a message too long": {func(k *fakeKeeper, _ *fakeVessel) {
			k.open(append([]byte{forControl}, binary.BigEndian.AppendUint32(nil, maxReply+1)...))
		}, "too long"},
		"not a message": {func(k *fakeKeeper, _ *fakeVessel) {
			k.open(append([]byte{forControl}, "\x00\x00\x00\x03abc"...))
		}, "reading a message"},
		"the keeper goes":  {func(k *fakeKeeper, _ *fakeVessel) { k.guest.Close() }, "the door is shut"},
		"the vessel fails": {func(_ *fakeKeeper, v *fakeVessel) { v.reason = errors.New("no such image"); v.end() }, "no such image"},
	} {
		t.Run(name, func(t *testing.T) {
			host, guest := pipe(t)
			v := newFakeVessel()
			k := &fakeKeeper{t: t, guest: door.Join(guest)}
			go tt.play(k, v)
			b, err := Open(t.Context(), Start{ID: "test", Vessel: v, Conn: host})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, %v; want %q", b, err, tt.want)
			}
			if v.kills != 1 {
				t.Errorf("the vessel was killed %d times", v.kills)
			}
		})
	}
}

func TestStartIsBounded(t *testing.T) {
	host, guest := pipe(t)
	defer door.Join(guest).Close()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	v := newFakeVessel()
	if _, err := Open(ctx, Start{Vessel: v, Conn: host}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if v.kills != 1 {
		t.Errorf("the vessel was killed %d times", v.kills)
	}
}

// What a keeper says of commands is taken with care: it may be the agent's word.
func TestRepliesThatLie(t *testing.T) {
	b, k, _ := meet(t, sandbox.Spec{})
	type ended struct {
		code int
		err  error
	}
	var out bytes.Buffer
	result := make(chan ended, 1)
	go func() {
		code, err := b.Exec(t.Context(), sandbox.Command{Args: []string{"work"}, Stdout: &out})
		result <- ended{code, err}
	}()
	id := k.order().Start.ID
	k.reply(reply{Exited: &exitedReply{ID: id + 7, Code: 1}})                   // of no command
	k.reply(reply{Failed: &failedReply{ID: 0, Code: 127}})                      // of no command
	k.reply(reply{Measured: &measuredReply{ID: 99, Unlinked: 1 << 60}})         // not asked
	k.reply(reply{Pong: 1 << 60})                                               // not asked
	k.reply(reply{Limit: "everything"})                                         // unknown
	k.open(binary.BigEndian.AppendUint32([]byte{forOutput}, id+7)).CloseWrite() // nobody's
	k.open([]byte{'?'}).CloseWrite()                                            // for nothing
	k.open(binary.BigEndian.AppendUint32([]byte{forErrors}, id)).CloseWrite()   //
	output := k.open(binary.BigEndian.AppendUint32([]byte{forOutput}, id))      //
	if _, err := output.Write([]byte("result")); err != nil {
		t.Fatal(err)
	}
	output.CloseWrite()
	k.reply(reply{Exited: &exitedReply{ID: id, Code: 3}})
	k.reply(reply{Exited: &exitedReply{ID: id, Code: 0}}) // once is enough
	if got := <-result; got.code != 3 || got.err != nil || out.String() != "result" {
		t.Errorf("got %d, %v and %q", got.code, got.err, out.String())
	}
}

func TestCodesThatCannotBe(t *testing.T) {
	for _, code := range []int{-1, 256, 1 << 40} {
		b, k, _ := meet(t, sandbox.Spec{})
		go func() {
			id := k.order().Start.ID
			k.reply(reply{Exited: &exitedReply{ID: id, Code: code}})
		}()
		if got, err := b.Exec(t.Context(), sandbox.Command{Args: []string{"work"}}); err == nil {
			t.Errorf("%d was taken for %d", code, got)
		}
	}
}

// A guest that breaks the protocol, or goes away, loses its sandbox, and those who
// wait for a command in it learn why.
func TestSandboxesThatEnd(t *testing.T) {
	for name, tt := range map[string]struct {
		play func(k *fakeKeeper, v *fakeVessel)
		want string
	}{
		"a message too long": {func(k *fakeKeeper, _ *fakeVessel) {
			_, _ = k.orders.Write(binary.BigEndian.AppendUint32(nil, maxReply+1))
		}, "too long"},
		"the keeper goes":    {func(k *fakeKeeper, _ *fakeVessel) { k.guest.Close() }, "went away"},
		"ended from outside": {func(_ *fakeKeeper, v *fakeVessel) { v.reason = errors.New("somebody removed it"); v.end() }, "somebody removed it"},
		"the memory limit":   {func(k *fakeKeeper, _ *fakeVessel) { k.reply(reply{Limit: "memory"}) }, "memory limit"},
		"its own limit, by word": {func(_ *fakeKeeper, v *fakeVessel) {
			v.reason = &sandbox.LimitError{Limit: "memory", Value: "1 MiB"}
			v.end()
		}, "memory limit"},
	} {
		t.Run(name, func(t *testing.T) {
			b, k, v := meet(t, sandbox.Spec{})
			go func() {
				k.order()
				tt.play(k, v)
			}()
			_, err := b.Exec(t.Context(), sandbox.Command{Args: []string{"work"}})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
			if _, err := b.Exec(t.Context(), sandbox.Command{Args: []string{"work"}}); !errors.Is(err, sandbox.ErrGone) {
				t.Errorf("a later command gets %v", err)
			}
		})
	}
}

// Connections to the gate are the gate's, and without one they are refused.
func TestGateStreams(t *testing.T) {
	served := make(chan string, 1)
	spec := sandbox.Spec{Network: sandbox.NetworkGate, Gate: func(l net.Listener) error {
		conn, err := l.Accept()
		if err != nil {
			return err
		}
		data, err := io.ReadAll(conn)
		served <- string(data)
		return err
	}}
	_, k, _ := meet(t, spec)
	stream := k.open([]byte{forGate})
	if _, err := stream.Write([]byte("GET")); err != nil {
		t.Fatal(err)
	}
	stream.CloseWrite()
	if got := <-served; got != "GET" {
		t.Errorf("the gate read %q", got)
	}
}

func TestPulse(t *testing.T) {
	var p pulse
	for range 1000 {
		n, alive := p.next()
		if !alive {
			t.Fatal("one that answers is taken for dead")
		}
		p.answered(n)
	}
	p.answered(1 << 60) // of no question
	for range maxMissed {
		if _, alive := p.next(); !alive {
			t.Fatal("given up too soon")
		}
	}
	if _, alive := p.next(); alive {
		t.Error("never given up")
	}
}

func FuzzReceive(f *testing.F) {
	for _, text := range []string{`{"ready":true}`, `{"exited":{"id":1,"code":0}}`, `{"failed":{"id":1,"code":127,"reason":"x"}}`, `{"pong":1}`, `{"limit":"memory"}`, `{"measured":{"id":1}}`, `[]`, `{"exited":{"id":-1}}`} {
		f.Add(append(binary.BigEndian.AppendUint32(nil, uint32(len(text))), text...))
	}
	f.Add([]byte{0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(_ *testing.T, data []byte) {
		b := &Box{commands: map[uint32]*execution{1: {settled: make(chan outcome, 1)}}}
		from := bytes.NewReader(data)
		for {
			var r reply
			if receive(from, maxReply, &r) != nil {
				return
			}
			if r.Limit == "" { // that one ends the sandbox
				b.hear(r)
			}
		}
	})
}
