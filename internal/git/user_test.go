package git_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-loop/ralph/internal/git"
)

// person is somebody with a home, where files are.
func person(t *testing.T, files map[string]string) (home string, getenv func(string) string) {
	t.Helper()
	home = t.TempDir()
	for name, text := range files {
		file := filepath.Join(home, name)
		must(t, os.MkdirAll(filepath.Dir(file), 0o755))
		must(t, os.WriteFile(file, []byte(text), 0o600))
	}
	env := map[string]string{"HOME": home, "PATH": os.Getenv("PATH"), "GIT_CONFIG_NOSYSTEM": "1"}
	return home, func(name string) string { return env[name] }
}

// with adds variables to an environment.
func with(getenv func(string) string, more map[string]string) func(string) string {
	return func(name string) string {
		if value, ok := more[name]; ok {
			return value
		}
		return getenv(name)
	}
}

// An identity is found where git finds it, and in the same order.
func TestUserIdentity(t *testing.T) {
	const global = "[user]\n\tname = Global\n\temail = g@example.com\n"
	for name, test := range map[string]struct {
		files map[string]string
		env   map[string]string
		repo  string
		want  string
	}{
		"the user's file":       {files: map[string]string{".gitconfig": global}, want: "Global <g@example.com>"},
		"the other place":       {files: map[string]string{".config/git/config": global}, want: "Global <g@example.com>"},
		"both places":           {files: map[string]string{".config/git/config": global, ".gitconfig": "[user]\n\tname = Last\n"}, want: "Last <g@example.com>"},
		"an included file":      {files: map[string]string{".gitconfig": "[include]\n\tpath = more\n", "more": global}, want: "Global <g@example.com>"},
		"for this folder only":  {files: map[string]string{".gitconfig": global + "[includeIf \"gitdir:**/user/\"]\n\tpath = ~/work\n", "work": "[user]\n\temail = w@example.com\n"}, want: "Global <w@example.com>"},
		"for another folder":    {files: map[string]string{".gitconfig": global + "[includeIf \"gitdir:**/elsewhere/\"]\n\tpath = ~/work\n", "work": "[user]\n\temail = w@example.com\n"}, want: "Global <g@example.com>"},
		"for this branch only":  {files: map[string]string{".gitconfig": global + "[includeIf \"onbranch:main\"]\n\tpath = ~/work\n", "work": "[user]\n\temail = w@example.com\n"}, want: "Global <w@example.com>"},
		"the repository's":      {files: map[string]string{".gitconfig": global}, repo: `git config user.email r@example.com`, want: "Global <r@example.com>"},
		"the environment's":     {files: map[string]string{".gitconfig": global}, repo: `git config user.email r@example.com`, env: map[string]string{"GIT_AUTHOR_EMAIL": "e@example.com"}, want: "Global <e@example.com>"},
		"a named file":          {files: map[string]string{".gitconfig": "[user]\n\tname = No\n\temail = no@example.com\n", "named": global}, env: map[string]string{"GIT_CONFIG_GLOBAL": "named"}, want: "Global <g@example.com>"},
		"the machine's":         {files: map[string]string{"system": global}, env: map[string]string{"GIT_CONFIG_NOSYSTEM": "", "GIT_CONFIG_SYSTEM": "system"}, want: "Global <g@example.com>"},
		"nobody":                {want: "user.name"},
		"a name and no address": {files: map[string]string{".gitconfig": "[user]\n\tname = Half\n"}, want: "user.email"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, test.repo)
			home, env := person(t, test.files)
			for _, key := range []string{"GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"} {
				if file, ok := test.env[key]; ok {
					test.env[key] = filepath.Join(home, file)
				}
			}
			who, err := r.repo.UserIdentity(r.ctx(), with(env, test.env))
			var refused *git.RefusedError
			switch {
			case errors.As(err, &refused):
				if !strings.Contains(refused.Why, test.want) || !strings.Contains(refused.Hint(), "git config --global "+test.want) {
					t.Errorf("got %v", err)
				}
			case err != nil:
				t.Error(err)
			case who.Name+" <"+who.Email+">" != test.want:
				t.Errorf("got %+v", who)
			}
		})
	}
}

