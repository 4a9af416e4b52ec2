package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/agent-loop/ralph/internal/git"
	"github.com/agent-loop/ralph/internal/sandbox"
	"github.com/agent-loop/ralph/internal/sandbox/gvisor"
)

// The two places for files in a sandbox.
const (
	mounted = "/work"     // a folder of the host
	own     = "/tmp/tree" // the sandbox's own memory
)

// box is a sandbox with a clone of the host in it.
type box struct {
	*job
	sandbox.Sandbox
}

// newBox starts one. The clone is not in its own file system yet.
func (b *bench) newBox(j *job) (*box, error) {
	state := filepath.Join(b.folder, "state")
	if err := os.MkdirAll(state, 0o711); err != nil {
		return nil, err
	}
	started, err := gvisor.New(state, b.ralph).Create(b.ctx, sandbox.Spec{
		Mounts: []sandbox.Mount{
			{Source: j.clone.Tree, Target: mounted},
			{Source: j.clone.GitDir, Target: git.InsideGitDir},
			{Source: j.store.Objects(), Target: git.InsideObjects, ReadOnly: true},
		},
		Env:     sandbox.BaseEnv(sandbox.NetworkNone),
		Limits:  sandbox.Limits{Memory: 8 << 30, Processes: 4096, Disk: 20 << 30},
		Network: sandbox.NetworkNone,
	})
	return &box{j, started}, err
}

// script runs sh inside.
func (x *box) script(dir, text string, stdin io.Reader, stdout io.Writer) error {
	var stderr bytes.Buffer
	code, err := x.Exec(x.b.ctx, sandbox.Command{Args: []string{"sh", "-ec", text}, Dir: dir, Stdin: stdin, Stdout: stdout, Stderr: &stderr})
	if err == nil && code != 0 {
		err = fmt.Errorf("exit code %d", code)
	}
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", text, err, &stderr)
	}
	return nil
}

// ownGitDir copies the git directory to the sandbox's own file system as well.
const ownGitDir = `rm -rf /tmp/git /tmp/tree; mkdir /tmp/tree; cp -r ` + git.InsideGitDir + ` /tmp/git; echo 'gitdir: /tmp/git' >/tmp/tree/.git; `

// checkOutInside has git inside write the files, from the mounted objects.
func (x *box) checkOutInside() error {
	return x.script("/", ownGitDir+"cd /tmp/tree; git reset -q --hard", nil, nil)
}

// streamIn sends the files in as an archive that the host makes of the objects. git
// inside must then look at all of them once.
func (x *box) streamIn() error {
	archive := plainCommand(x.b.ctx, x.b.user, "git", "archive", "--format=tar", x.b.base)
	files, err := archive.StdoutPipe()
	if err == nil {
		err = archive.Start()
	}
	if err != nil {
		return err
	}
	err = x.script("/", ownGitDir+"cd /tmp/tree; tar -x; git update-index -q --refresh", files, nil)
	return errors.Join(err, archive.Wait())
}
