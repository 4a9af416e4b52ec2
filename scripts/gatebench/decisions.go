package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/agent-loop/ralph/internal/gate"
)

// decisions counts refused CONNECTs through a gate on one processor. The clients
// take the other one, or part of the same: so it is also said how many there are
// in a second of the gate's own processor time.
func (b *bench) decisions() (err error) {
	w, err := startGate(b.servers, 1, "")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.stop()) }()
	var rates, perSecond []float64
	for range b.turns(5) {
		rate, effort, err := w.effort(8, refused)
		if err != nil {
			return err
		}
		rates, perSecond = append(rates, rate), append(perSecond, effort)
	}
	fmt.Println("| decisions on one processor | a second |\n|---|---|")
	fmt.Printf("| CONNECT, refused, new connection each | %.0f |\n", median(rates))
	fmt.Printf("| the same, in a second of the gate's processor time | %.0f |\n", median(perSecond))
	fmt.Printf("| Policy.Decide alone, %d rules and presets | %.0f |\n\n", len(rules(b.servers.addresses())), decideRate(b.servers))
	return nil
}

// refused is one CONNECT that the policy denies.
func refused(w *way) (int64, error) {
	conn, err := net.DialTimeout("tcp", w.proxy, patience)
	if err != nil {
		return 0, err
	}
	defer hangUp(conn)
	if _, err := io.WriteString(conn, "CONNECT www.example.com:443 HTTP/1.1\r\nHost: www.example.com:443\r\n\r\n"); err != nil {
		return 0, err
	}
	answer := make([]byte, 512)
	n, err := conn.Read(answer)
	if err == nil && !strings.HasPrefix(string(answer[:n]), "HTTP/1.1 502 ") {
		err = fmt.Errorf("answered %q", answer[:n])
	}
	return 1, err
}

func decideRate(s *servers) float64 {
	policy, err := gate.NewPolicy(gate.ModeAllowlist, rules(s.addresses()), nil)
	if err != nil {
		return 0
	}
	result := testing.Benchmark(func(b *testing.B) {
		for b.Loop() {
			policy.Decide("www.Example.com", 443)
		}
	})
	return float64(result.N) / result.T.Seconds()
}

// used is the processor time that a proxy has had.
func (w *way) used() (time.Duration, error) {
	if w.cmd == nil {
		return 0, nil
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(w.cmd.Process.Pid) + "/stat")
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(stat), ") ") // its name may hold spaces
	fields := strings.Fields(rest)
	var ticks int64
	for _, field := range fields[11:13] { // user and system, in hundredths of a second
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, err
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond, nil
}
