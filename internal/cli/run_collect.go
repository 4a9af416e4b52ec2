package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/agent-loop/ralph/internal/config"
	"github.com/agent-loop/ralph/internal/git"
	"github.com/agent-loop/ralph/internal/loop"
	"github.com/agent-loop/ralph/internal/rundir"
	"github.com/agent-loop/ralph/internal/sandbox"
	"github.com/agent-loop/ralph/internal/wholefile"
)

// collectTimeout bounds what git does inside to bring the work of an iteration out.
const collectTimeout = 5 * time.Minute

// Collect is part of loop.Git.
func (g *runGit) Collect(ctx context.Context, box sandbox.Sandbox, work loop.Work) (rundir.Import, error) {
	told := rundir.Import{Branch: g.store.Branch}
	file, err := os.CreateTemp(g.store.Dir, "incoming-*.bundle")
	if err != nil {
		return told, fmt.Errorf("making room for the commits: %w", err)
	}
	defer func() {
		file.Close()
		_ = os.Remove(file.Name())
	}()
	left, err := g.room()
	if err != nil {
		return told, err
	}
	sent := &capped{to: file, left: left}
	told.Refused, err = g.bringOut(ctx, box, work, sent)
	told.Bytes = sent.written
	if late := g.receive(sent.written); late != nil {
		return told, errors.Join(err, late)
	}
	if told.Refused != "" || err != nil {
		return told, err
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return told, err
	}
	obeys, err := g.plan.world.hostObeys(ctx, g.plan.config, g.plan.repo)
	if err != nil {
		return told, err
	}
	found, err := g.store.Import(ctx, file, work.Iteration, obeys)
	var bad *git.BadImportError
	if errors.As(err, &bad) {
		told.Refused = bad.Error()
		return told, nil
	}
	if err != nil {
		return told, err
	}
	told.From, told.To, told.Commits, told.Files = found.From, found.To, found.Commits, found.Files
	told.Rewritten, told.Protected, told.Links, told.Held = found.Rewritten, found.Protected, found.Links, found.Held
	return told, g.showWorktree(ctx, found)
}

// bringOut has git inside write what is new.
func (g *runGit) bringOut(ctx context.Context, box sandbox.Sandbox, work loop.Work, to *capped) (refused string, err error) {
	since, err := g.store.SandboxTip(ctx)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, collectTimeout)
	defer cancel()
	said, mask := &tail{}, g.plan.masker.MaskString
	code, err := box.Exec(ctx, sandbox.Command{
		Args: g.store.Collect(since, g.plan.config.Git.Commit == config.CommitAuto), Env: g.collectEnv(), Dir: g.plan.repo.Top,
		Stdin: strings.NewReader(g.store.Message(work.Iteration, mask(work.Subject), mask(work.Body))), Stdout: to, Stderr: said,
	})
	switch {
	case to.over:
		return fmt.Sprintf("the commits cannot be taken: they have more than %s, or all of the run more than %d times as much; git.max_import says how much there may be", config.FormatSize(g.plan.config.Git.MaxImport), maxImports), nil
	case err != nil:
		return "", err
	case code == 127:
		return "", usageError{errors.New("there is no git in the sandbox"), "install it below /usr or in the root file system, or use --work in-place without a repository"}
	case code != 0:
		g.broken = true
		return "", fmt.Errorf("%w: exit code %d: %s", loop.ErrBroken, code, said.line())
	}
	return "", nil
}

func (g *runGit) collectEnv() []string {
	if g.plan.inside() {
		return append(g.store.CollectEnv(), insideEnv(g.plan.repo.Top)...)
	}
	return g.store.CollectEnv()
}

// maxImports is how often a run may bring as much as one import may be: what an agent
// makes and drops again stays in the repository for a while.
const maxImports = 8

// room is how many bytes may still come in.
func (g *runGit) room() (int64, error) {
	received, err := g.received()
	if err != nil {
		return 0, err
	}
	most := g.plan.config.Git.MaxImport
	return max(0, min(most, maxImports*most-received)), nil
}

// receive notes how many bytes came in.
func (g *runGit) receive(bytes int64) error {
	received, err := g.received()
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(g.store.Dir)
	if err != nil {
		return err
	}
	defer root.Close()
	return wholefile.Replace(root, receivedFile, strconv.AppendInt(nil, received+bytes, 10), 0o600)
}

// received is how many bytes have come in so far.
func (g *runGit) received() (int64, error) {
	text, err := os.ReadFile(filepath.Join(g.store.Dir, receivedFile))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(string(text), 10, 64)
}

// receivedFile is where that is kept, in the run's repository.
const receivedFile = "received"

// showWorktree brings the checkout that the user opens up to date. What the user did
// there stays; the branch has the work anyway.
func (g *runGit) showWorktree(ctx context.Context, found git.Import) error {
	if g.plan.spec.Git.Workspace != config.WorkspaceWorktree {
		return nil
	}
	dir := git.WorktreePath(g.plan.repo.Top, g.store.Branch)
	if len(found.Protected) > 0 {
		return g.run.Append(rundir.EventNote, 0, rundir.Note{Text: fmt.Sprintf("%s stays as it is: the work changes files that programs of yours obey, such as %s; see ralph diff", dir, found.Protected[0])})
	}
	err := g.store.Worktree(ctx, dir, found.To)
	var refused *git.RefusedError
	if errors.As(err, &refused) {
		return g.run.Append(rundir.EventNote, 0, rundir.Note{Text: refused.Error()})
	}
	return err
}

// capped passes on as much as it may.
type capped struct {
	to      io.Writer
	left    int64
	written int64
	over    bool
}

func (c *capped) Write(data []byte) (int, error) {
	if int64(len(data)) > c.left {
		c.over = true
		return 0, errors.New("too much")
	}
	n, err := c.to.Write(data)
	c.left, c.written = c.left-int64(n), c.written+int64(n)
	return n, err
}

// tail keeps the end of what is written to it.
type tail struct{ text []byte }

const maxTail = 2 << 10

func (t *tail) Write(data []byte) (int, error) {
	t.text = append(t.text, data...)
	if over := len(t.text) - maxTail; over > 0 {
		t.text = append(t.text[:0], t.text[over:]...)
	}
	return len(data), nil
}

// line is the last line that says something.
func (t *tail) line() string {
	lines := strings.Split(strings.TrimSpace(strings.ToValidUTF8(string(t.text), "")), "\n")
	return visible(lines[len(lines)-1])
}
