package main

import (
	"fmt"
	"net/http"
	"os/exec"
	"strconv"
	"time"

	"github.com/agent-loop/ralph/internal/sandbox"
)

// payload is how much is sent.
const payload = 200_000_000

// streams is how fast bytes leave a sandbox and come in.
func (s *site) streams() []measure {
	return []measure{
		{what: "200 MB through standard output", show: showRate, rounds: 3, sample: timed(s.output)},
		{what: "download of 200 MB with curl, through the gate", show: showRate, rounds: 3, sample: timed(s.download)},
	}
}

func showRate(seconds float64) string {
	return fmt.Sprintf("%s (%.0f MB/s)", showTime(seconds), payload/1e6/seconds)
}

// counter takes output and is no file, so that both sides pass it through a pipe.
type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

func (s *site) output(c *contender) error {
	args := []string{"head", "-c", strconv.Itoa(payload), "/dev/zero"}
	var got counter
	var err error
	if c.isHost() {
		cmd := exec.CommandContext(s.ctx, args[0], args[1:]...)
		cmd.Stdout = &got
		err = cmd.Run()
	} else {
		_, err = c.box.Exec(s.ctx, sandbox.Command{Args: args, Stdout: &got})
	}
	if err == nil && got != payload {
		err = fmt.Errorf("of %d bytes %d arrived", payload, got)
	}
	return err
}

// download passes the gate only in a sandbox: the host has no use for one.
func (s *site) download(c *contender) error {
	args := []string{"curl", "-sSo", "/dev/null", s.upstream.URL}
	if !c.isHost() {
		args = append(args, "--noproxy", "")
	}
	return s.do(c, s.work, args...)
}

func sendZeroes(w http.ResponseWriter, r *http.Request) {
	chunk := make([]byte, 1_000_000)
	w.Header().Set("Content-Length", strconv.Itoa(payload))
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(time.Minute))
	for range payload / len(chunk) {
		if _, err := w.Write(chunk); err != nil || r.Context().Err() != nil {
			return
		}
	}
}
