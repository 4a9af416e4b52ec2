package git_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agent-loop/ralph/internal/git"
)

// pushRig is a rig with a remote and something to push.
func pushRig(t *testing.T) (r *rig, remote, tip string) {
	t.Helper()
	r = newRig(t)
	tip = r.work(`echo agent >agent`)
	remote = filepath.Join(t.TempDir(), "remote.git")
	r.sh(r.user, `git init -q --bare -b main `+remote+` && git remote add origin `+remote+` && git push -q origin main`)
	return r, remote, tip
}

func (r *rig) push(o git.Push) error {
	r.t.Helper()
	if o.Remote == "" {
		o.Remote = "origin"
	}
	if o.Branch == "" {
		o.Branch = branch
	}
	if o.Getenv == nil {
		_, o.Getenv = person(r.t, nil)
	}
	return r.repo.Push(r.ctx(), o)
}

// One branch arrives, at exactly the commit, by whatever the address is.
func TestPush(t *testing.T) {
	for name, address := range map[string]func(remote string) string{
		"path": func(remote string) string { return remote },
		"file": func(remote string) string { return "file://" + remote },
		"with a hook that would run": func(remote string) string {
			must(t, os.WriteFile(filepath.Join(remote, "hooks/update"), []byte("#!/bin/sh\nexit 1\n"), 0o755))
			return remote
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, remote, tip := pushRig(t)
			r.sh(r.user, `git tag v1 `+tip+`; git config push.followTags true; git config remote.origin.url `+address(remote))
			must(t, r.push(git.Push{Commit: tip, Protected: []string{"main", "release/*"}}))
			must(t, r.push(git.Push{Commit: tip})) // again: no harm
			if refs := r.sh(remote, `git for-each-ref --format='%(refname) %(objectname)'`); refs != "refs/heads/main "+r.base+"\nrefs/heads/"+branch+" "+tip {
				t.Errorf("the remote has\n%s", refs)
			}
			if status := r.sh(r.user, `git status --porcelain; ls .git | grep lock || :`); status != "" {
				t.Errorf("git says %s", status)
			}
		})
	}
}

func TestPushGoesToPushURL(t *testing.T) {
	r, remote, tip := pushRig(t)
	r.sh(r.user, `git config remote.origin.url /nowhere; git config remote.origin.pushurl `+remote)
	must(t, r.push(git.Push{Commit: tip}))
	r.sh(remote, `git rev-parse --verify refs/heads/`+branch)
}

func TestPushRefuses(t *testing.T) {
	for name, test := range map[string]struct {
		setup string
		o     git.Push
		why   string
	}{
		"a protected branch":     {o: git.Push{Branch: "release/1", Protected: []string{"main", "release/*"}}, why: "protected"},
		"the default branch":     {o: git.Push{Branch: "main"}, why: "default branch"},
		"a flag for a branch":    {o: git.Push{Branch: "--mirror"}, why: "begins with -"},
		"no remote":              {o: git.Push{Remote: "upstream"}, why: "no address"},
		"a flag for a remote":    {o: git.Push{Remote: "--all"}, why: "cannot be a remote"},
		"several addresses":      {setup: `git config --add remote.origin.url /other`, why: "2 addresses"},
		"several push addresses": {setup: `git config --add remote.origin.pushurl /a; git config --add remote.origin.pushurl /b`, why: "2 addresses"},
		"newer commits there":    {setup: `git switch -q -c x && echo x >x && git add x && git commit -qm x && git push -q origin x:ralph/r1`, why: "commits that this run does not have"},
		"other history there":    {setup: `git switch -q --orphan x && echo x >x && git add x && git commit -qm x && git push -q origin x:ralph/r1; git switch -q main; git branch -D x; git reflog expire --expire=now --all; git gc -q --prune=now`, why: "commits that this run does not have"},
		"a folder beside it":     {setup: `git init -q --bare ../evil.git; git config remote.origin.url ../evil.git`, why: "beside the repository"},
		"the work tree itself":   {setup: `git config remote.origin.url "$PWD"`, why: "itself"},
		"a folder in it":         {setup: `git init -q --bare evil.git; git config remote.origin.url "$PWD/evil.git"`, why: "itself"},
		"one by a link":          {setup: `git init -q --bare evil.git; ln -s "$PWD/evil.git" "$HOME/l"; git config remote.origin.url "$HOME/l"`, why: "itself"},
		"one in a file address":  {setup: `git init -q --bare evil.git; git config remote.origin.url "file://$PWD/%65vil.git"`, why: "itself"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, remote, tip := pushRig(t)
			r.sh(r.user, test.setup)
			before := r.sh(remote, `git for-each-ref`)
			test.o.Commit = tip
			err := r.push(test.o)
			if err == nil || !strings.Contains(err.Error(), test.why) {
				t.Fatalf("got %v", err)
			}
			if after := r.sh(remote, `git for-each-ref`); after != before {
				t.Errorf("the remote had\n%s\nand has\n%s", before, after)
			}
		})
	}
}

