package cli

import (
	"context"
	"errors"
	"os"

	"golang.org/x/term"

	"github.com/agent-loop/ralph/internal/sandbox"
)

// terminalOf is the terminal that a stream of ours is, if it is one.
func terminalOf(stream any) (*os.File, bool) {
	file, ok := stream.(*os.File)
	return file, ok && term.IsTerminal(int(file.Fd()))
}

// screenWidth is how wide the terminal is that results go to; 0 for no terminal.
func (w World) screenWidth() int {
	out, ok := terminalOf(w.Out)
	if !ok {
		return 0
	}
	columns, _, err := term.GetSize(int(out.Fd()))
	if err != nil {
		return 0
	}
	return columns
}

// ourTerminal is the terminal that the user sits at.
func ourTerminal(w World) (*os.File, error) {
	in, ok := terminalOf(w.In)
	if !ok {
		return nil, usageError{errors.New("--tty needs a terminal, and the input is none"), "leave out -t when input is piped"}
	}
	return in, nil
}

// useTerminal gives cmd a terminal the size of ours and passes keys through as
// they are typed. The returned function gives our terminal back.
func useTerminal(ctx context.Context, w World, cmd *sandbox.Command) (restore func(), err error) {
	in, err := ourTerminal(w)
	if err != nil {
		return nil, err
	}
	size, err := terminalSize(in)
	if err != nil {
		return nil, err
	}
	resize, stop := watchSize(ctx, in)
	cmd.Terminal = &sandbox.Terminal{Size: size, Resize: resize}
	state, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		stop()
		return nil, err
	}
	return func() {
		stop()
		_ = term.Restore(int(in.Fd()), state)
	}, nil
}

func terminalSize(f *os.File) (sandbox.TerminalSize, error) {
	cols, rows, err := term.GetSize(int(f.Fd()))
	return sandbox.TerminalSize{Rows: uint16(rows), Cols: uint16(cols)}, err
}
