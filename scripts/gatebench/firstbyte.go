package main

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"net"
	"time"
)

// firstByte is the time from opening a connection to the first byte of the
// answer, each time on a new connection. The ways take turns request by request,
// so that what disturbs one disturbs all.
func (b *bench) firstByte() error {
	fmt.Println("| time to the first byte, new connection | p50 | p99 | added at p50 | added at p99 |")
	fmt.Println("|---|---|---|---|---|")
	for _, kind := range []struct {
		name string
		get  func(*way) (time.Duration, error)
	}{{"TLS through CONNECT", b.getTLS}, {"plain HTTP", b.getPlain}} {
		times, err := b.alternate(b.turns(1000), kind.get)
		if err != nil {
			return err
		}
		direct := sorted(times[0])
		for i, w := range b.ways {
			own := sorted(times[i])
			fmt.Printf("| %s, %s | %s | %s | %s | %s |\n", kind.name, w.name, ms(at(own, 50)), ms(at(own, 99)),
				ms(median(pairs(times[i], times[0]))), ms(at(own, 99)-at(direct, 99)))
		}
	}
	fmt.Println()
	return nil
}

// alternate lets each way do the work once in each turn.
func (b *bench) alternate(turns int, work func(*way) (time.Duration, error)) ([][]time.Duration, error) {
	times := make([][]time.Duration, len(b.ways))
	for range turns {
		for i, w := range b.ways {
			took, err := work(w)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", w.name, err)
			}
			times[i] = append(times[i], took)
		}
	}
	return times, nil
}

func (b *bench) getTLS(w *way) (time.Duration, error) {
	began := time.Now()
	conn, err := w.open(b.servers.tlsAddr())
	if err != nil {
		return 0, err
	}
	defer hangUp(conn)
	secure := tls.Client(conn, trusting)
	return ask(secure, "/", b.servers.tlsAddr(), began)
}

// getPlain sends a proxy the whole URL.
func (b *bench) getPlain(w *way) (time.Duration, error) {
	began := time.Now()
	address, url := b.servers.plainAddr(), "/"
	if w.proxy != "" {
		address, url = w.proxy, "http://"+b.servers.plainAddr()+"/"
	}
	conn, err := net.DialTimeout("tcp", address, patience)
	if err != nil {
		return 0, err
	}
	defer hangUp(conn)
	return ask(conn, url, b.servers.plainAddr(), began)
}

func ask(conn net.Conn, url, host string, began time.Time) (time.Duration, error) {
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return 0, err
	}
	if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\n\r\n", url, host); err != nil {
		return 0, err
	}
	status, err := bufio.NewReader(conn).ReadString('\n')
	took := time.Since(began)
	if err == nil && (len(status) < 12 || status[9:12] != "200") {
		err = fmt.Errorf("answered %q", status)
	}
	return took, err
}
