package config

import (
	"net"
	"net/url"
	"path/filepath"
	"strings"
)

// Notify says how the user is told about runs. All of it is the user's alone: it
// names commands and addresses of the host.
type Notify struct {
	Command []string // run on the host, with the facts as JSON on its standard input
	Webhook string   // an address that gets them; whoever knows it can write there
	Desktop bool
	On      []string // of the words below
}

// What a user can be told about.
const (
	NotifyDone           = "done"
	NotifyNeedsAttention = "needs-attention"
	NotifyError          = "error"
	NotifyLimit          = "limit"
	NotifyStopped        = "stopped"
)

// notifyKeys are the keys of [notify].
func notifyKeys() []field {
	return []field{
		secret(at("notify.command", "a program and its arguments, run on the host", program(),
			func(c *Config) *[]string { return &c.Notify.Command }, usersOnly)),
		secret(at("notify.webhook", "an https address that is posted to", webhook(),
			func(c *Config) *string { return &c.Notify.Webhook }, usersOnly)),
		at("notify.desktop", "a message on the desktop", boolean(),
			func(c *Config) *bool { return &c.Notify.Desktop }, usersOnly),
		at("notify.on", "what to tell", listOf(oneOf(NotifyDone, NotifyNeedsAttention, NotifyError, NotifyLimit, NotifyStopped)),
			func(c *Config) *[]string { return &c.Notify.On }, usersOnly),
	}
}

// program takes a program with its arguments, or an empty list for none.
func program() kind[[]string] {
	k := list(anArgument)
	items := k.read
	k.read = func(v any) ([]string, []complaint) {
		argv, complaints := items(v)
		if len(complaints) == 0 && len(argv) > 0 && strings.TrimSpace(argv[0]) == "" {
			return nil, wrong("the program's name is empty")
		}
		// ralph may run in a folder that agents write to.
		if len(complaints) == 0 && len(argv) > 0 && strings.ContainsAny(argv[0], `/\`) && !filepath.IsAbs(argv[0]) {
			return nil, wrong("the program must be a name on the PATH or an absolute path")
		}
		return argv, complaints
	}
	return k
}

// webhook takes an address, or nothing. It does not repeat the address when it
// complains: most of them are secrets.
func webhook() kind[string] {
	k := text(anyText)
	k.read = func(v any) (string, []complaint) {
		if s, ok := v.(string); ok && (s == "" || isWebhook(s)) {
			return s, nil
		}
		return "", wrong("must be an https address without user and fragment; http is for this machine alone")
	}
	return k
}

// isWebhook takes an address that encrypts, or that is this machine.
func isWebhook(s string) bool {
	u, err := url.Parse(s)
	return err == nil && aName(s) == "" && u.Hostname() != "" && u.User == nil && u.Fragment == "" &&
		(u.Scheme == "https" || (u.Scheme == "http" && isLoopback(u.Hostname())))
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || (ip != nil && ip.IsLoopback())
}