// How to sign is for the user to say, not for the repository.
func TestUserSigner(t *testing.T) {
	r := newRig(t, `git config user.signingKey theirs; git config gpg.program evil; git config gpg.ssh.program evil; git config gpg.format ssh`)
	_, env := person(t, map[string]string{".gitconfig": "[user]\n\tsigningKey = mine\n[gpg]\n\tprogram = gpg2\n"})
	signer, err := r.repo.UserSigner(r.ctx(), with(env, map[string]string{"SSH_AUTH_SOCK": "/sock", "AWS_SECRET": "no"}))
	must(t, err)
	config, env2 := "", strings.Join(signer.Env, " ")
	for _, setting := range signer.Config {
		config += setting[0] + "=" + setting[1] + " "
	}
	if config != "gpg.program=gpg2 user.signingKey=mine " || !strings.Contains(env2, "SSH_AUTH_SOCK=/sock") || strings.Contains(env2, "AWS") {
		t.Errorf("got %s, %s", config, env2)
	}
	for text, why := range map[string]string{"": "user.signingKey", "[gpg]\n\tformat = ssh\n": "user.signingKey", "[gpg]\n\tformat = wax\n": "wax"} {
		_, env := person(t, map[string]string{".gitconfig": text})
		var refused *git.RefusedError
		if got, err := r.repo.UserSigner(r.ctx(), env); got != nil || !errors.As(err, &refused) || !strings.Contains(refused.Why, why) {
			t.Errorf("%q: got %v, %v", text, got, err)
		}
	}
}

// signs imports and merges with a person's signature and has plain git check both.
func signs(t *testing.T, home string, env func(string) string) {
	t.Helper()
	r := newRig(t)
	signer, err := r.repo.UserSigner(r.ctx(), env)
	must(t, err)
	r.store.Sign = signer
	tip := r.work(`echo one >one && git add -A && git commit -qm One && echo two >two`)
	r.sh(r.user, `echo mine >mine; git add mine; git commit -qm mine`)
	merged := r.mustApply(git.Apply{Commit: tip, Signer: signer, Getenv: with(env, map[string]string{"GIT_AUTHOR_NAME": "User", "GIT_AUTHOR_EMAIL": "u@example.com"})})
	r.sh(r.user, `git verify-commit `+tip+` `+tip+`^ `+merged.To+`; ! git verify-commit `+merged.To+`^1`, "HOME="+home)
	r.clean(r.user)
}

func TestSignsWithSSH(t *testing.T) {
	if _, err := exec.LookPath("ssh-keygen"); err != nil {
		t.Skip("ssh-keygen is not installed")
	}
	home, env := person(t, map[string]string{".gitconfig": "[gpg]\n\tformat = ssh\n[gpg \"ssh\"]\n\tallowedSignersFile = ~/allowed\n[user]\n\tsigningKey = ~/key.pub\n"})
	out, err := exec.CommandContext(t.Context(), "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "test", "-f", filepath.Join(home, "key")).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	public, err := os.ReadFile(filepath.Join(home, "key.pub"))
	must(t, err)
	must(t, os.WriteFile(filepath.Join(home, "allowed"), append([]byte("* "), public...), 0o600))
	signs(t, home, env)
}

func TestSignsWithGPG(t *testing.T) {
	if _, err := exec.LookPath("gpg"); err != nil {
		t.Skip("gpg is not installed")
	}
	home, env := person(t, map[string]string{".gitconfig": "[user]\n\tsigningKey = user@example.com\n"})
	run := func(program string, args ...string) {
		cmd := exec.CommandContext(t.Context(), program, args...)
		cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Run(); err != nil {
			t.Skipf("%s does not work here: %v: %s", program, err, out.String())
		}
	}
	must(t, os.Mkdir(filepath.Join(home, ".gnupg"), 0o700))
	run("gpg", "--batch", "--passphrase", "", "--quick-generate-key", "User <user@example.com>", "ed25519", "sign", "never")
	defer run("gpgconf", "--kill", "all")
	signs(t, home, env)
}