// Addresses come from a file that may have come with a download.
func TestPushAddresses(t *testing.T) {
	canary := filepath.Join(t.TempDir(), "ran")
	r, _, tip := pushRig(t)
	for _, address := range []string{
		"", "-x", "--receive-pack=touch " + canary, "ext::sh -c 'touch " + canary + "'", "fd::1", "::x", "a+b::c", "http::https://x/y",
		"ftp://x/y", "rsync://x/y", "git+ssh://x/y", "SSH://x/y", "://x", "file://relative", "file:///%zz",
		"ssh://-oProxyCommand=touch${IFS}" + canary + "/x", "ssh://u@-oProxyCommand=touch/x", "u@-oProxyCommand=touch:x", "-oProxyCommand=x:y", "ssh://", "a\nb",
	} {
		r.sh(r.user, `git config remote.origin.url "$ADDRESS"`, "ADDRESS="+address)
		var refused *git.RefusedError
		if err := r.push(git.Push{Commit: tip}); !errors.As(err, &refused) {
			t.Errorf("%q: got %v", address, err)
		}
	}
	if exists(canary) {
		t.Error("something ran")
	}
}

// The repository's configuration names programs, and so does the tree; none of them
// runs. What the user's own says counts.
func TestPushTrustsTheUserAlone(t *testing.T) {
	r, remote, tip := pushRig(t)
	canary := filepath.Join(t.TempDir(), "ran")
	r.sh(r.user, `printf '#!/bin/sh\ntouch `+canary+`\n' >.git/hooks/pre-push; chmod +x .git/hooks/pre-push; cp .git/hooks/pre-push .git/hooks/reference-transaction
		git config core.sshCommand 'touch `+canary+`; false'; git config credential.helper '!touch `+canary+`'
		git config remote.origin.receivepack 'touch `+canary+`; git-receive-pack'; git config remote.origin.vcs evil
		git config push.recurseSubmodules on-demand; git config remote.origin.mirror true; git config --add remote.origin.push '+refs/*:refs/*'
		git config url.`+remote+`.insteadOf short:; git config remote.origin.url short:`)
	if err := r.push(git.Push{Commit: tip}); err == nil {
		t.Error("an address was rewritten as the repository said")
	}
	_, env := person(t, map[string]string{".gitconfig": "[includeIf \"gitdir:**/user/\"]\n\tpath = more\n", "more": "[url \"" + remote + "\"]\n\tinsteadOf = short:\n"})
	must(t, r.push(git.Push{Commit: tip, Getenv: env}))
	if refs := r.sh(remote, `git for-each-ref --format='%(refname)'`); refs != "refs/heads/main\nrefs/heads/"+branch {
		t.Errorf("the remote has\n%s", refs)
	}
	if exists(canary) {
		t.Error("something ran")
	}
}

// The user's ssh is called as the user says, first to ask for the default branch. There is no ssh server here: a program
// that notes how it was called stands for ssh.
func TestPushCallsTheUsersSSH(t *testing.T) {
	r, _, tip := pushRig(t)
	r.sh(r.user, `git config remote.origin.url u@host.example:repo.git`)
	for name, test := range map[string]struct{ env, config string }{
		"GIT_SSH_COMMAND": {env: "GIT_SSH_COMMAND"}, "GIT_SSH": {env: "GIT_SSH"},
		"core.sshCommand": {config: "core"}, "ssh": {},
	} {
		home, env := person(t, nil)
		program, noted := filepath.Join(home, "ssh"), filepath.Join(home, "noted")
		must(t, os.WriteFile(program, []byte("#!/bin/sh\necho \"$*|$SSH_AUTH_SOCK|$GIT_TERMINAL_PROMPT\" >>"+noted+"\nexit 255\n"), 0o755))
		more := map[string]string{"SSH_AUTH_SOCK": "/sock", "PATH": home + ":" + os.Getenv("PATH")}
		if test.env != "" {
			more[test.env], more["PATH"] = program, os.Getenv("PATH")
		}
		if test.config != "" {
			more["PATH"] = os.Getenv("PATH")
			must(t, os.WriteFile(filepath.Join(home, ".gitconfig"), []byte("[core]\n\tsshCommand = "+program+" -v\n"), 0o600))
		}
		err := r.push(git.Push{Commit: tip, Getenv: with(env, more)})
		said, _ := os.ReadFile(noted)
		if err == nil || !strings.Contains(string(said), "u@host.example git-upload-pack 'repo.git'|/sock|0") {
			t.Errorf("%s: ssh was called with %q, %v", name, said, err)
		}
		if batch := strings.Contains(string(said), "-oBatchMode=yes"); batch != (name == "ssh") {
			t.Errorf("%s: ssh was called with %q", name, said)
		}
	}
}

// A password in an address is not told.
func TestPushHidesPasswords(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	address := closed.Addr().String()
	must(t, closed.Close())
	r, _, tip := pushRig(t)
	r.sh(r.user, `git config remote.origin.url http://user:hunter2@`+address+`/x.git`)
	if err := r.push(git.Push{Commit: tip}); err == nil || strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), "origin") {
		t.Errorf("got %v", err)
	}
}

// A server that says nothing does not keep a push for ever.
func TestPushEnds(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer silent.Close()
	r, _, tip := pushRig(t)
	_, env := person(t, nil)
	for _, protocol := range []string{"git", "http"} {
		r.sh(r.user, `git config remote.origin.url `+protocol+`://`+silent.Addr().String()+`/x.git`)
		ctx, cancel := context.WithTimeout(r.ctx(), time.Second)
		ended := make(chan error, 1)
		go func() {
			ended <- r.repo.Push(ctx, git.Push{Remote: "origin", Branch: branch, Commit: tip, Getenv: env})
		}()
		select {
		case err := <-ended:
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: got %v", protocol, err)
			}
		case <-time.After(30 * time.Second):
			t.Errorf("%s: it does not end", protocol)
		}
		cancel()
	}
}
