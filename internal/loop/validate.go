package loop

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/agent-loop/ralph/internal/rundir"
	"github.com/agent-loop/ralph/internal/sandbox"
	"github.com/agent-loop/ralph/internal/task"
)

const (
	// maxFailure is how much of a validation's output goes into the next prompt
	// and the record.
	maxFailure = 24 << 10
	// maxCaptured is how much of it is held, at either end.
	maxCaptured = 64 << 10
)

// validate runs the validation command where the agent worked. The error is what
// ends the run; a command that fails, hangs or cannot be started is a failed
// validation.
func (r *runner) validate(ctx context.Context, n int) (*rundir.Validation, error) {
	box, err := r.sandbox(ctx, n)
	if err != nil {
		return nil, err
	}
	v, err := r.validateIn(ctx, box)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	r.note(rundir.EventValidation, n, v)
	r.step("validated")
	if err != nil && gone(err) {
		return v, r.closeBox(err.Error())
	}
	return v, r.sweep(ctx)
}

// validateIn runs the command in a sandbox. The error is why it has no exit code.
func (r *runner) validateIn(ctx context.Context, box sandbox.Sandbox) (*rundir.Validation, error) {
	r.step("validating")
	return r.checkWith(ctx, box, r.Rules.Validation)
}

// checkWith runs one command of a validation.
func (r *runner) checkWith(ctx context.Context, box sandbox.Sandbox, command string) (*rundir.Validation, error) {
	began := time.Now()
	limited, cancel := r.validationContext(ctx)
	defer cancel()
	captured := &capture{}
	code, err := box.Exec(limited, sandbox.Command{Args: []string{"sh", "-c", command}, Stdout: captured, Stderr: captured})
	v := &rundir.Validation{
		Command: command, Passed: err == nil && code == 0, ExitCode: code,
		Output: strings.ToValidUTF8(task.Shorten(captured.text(), maxFailure), "\uFFFD"), DurationMS: time.Since(began).Milliseconds(),
	}
	if err != nil {
		v.Error = err.Error()
	}
	return v, err
}

func (r *runner) validationContext(ctx context.Context) (context.Context, context.CancelFunc) {
	limit := r.Rules.ValidationTimeout
	if r.State.Limits.MaxTimeSeconds > 0 {
		// The run's time may be over, and the work of its last iteration is
		// checked all the same.
		if left := max(r.timeLeft(), time.Minute); limit <= 0 || left < limit {
			limit = left
		}
	}
	if limit <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, limit)
}

// failure is what the next iteration is told of a validation that failed.
func failure(v rundir.Validation) string {
	text := fmt.Sprintf("$ %s\n%s\n", v.Command, v.Output)
	if v.Error != "" {
		return text + v.Error
	}
	return text + fmt.Sprintf("exit code %d", v.ExitCode)
}

// capture keeps the beginning and the end of what is written to it.
type capture struct {
	mu         sync.Mutex
	head, tail []byte
	dropped    int64
}

func (c *capture) Write(data []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := len(data)
	room := min(len(data), maxCaptured-len(c.head))
	c.head = append(c.head, data[:room]...)
	c.tail = append(c.tail, data[room:]...)
	if over := len(c.tail) - maxCaptured; over > maxCaptured {
		c.dropped += int64(over)
		c.tail = append(c.tail[:0], c.tail[over:]...)
	}
	return n, nil
}

// text is all that was kept, with a word about what was not.
func (c *capture) text() string {
	if c.dropped == 0 {
		return string(c.head) + string(c.tail)
	}
	return fmt.Sprintf("%s\n[%d bytes left out]\n%s", c.head, c.dropped, c.tail)
}
