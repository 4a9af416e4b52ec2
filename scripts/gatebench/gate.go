package main

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"strings"

	"github.com/agent-loop/ralph/internal/gate"
)

// startGate runs the gate in a process of its own, which is this program again.
// Cores bounds the processors it uses; 0 leaves them all to it.
func startGate(s *servers, cores int, profile string) (*way, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	w := &way{name: "gate", proxy: fmt.Sprintf("127.0.0.1:%d", port)}
	args := []string{self, "-serve-gate", "-profile", profile, w.proxy, fmt.Sprint(cores)}
	return w, w.launchAsking(append(args, s.addresses()...)...)
}

// launchAsking starts the gate with a line to ask it by.
func (w *way) launchAsking(args ...string) error {
	in, out, err := os.Pipe()
	if err != nil {
		return err
	}
	answers, fromGate, err := os.Pipe()
	if err != nil {
		return err
	}
	w.ask, w.reply = out, bufio.NewReader(answers)
	return w.launchWith([]*os.File{in, fromGate}, args...)
}

// serveGate is the other process. It ends with its parent.
func serveGate(args []string, profile string) {
	address, cores, servers := args[0], args[1], args[2:]
	if cores != "0" {
		runtime.GOMAXPROCS(1)
	}
	policy, err := gate.NewPolicy(gate.ModeAllowlist, rules(servers), nil)
	if err != nil {
		fail(err)
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		fail(err)
	}
	if profile != "" {
		file, err := os.Create(profile)
		if err != nil {
			fail(err)
		}
		if err := pprof.StartCPUProfile(file); err != nil {
			fail(err)
		}
	}
	p := gate.New(gate.Config{Policy: policy, Log: func(gate.Event) {}, Limits: gate.Limits{MaxConns: 5000}})
	go func() {
		if err := p.Serve(l); err != nil {
			fail(err)
		}
	}()
	answerQuestions()
	pprof.StopCPUProfile()
}

// rules allow TLS to the TLS server, and any bytes to the raw ones, as a user
// would write it. The presets make the list as long as a real one.
func rules(servers []string) []string {
	list := []string{servers[0], servers[1], "tcp://" + servers[2], "tcp://" + servers[3]}
	return append(gate.Presets(), list...)
}

// answerQuestions tells about this process until the other end has gone.
func answerQuestions() {
	in, out := bufio.NewScanner(os.NewFile(3, "questions")), os.NewFile(4, "answers")
	for in.Scan() {
		var m runtime.MemStats
		if strings.TrimSpace(in.Text()) == "memory" {
			runtime.GC() // pools let go of what they hold at the second one
			debug.FreeOSMemory()
			runtime.ReadMemStats(&m)
		}
		fmt.Fprintf(out, "%d %d %d\n", m.HeapAlloc, m.StackInuse, runtime.NumGoroutine())
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "gatebench: gate:", err)
	os.Exit(1)
}
