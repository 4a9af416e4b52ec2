package gate

import (
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestQuietTunnel lets silences of every length lie between pieces of every size,
// in both directions at once. Each byte arrives once, in order, whether the tunnel
// was asleep or not, and so does the end.
func TestQuietTunnel(t *testing.T) {
	const idle = time.Minute
	for _, silence := range []time.Duration{0, quietAfter / 2, quietAfter, quietAfter + 1, 3 * quietAfter, idle / 8, idle/8 + quietAfter, idle * 3 / 4} {
		for _, size := range []int{1, 511, 512, 513, 100_000} {
			t.Run(fmt.Sprintf("%d bytes after %v", size, silence), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { talkQuietly(t, idle, silence, size) })
			})
		}
	}
}

func talkQuietly(t *testing.T, idle, silence time.Duration, size int) {
	tun, client, upstream := pipeTunnel(idle)
	const pieces = 5
	var group sync.WaitGroup
	for _, ends := range [][2]net.Conn{{client, upstream}, {upstream, client}} {
		group.Go(func() {
			for i := range pieces {
				time.Sleep(silence)
				writePiece(ends[0], i, size)
			}
		})
		group.Go(func() {
			for i := range pieces {
				piece := make([]byte, size)
				if _, err := io.ReadFull(ends[1], piece); err != nil || piece[0] != byte(i) || piece[size-1] != byte(i) {
					t.Errorf("piece %d: starts with %d, %v", i, piece[0], err)
				}
			}
		})
	}
	ended := make(chan string, 1)
	var up, down int64
	go func() {
		var reason string
		up, down, reason = tun.run(nil)
		ended <- reason
	}()
	group.Wait()
	client.Close()
	upstream.Close()
	if reason := <-ended; reason != "" || up != int64(pieces*size) || down != up {
		t.Errorf("%d bytes up, %d down, reason %q", up, down, reason)
	}
}

func writePiece(conn net.Conn, mark, size int) {
	piece := make([]byte, size)
	for i := range piece {
		piece[i] = byte(mark)
	}
	conn.Write(piece)
}

// sizedConn notes how much its reader is ready to take.
type sizedConn struct {
	net.Conn
	size atomic.Int64
}

func (c *sizedConn) Read(p []byte) (int, error) {
	c.size.Store(int64(len(p)))
	return c.Conn.Read(p)
}

// TestQuietTunnelHoldsLittle wants no big buffer kept for a tunnel on which
// nothing comes, and one again when something does.
func TestQuietTunnelHoldsLittle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tun, client, upstream := pipeTunnel(time.Minute)
		sized := &sizedConn{Conn: tun.upstream}
		tun.upstream = sized
		ended := make(chan struct{})
		go func() { defer close(ended); tun.run(nil) }()
		go readAll(client)
		for _, step := range []struct {
			write   int
			then    time.Duration
			smaller bool
		}{{0, quietAfter / 2, false}, {0, quietAfter, true}, {1, quietAfter / 2, false}, {0, 2 * quietAfter, true}} {
			upstream.Write(make([]byte, step.write))
			time.Sleep(step.then)
			synctest.Wait()
			if got := sized.size.Load(); got <= 512 != step.smaller {
				t.Errorf("after %d bytes and %v: reads %d bytes at a time", step.write, step.then, got)
			}
		}
		client.Close()
		upstream.Close()
		<-ended
	})
}
