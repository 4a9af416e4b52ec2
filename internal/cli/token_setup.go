package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/creack/pty"
	"golang.org/x/term"

	"github.com/agent-loop/ralph/internal/token"
)

const (
	// wideTerminal has room for a token, and for the address of a login page, on
	// one line: what a program wraps cannot be told from what it wrote.
	wideTerminal = 1000

	// lastWords is how long the output of a program that has ended is waited for.
	lastWords = time.Second
)

// setUpClaude runs "claude setup-token" in a terminal of its own, passes on what
// it shows and what the user types, and returns the token it prints, which it
// does not show.
func setUpClaude(ctx context.Context, w World, in *os.File) (string, error) {
	claude, err := exec.LookPath("claude")
	if err != nil {
		return "", withTokenHint(errors.New("claude is not installed, and its set-up is what makes a token"),
			`install Claude Code, or run "claude setup-token" elsewhere and pass its token with "ralph store-token < FILE"`)
	}
	fmt.Fprintf(w.Err, "ralph: running %s setup-token; log in, and ralph takes the token over\n", claude)
	screen := token.NewCapture(w.Err)
	if err := runOnTerminal(ctx, exec.CommandContext(ctx, claude, "setup-token"), in, screen); err != nil {
		return "", fmt.Errorf("running claude setup-token: %w", err)
	}
	found := screen.Token()
	if found.IsZero() {
		return "", withTokenHint(errors.New("claude setup-token printed no token"), `run it yourself, and pass the token with "ralph store-token < FILE"`)
	}
	return found.Reveal(), nil
}

// runOnTerminal connects a program with the user's terminal by way of screen. It
// starts in an empty folder: programs obey settings in the current one, which
// may be of a project that nobody trusts yet.
func runOnTerminal(ctx context.Context, cmd *exec.Cmd, in *os.File, screen io.Writer) error {
	empty, err := os.MkdirTemp("", "ralph-set-up-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(empty) }()
	cmd.Dir = empty
	// A program that is asked to end, rather than killed, leaves the screen tidy.
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = lastWords
	size := &pty.Winsize{Rows: 40, Cols: wideTerminal}
	if now, err := terminalSize(in); err == nil {
		size.Rows = now.Rows
	}
	terminal, err := pty.StartWithSize(cmd, size)
	if err != nil {
		return err
	}
	defer terminal.Close()
	state, err := term.MakeRaw(int(in.Fd()))
	if err == nil {
		defer func() { _ = term.Restore(int(in.Fd()), state) }()
	}
	go func() { _, _ = io.Copy(terminal, in) }() // ends with ralph: nothing reads the keys after it
	shown := make(chan struct{})
	go func() {
		defer close(shown)
		_, _ = io.Copy(screen, terminal) // ends with an error when the other side closes
	}()
	err = cmd.Wait()
	select {
	case <-shown:
	case <-time.After(lastWords): // a child that goes on keeps the other side open
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// promptSecret reads a line that is not shown. Echo is off before the question
// is there to be answered.
func promptSecret(ctx context.Context, w World, in *os.File, question string) (string, error) {
	state, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return "", err
	}
	defer func() {
		_ = term.Restore(int(in.Fd()), state)
		fmt.Fprintln(w.Err)
	}()
	type answer struct {
		text string
		err  error
	}
	answered := make(chan answer, 1)
	go func() {
		line := term.NewTerminal(struct {
			io.Reader
			io.Writer
		}{in, w.Err}, "")
		text, err := line.ReadPassword("ralph: " + question + " (it is not shown): ")
		answered <- answer{text, err}
	}()
	select {
	case a := <-answered:
		if errors.Is(a.err, io.EOF) {
			a.err = context.Canceled // Ctrl-C, or Ctrl-D
		}
		return a.text, a.err
	case <-ctx.Done(): // reading goes on until ralph ends
		return "", ctx.Err()
	}
}
