package keeper

import (
	"errors"
	"net"
	"os"
	"time"
)

// stdio makes one connection of two pipes. Both must be pollable, or their
// deadlines, on which package door relies, do nothing.
type stdio struct{ in, out *os.File }

var _ net.Conn = stdio{}

// NewConn makes a connection of a file to read from and one to write to, such as
// the two ends of a process's standard streams.
func NewConn(in, out *os.File) net.Conn { return stdio{in, out} }

func (s stdio) Read(p []byte) (int, error)  { return s.in.Read(p) }
func (s stdio) Write(p []byte) (int, error) { return s.out.Write(p) }
func (s stdio) Close() error                { return errors.Join(s.in.Close(), s.out.Close()) }

func (s stdio) LocalAddr() net.Addr  { return pipeAddr{} }
func (s stdio) RemoteAddr() net.Addr { return pipeAddr{} }

func (s stdio) SetDeadline(t time.Time) error {
	return errors.Join(s.SetReadDeadline(t), s.SetWriteDeadline(t))
}
func (s stdio) SetReadDeadline(t time.Time) error  { return s.in.SetReadDeadline(t) }
func (s stdio) SetWriteDeadline(t time.Time) error { return s.out.SetWriteDeadline(t) }

type pipeAddr struct{}

func (pipeAddr) Network() string { return "pipe" }
func (pipeAddr) String() string  { return "standard streams" }
