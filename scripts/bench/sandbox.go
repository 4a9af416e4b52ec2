package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/agent-loop/ralph/internal/gate"
	"github.com/agent-loop/ralph/internal/sandbox"
	"github.com/agent-loop/ralph/internal/sandbox/gvisor"
)

// bench is a running sandbox and the folder that it works on.
type bench struct {
	ctx      context.Context
	ralph    string
	dir      string
	goRoot   string
	engine   sandbox.Engine
	box      sandbox.Sandbox
	upstream *httptest.Server
}

func newBench(ctx context.Context, ralph string) (*bench, error) {
	ralph, err := filepath.Abs(ralph)
	if err != nil {
		return nil, err
	}
	goRoot, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return nil, fmt.Errorf("looking for Go: %w", err)
	}
	base, err := os.MkdirTemp("", "ralph-bench-")
	if err != nil {
		return nil, err
	}
	b := &bench{
		ctx:    ctx,
		ralph:  ralph,
		dir:    filepath.Join(base, "work"),
		goRoot: strings.TrimSpace(string(goRoot)),
		engine: gvisor.New(filepath.Join(base, "state"), ralph),
	}
	err = errors.Join(os.Chmod(base, 0o755), os.Mkdir(b.dir, 0o755), os.Setenv("RALPH_STATE_DIR", filepath.Join(base, "state")),
		os.Mkdir(filepath.Join(base, "state"), 0o711))
	if err != nil {
		return nil, err
	}
	b.upstream = httptest.NewServer(http.HandlerFunc(sendZeroes))
	if b.box, err = b.create(b.dir); err != nil {
		return nil, err
	}
	return b, nil
}

func (b *bench) close() {
	_ = b.box.Close()
	b.upstream.Close()
	_ = os.RemoveAll(filepath.Dir(b.dir))
}

// create makes a sandbox that may reach our own server and nothing else.
func (b *bench) create(dir string) (sandbox.Sandbox, error) {
	policy, err := gate.NewPolicy(gate.ModeAllowlist, []string{b.upstream.Listener.Addr().String()}, nil)
	if err != nil {
		return nil, err
	}
	spec := sandbox.Spec{
		Mounts:  []sandbox.Mount{{Source: dir, Target: dir}},
		Env:     sandbox.BaseEnv(sandbox.NetworkGate),
		Limits:  sandbox.Limits{Memory: 8 << 30, Processes: 4096, Disk: 20 << 30},
		Network: sandbox.NetworkGate,
		Gate:    gate.New(gate.Config{Policy: policy}).Serve,
	}
	if !strings.HasPrefix(b.goRoot, "/usr/") {
		spec.Mounts = append(spec.Mounts, sandbox.Mount{Source: b.goRoot, Target: b.goRoot, ReadOnly: true})
	}
	return b.engine.Create(b.ctx, spec)
}

func (b *bench) createMany(n int) ([]sandbox.Sandbox, error) {
	boxes := make([]sandbox.Sandbox, n)
	errs := make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			dir := filepath.Join(b.dir, fmt.Sprint("crowd-", i))
			if errs[i] = os.MkdirAll(dir, 0o755); errs[i] != nil {
				return
			}
			if boxes[i], errs[i] = b.create(dir); errs[i] != nil {
				return
			}
			_, errs[i] = boxes[i].Exec(b.ctx, sandbox.Command{Args: []string{"true"}})
		})
	}
	all.Wait()
	return boxes, errors.Join(errs...)
}

func (b *bench) exec(args ...string) error {
	var out bytes.Buffer
	code, err := b.box.Exec(b.ctx, sandbox.Command{Args: args, Stdout: &out, Stderr: &out})
	if err == nil && code != 0 {
		err = fmt.Errorf("exit code %d", code)
	}
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, &out)
	}
	return nil
}

const payload = 200 << 20

func sendZeroes(w http.ResponseWriter, _ *http.Request) {
	chunk := make([]byte, 1<<20)
	w.Header().Set("Content-Length", fmt.Sprint(payload))
	for range payload / len(chunk) {
		if _, err := w.Write(chunk); err != nil {
			return
		}
	}
}

// download is 200 MB through the door and the gate.
func (b *bench) download() error {
	outside, err := median(5, func() error { return host(b.dir, "curl", "-sSo", "/dev/null", b.upstream.URL) })
	if err != nil {
		return err
	}
	inside, err := median(5, func() error { return b.exec("curl", "-sSo", "/dev/null", "--noproxy", "", b.upstream.URL) })
	if err != nil {
		return err
	}
	row("download of 200 MB with curl", outside, inside, rate(outside)+" outside, "+rate(inside)+" inside")
	return nil
}

func rate(d time.Duration) string {
	return fmt.Sprintf("%.0f MB/s", payload/1e6/d.Seconds())
}

// treeMemory is the proportional set size of this process's descendants.
func treeMemory() int64 {
	children := map[string][]string{}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		data, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
		children[fields[1]] = append(children[fields[1]], filepath.Base(filepath.Dir(path)))
	}
	var total int64
	queue := children[fmt.Sprint(os.Getpid())]
	for len(queue) > 0 {
		total += proportionalSize(queue[0])
		queue = append(queue[1:], children[queue[0]]...)
	}
	return total
}

func proportionalSize(pid string) int64 {
	f, err := os.Open("/proc/" + pid + "/smaps_rollup")
	if err != nil {
		return 0
	}
	defer f.Close()
	data, _ := io.ReadAll(f)
	for line := range strings.SplitSeq(string(data), "\n") {
		var kib int64
		if n, _ := fmt.Sscanf(line, "Pss: %d kB", &kib); n == 1 {
			return kib << 10
		}
	}
	return 0
}
