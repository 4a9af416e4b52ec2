package main

import (
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// turn is how long one way is kept busy before the next one is.
const turn = 700 * time.Millisecond

// tunnels counts whole tunnels a second: connect, CONNECT, a byte there and
// back, hang up. Then the same with what a client does with a tunnel: a TLS
// handshake and a small request.
func (b *bench) tunnels() error {
	one := func(w *way) (int64, error) {
		conn, err := w.open(b.servers.echo.Addr().String())
		if err != nil {
			return 0, err
		}
		defer hangUp(conn)
		if _, err := conn.Write([]byte{'.'}); err != nil {
			return 0, err
		}
		_, err = io.ReadFull(conn, make([]byte, 1))
		return 1, err
	}
	if err := b.load("new tunnels a second, one byte each way", []int{1, 16, 64}, one); err != nil {
		return err
	}
	if err := b.load("requests a second, each in a new tunnel with TLS", []int{1, 16, 64}, func(w *way) (int64, error) {
		_, err := b.getTLS(w)
		return 1, err
	}); err != nil {
		return err
	}
	return b.load("requests a second in open tunnels", []int{1, 16, 64}, b.pingPong)
}

// pingPong sends requests of the size that a model call's first packet has
// through one tunnel, each after the answer to the one before, for a turn.
func (b *bench) pingPong(w *way) (count int64, err error) {
	conn, err := w.open(b.servers.echo.Addr().String())
	if err != nil {
		return 0, err
	}
	defer hangUp(conn)
	request, answer := make([]byte, 1<<10), make([]byte, 1<<10)
	for began := time.Now(); time.Since(began) < turn; count++ {
		if _, err := conn.Write(request); err != nil {
			return count, err
		}
		if _, err := io.ReadFull(conn, answer); err != nil {
			return count, err
		}
	}
	return count, nil
}

// throughput is what streams carry together, in MB a second, each in a tunnel of
// its own that is open for a whole turn.
func (b *bench) throughput() error {
	stream := func(w *way) (int64, error) {
		conn, err := w.open(b.servers.flood.Addr().String())
		if err != nil {
			return 0, err
		}
		defer hangUp(conn)
		_ = conn.SetDeadline(time.Now().Add(turn))
		n, _ := io.CopyBuffer(io.Discard, struct{ io.Reader }{conn}, make([]byte, 256<<10)) // ended by the deadline
		return n, nil
	}
	return b.load("MB a second, all streams together", []int{1, 16, 256}, stream)
}

// load keeps each way busy in turn with a number of clients, and prints what was
// done in a second, and how that compares.
func (b *bench) load(title string, clients []int, work func(*way) (int64, error)) error {
	fmt.Printf("| %s |", title)
	for _, w := range b.ways {
		fmt.Printf(" %s |", w.name)
	}
	fmt.Print(" gate to others |\n|---|")
	for range len(b.ways) + 1 {
		fmt.Print("---|")
	}
	fmt.Println()
	for _, n := range clients {
		rates, efforts := make([][]float64, len(b.ways)), make([][]float64, len(b.ways))
		for range b.turns(5) {
			for i, w := range b.ways {
				rate, effort, err := w.effort(n, work)
				if err != nil {
					return fmt.Errorf("%s with %d clients: %w", w.name, n, err)
				}
				rates[i], efforts[i] = append(rates[i], rate), append(efforts[i], effort)
			}
		}
		b.loadRow(fmt.Sprintf("%d clients", n), rates, 0)
		b.loadRow(fmt.Sprintf("%d clients, for a second of the proxy's processor time", n), efforts, 1)
	}
	fmt.Println()
	return nil
}

// loadRow prints figures of each way, and the gate's as multiples of those from
// the way with number first on.
func (b *bench) loadRow(what string, figures [][]float64, first int) {
	fmt.Printf("| %s |", what)
	for i := range b.ways {
		figure := median(figures[i])
		if figure > 1e6 {
			figure /= 1e6 // bytes
		}
		if i < first {
			fmt.Print(" |")
			continue
		}
		fmt.Printf(" %.0f |", figure)
	}
	for i, w := range b.ways[first:] {
		if w.name != "gate" {
			fmt.Printf(" %.2f %s", median(ratios(figures[1], figures[first+i])), w.name)
		}
	}
	fmt.Println(" |")
}

// effort is what clients get done in a second, and in a second of the processor
// time of the proxy, which does not depend on how much of it they use themselves.
func (w *way) effort(clients int, work func(*way) (int64, error)) (rate, perSecond float64, err error) {
	before, err := w.used()
	if err != nil {
		return 0, 0, err
	}
	began := time.Now()
	if rate, err = busy(w, clients, work); err != nil {
		return 0, 0, err
	}
	took := time.Since(began)
	after, err := w.used()
	return rate, rate * took.Seconds() / max(0.01, (after-before).Seconds()), err
}

// busy is what clients get done with one way in a second.
func busy(w *way, clients int, work func(*way) (int64, error)) (float64, error) {
	var done atomic.Int64
	var failed atomic.Pointer[error]
	var group sync.WaitGroup
	began := time.Now()
	for range clients {
		group.Go(func() {
			for time.Since(began) < turn && failed.Load() == nil {
				n, err := work(w)
				done.Add(n)
				if err != nil {
					failed.Store(&err)
				}
			}
		})
	}
	group.Wait()
	if err := failed.Load(); err != nil {
		return 0, *err
	}
	return float64(done.Load()) / time.Since(began).Seconds(), nil
}
