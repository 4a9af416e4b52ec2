package notify

import (
	"context"
	"fmt"
	"os/exec"
	"runtime"
	"strings"
)

// maxDesktop is how many characters of details a note shows: desktops cut at about
// this length anyway.
const maxDesktop = 400

type desktop struct {
	run      func(ctx context.Context, name string, args ...string) error
	lookPath func(string) (string, error)
	tool     tool
}

// tool is the program of a system that shows notes.
type tool struct {
	name    string
	install string // what to do if it is missing
	args    func(title, body string, urgent bool) []string
}

// Desktop is the channel "desktop": a note on the screen, by the program that the
// system goos has for it. No text passes through a shell or becomes part of a
// script. What is nil or empty is the real thing: programs run and found here, and
// this system.
func Desktop(
	run func(ctx context.Context, name string, args ...string) error,
	lookPath func(string) (string, error),
	goos string,
) Channel {
	if run == nil {
		run = runProgram
	}
	if lookPath == nil {
		lookPath = exec.LookPath
	}
	if goos == "" {
		goos = runtime.GOOS
	}
	return &desktop{run: run, lookPath: lookPath, tool: toolOf(goos)}
}

func (d *desktop) Name() string { return "desktop" }

// Send shows the message; one that asks something stays until it is seen, where
// the desktop can do that.
func (d *desktop) Send(ctx context.Context, m Message) error {
	m = m.clean()
	path, err := d.lookPath(d.tool.name)
	if err != nil {
		return fmt.Errorf("%s is not installed; %s: %w", d.tool.name, d.tool.install, err)
	}
	body := shorten(strings.Join(m.details(), "\n"), maxDesktop)
	if err := d.run(ctx, path, d.tool.args(m.title(), body, m.Question != "")...); err != nil {
		return fmt.Errorf("showing a note on the desktop: %w", err)
	}
	return nil
}

func runProgram(ctx context.Context, name string, args ...string) error {
	return runToEnd(ctx, exec.CommandContext(ctx, name, args...))
}

// toolOf takes every system that it does not know for one with a free desktop.
func toolOf(goos string) tool {
	switch goos {
	case "darwin":
		return tool{"osascript", "it is part of macOS, in /usr/bin", appleArgs}
	case "windows":
		return tool{"powershell", "it is part of Windows, as Windows PowerShell 5.1", powershellArgs}
	}
	return tool{"notify-send", "install libnotify-bin (Debian, Ubuntu) or libnotify (Fedora, Arch)", freedesktopArgs}
}

// markup makes plain text of what notify-send and the desktop behind it would
// read: the desktop takes HTML tags, also pictures and links, and notify-send
// turns backslash escapes into any byte.
var markup = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `\`, `\\`)

func freedesktopArgs(title, body string, urgent bool) []string {
	urgency := "--urgency=normal"
	if urgent {
		urgency = "--urgency=critical"
	}
	return []string{"--app-name=ralph", urgency, "--", title, markup.Replace(body)}
}

// appleArgs gives the texts to a fixed script as its arguments. The title begins
// with no dash, which ends osascript's options.
func appleArgs(title, body string, _ bool) []string {
	return []string{
		"-e", "on run argv",
		"-e", "display notification (item 2 of argv) with title (item 1 of argv)",
		"-e", "end run",
		title, body,
	}
}
