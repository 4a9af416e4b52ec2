package git

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Push asks for a commit to be sent to a remote.
type Push struct {
	Remote    string // its name in the repository
	Branch    string // there
	Commit    string // the whole name
	Protected []string
	Getenv    func(string) string // the user's environment
}

const pushTimeout = 2 * time.Minute

// Push sends one commit to one branch of a remote: never by force, never to a
// protected branch or the remote's default one. It acts for the user, in the user's
// world: with the user's own configuration, credentials and ssh. The repository's
// configuration says where the remote is, and nothing else; its hooks do not run.
// Nobody is asked for a password.
func (r *Repository) Push(ctx context.Context, o Push) error {
	if err := CheckBranch(o.Branch); err != nil {
		return err
	}
	if !isObjectName(o.Commit, r.Format) {
		return fmt.Errorf("pushing: %q is no commit", o.Commit)
	}
	if MatchBranch(o.Protected, o.Branch) {
		return refuse("the branch "+o.Branch, "it is protected: ralph does not push to it", "push to a branch of the run's own")
	}
	address, err := r.remoteAddress(ctx, o.Remote)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, pushTimeout, fmt.Errorf("pushing took longer than %v", pushTimeout))
	defer cancel()
	return r.with(func(v *view) error {
		user, err := v.userConfig(ctx, o.Getenv)
		if err != nil {
			return err
		}
		env, err := user.pushEnv(ctx, o.Getenv)
		if err != nil {
			return err
		}
		if err := v.checkDefault(ctx, o, address, env); err != nil {
			return err
		}
		return v.push(ctx, o, address, env)
	})
}

// checkDefault refuses the remote's default branch, as the remote itself says.
func (v *view) checkDefault(ctx context.Context, o Push, address string, env []string) error {
	c := v.call("ls-remote", "--symref", "--", address, "HEAD")
	c.env = env
	said, err := v.printed(ctx, c)
	if err != nil {
		return pushFailed(o, address, said, err)
	}
	if strings.HasPrefix(said, "ref: refs/heads/"+o.Branch+"\t") {
		return refuse("the branch "+o.Branch, "it is the default branch of "+o.Remote+": ralph does not push to it", "push to a branch of the run's own")
	}
	return nil
}

// push runs the git that pushes.
func (v *view) push(ctx context.Context, o Push, address string, env []string) error {
	c := v.call("push", "--porcelain", "--no-verify", "--no-follow-tags", "--recurse-submodules=no", "--receive-pack="+receiver(address), "--", address, o.Commit+":refs/heads/"+o.Branch)
	c.env = env
	said, err := v.printed(ctx, c)
	if err != nil {
		return pushFailed(o, address, said, err)
	}
	return nil
}

// receiver is the program that takes the commits. That of a folder runs here, where
// its hooks would, too.
func receiver(address string) string {
	if filepath.IsAbs(address) || strings.HasPrefix(address, "file://") {
		return "git -c core.hooksPath=" + os.DevNull + " -c receive.autogc=false receive-pack"
	}
	return "git-receive-pack"
}

// printed runs git and returns what it printed, also when it failed.
func (v *view) printed(ctx context.Context, c call) (string, error) {
	out := &limited{most: maxStderr}
	c.stdout = out
	err := v.git.run(ctx, c)
	return out.buffer.String(), err
}

// pushFailed says what went wrong. An address may hold a password.
func pushFailed(o Push, address, said string, err error) error {
	var failed *CommandError
	if !errors.As(err, &failed) {
		return fmt.Errorf("pushing to %s: %w", o.Remote, err)
	}
	for line := range strings.Lines(said) {
		status, rest, _ := strings.Cut(strings.TrimSpace(line), "\t")
		_, reason, _ := strings.Cut(rest, "\t")
		switch {
		case status != "!":
		case strings.HasPrefix(reason, "[rejected]"):
			return refuse("the branch "+o.Branch+" of "+o.Remote, "it has commits that this run does not have", "git fetch "+o.Remote+" and look at them, or push to another branch")
		default:
			return refuse("the branch "+o.Branch+" of "+o.Remote, "the remote refused it: "+plainLine(withoutPassword(reason, address)), "see what the remote asks for")
		}
	}
	text := strings.Join(strings.Fields(plain(withoutPassword(failed.Stderr, address))), " ")
	return fmt.Errorf("pushing to %s: %s", o.Remote, text)
}

// withoutPassword is a text in which the user and password of an address are left out.
func withoutPassword(text, address string) string {
	if _, rest, ok := strings.Cut(address, "://"); ok {
		host, _, _ := strings.Cut(rest, "/")
		if i := strings.LastIndex(host, "@"); i > 0 {
			text = strings.ReplaceAll(text, host[:i+1], "")
		}
	}
	if u, err := url.Parse(address); err == nil && u.User != nil {
		if password, ok := u.User.Password(); ok && password != "" {
			text = strings.ReplaceAll(text, password, "***")
		}
	}
	return text
}

// pushEnv opens the closed environment as far as a push needs it: the user's
// configuration, keys, proxies and helpers, and the protocols that reach another
// machine or folder.
func (u *userConfig) pushEnv(ctx context.Context, getenv func(string) string) ([]string, error) {
	ssh, err := u.sshCommand(ctx, getenv)
	if err != nil {
		return nil, err
	}
	env := taken(getenv, "PATH", "USER", "LOGNAME", "TMPDIR", "SSH_AUTH_SOCK", "SSH_AGENT_PID", "GIT_SSH_VARIANT",
		"XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS", "GNUPGHOME",
		"http_proxy", "https_proxy", "all_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY",
		"SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH", "GIT_SSL_CERT", "GIT_SSL_KEY",
		"GH_TOKEN", "GITHUB_TOKEN", "GH_CONFIG_DIR", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "COMSPEC")
	config := append(closedConfig(),
		[2]string{"push.recurseSubmodules", "no"}, [2]string{"push.default", "nothing"},
		// A server that says nothing is given up before the time is over.
		[2]string{"http.lowSpeedLimit", "1"}, [2]string{"http.lowSpeedTime", "60"},
	)
	return slices.Concat(configEnv(config), env, u.env, []string{
		"GIT_CONFIG_GLOBAL=" + u.file,
		"GIT_ALLOW_PROTOCOL=" + strings.Join(protocols(), ":"),
		"GIT_SSH_COMMAND=" + ssh,
		"GIT_ASKPASS=" + getenv("GIT_ASKPASS"), "SSH_ASKPASS_REQUIRE=never",
	}), nil
}

// sshCommand is how the user calls ssh. Ours asks nothing.
func (u *userConfig) sshCommand(ctx context.Context, getenv func(string) string) (string, error) {
	if command := getenv("GIT_SSH_COMMAND"); command != "" {
		return command, nil
	}
	if program := getenv("GIT_SSH"); program != "" {
		return "'" + strings.ReplaceAll(program, "'", `'\''`) + "'", nil
	}
	command, err := u.get(ctx, "core.sshCommand")
	if command == "" {
		command = "ssh -oBatchMode=yes -oConnectTimeout=30"
	}
	return command, err
}
