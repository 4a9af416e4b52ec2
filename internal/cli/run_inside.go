package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/agent-loop/ralph/internal/config"
	"github.com/agent-loop/ralph/internal/git"
	"github.com/agent-loop/ralph/internal/loop"
	"github.com/agent-loop/ralph/internal/rundir"
	"github.com/agent-loop/ralph/internal/sandbox"
)

// The files of a clone can be in the sandbox's own file system, which some engines
// make much faster than a folder of the host. The git directory stays a folder of the
// run. A sandbox is entered: git inside writes the files of the index, and what was
// kept is unpacked over them. It is left before it is closed: what git does not have
// is packed, inside, and kept by the host as bytes that it never looks into.

// Files of a run whose clone has its files inside.
const (
	keptFile    = "kept.tar" // what was not in git when the last sandbox was left
	filesFolder = "files"    // task file and progress, as the loop knows them
)

const (
	enterTimeout = 5 * time.Minute
	// leaveTimeout is shorter than "ralph stop" waits.
	leaveTimeout = 90 * time.Second
	// maxKept is what is kept at most where the disk of a sandbox is not limited.
	maxKept = 4 << 30
)

// inside is the clone of a run whose files are in the sandbox's own file system.
type inside struct {
	work  *runGit
	files *mirror
	whole bool // what is kept is all files: the git directory was broken
}

// inside tells whether the files of the run's clone are in the sandbox's own file
// system.
func (p *plan) inside() bool {
	return p.spec.Git != nil && p.spec.Git.Checkout == config.CheckoutInside
}

// chooseCheckout decides where the files of a new run's clone are.
func (p *plan) chooseCheckout() error {
	wanted := p.config.Git.Checkout
	switch {
	case p.inPlace() && wanted == config.CheckoutInside:
		return usageError{
			errors.New("only a clone can have its files inside the sandbox, and this run works on files as they are"),
			"leave out --checkout and git.checkout, or let it work on a clone: --work clone",
		}
	case p.inPlace(), wanted == config.CheckoutFolder:
		return nil
	case wanted == config.CheckoutAuto && (!p.info.OwnFiles || !p.info.PrefersOwnFiles):
		return nil
	}
	p.spec.Git.Checkout = config.CheckoutInside
	return nil
}

// launchInside starts a sandbox and enters it. What an agent did to its git directory,
// or what was kept, can be why that fails: then the one is made anew, and at last the
// other is given up.
func (l *launcher) launchInside(ctx context.Context) (sandbox.Sandbox, rundir.Launch, error) {
	in := l.work.inside
	mends := []func() error{in.makeAnew, in.giveUp}
	for attempt := 0; ; attempt++ {
		box, audit, err := l.create(ctx)
		if err != nil {
			return nil, audit, err
		}
		err = in.enter(ctx, box)
		if err == nil {
			return &insideBox{Sandbox: box, leave: in.leave}, audit, nil
		}
		err = errors.Join(err, box.Close())
		if errors.As(err, new(usageError)) || ctx.Err() != nil || attempt == len(mends) {
			return nil, audit, err
		}
		if err := errors.Join(in.note("the clone cannot be brought into a sandbox: %v", err), mends[attempt]()); err != nil {
			return nil, audit, err
		}
	}
}

func (in *inside) makeAnew() error {
	in.work.broken = true
	return nil
}

func (in *inside) giveUp() error {
	in.work.broken, in.whole = true, false
	return errors.Join(os.RemoveAll(in.path(keptFile)), in.note("what the agent had not committed is given up"))
}

func (in *inside) path(name string) string { return filepath.Join(in.work.run.Path(), name) }

func (in *inside) note(format string, args ...any) error {
	return in.work.run.Append(rundir.EventNote, 0, rundir.Note{Text: fmt.Sprintf(format, args...)})
}

// command is a script that is run at the top of the clone, with our git directory
// whatever the agent has put there.
func (in *inside) command(script, mode string) sandbox.Command {
	p := in.work.plan
	return sandbox.Command{
		Args: []string{"sh", "-c", script, "sh", p.repo.Top, p.spec.Project, mode},
		Env:  append(in.work.store.CollectEnv(), insideEnv(p.repo.Top)...), Dir: "/",
	}
}

// insideEnv leads git to the private git directory. The .git file does as well, but in
// the sandbox's own file system an agent can put anything in its place.
func insideEnv(top string) []string {
	return []string{"GIT_DIR=" + git.InsideGitDir, "GIT_WORK_TREE=" + top}
}

// wholeMode is when the files are not those of an index and what was kept beside it,
// but all in what was kept.
const wholeMode = "whole"

func (in *inside) mode(whole bool) string {
	if whole {
		return wholeMode
	}
	return ""
}

// fingerprint is what an index says, apart from times.
const fingerprint = `fingerprint() {
	git ls-files -s -z >/dev/null && git ls-files -s -z | git hash-object --stdin
}
`

// enterScript fills the empty folder at the clone's place. What was kept beside the
// same index goes over the files of that index; what was kept beside another one is
// older than some commits, and those win. Locks are those of processes that are gone.
const enterScript = fingerprint + `unpack() {
	tar -xpf - || [ $? -le 2 ] # something could not be
}
set -eu
top=$1 start=$2 mode=$3
command -v git >/dev/null && command -v tar >/dev/null || exit 127
cd "$top"
rm -f "$GIT_DIR"/*.lock
kept=
IFS= read -r kept || :
index=$(fingerprint) || index=
if [ "$kept" = whole ] && { [ "$mode" = whole ] || [ -z "$index" ]; }; then
	unpack
elif [ -z "$index" ]; then
	exit 1
elif [ -z "$kept" ]; then
	git checkout-index -a -f -q -u
elif [ "$kept" = "$index" ]; then
	git checkout-index -a -f -q -u
	[ ! -f "$GIT_DIR/ralph-deleted" ] || xargs -0 rm -f -- <"$GIT_DIR/ralph-deleted"
	unpack
else
	unpack
	git checkout-index -a -f -q -u
fi
rm -rf .git
echo "gitdir: $GIT_DIR" >.git
mkdir -p "$start"
`

// enter fills a sandbox that was just started.
func (in *inside) enter(ctx context.Context, box sandbox.Sandbox) error {
	ctx, cancel := context.WithTimeout(ctx, enterTimeout)
	defer cancel()
	said := &tail{}
	cmd := in.command(enterScript, in.mode(in.whole))
	cmd.Stderr = said
	kept, err := os.Open(in.path(keptFile))
	switch {
	case err == nil:
		defer kept.Close()
		cmd.Stdin = kept
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("reading what was kept: %w", err)
	}
	code, err := box.Exec(ctx, cmd)
	switch {
	case err != nil:
		return fmt.Errorf("filling the sandbox: %w", err)
	case code == 127:
		return usageError{errors.New("there is no git or no tar in the sandbox"), "install them below /usr or in the root file system, or use --checkout folder"}
	case code != 0:
		return fmt.Errorf("filling the sandbox: exit code %d: %s", code, said.line())
	}
	if err := in.files.settle(ctx, box); err != nil {
		return fmt.Errorf("filling the sandbox: %w", err)
	}
	in.whole = false
	return nil
}

// leaveScript prints what the index says, and an archive of what is not in it. Files
// that tar cannot read are left out.
const leaveScript = fingerprint + `set -eu
top=$1 mode=$3
chmod u+rwx "$top"
cd "$top"
rm -f "$GIT_DIR"/*.lock
index=
[ "$mode" = whole ] || index=$(fingerprint) || index=
if [ -z "$index" ]; then
	echo whole
	tar -cf - . || [ $? -le 2 ]
	exit
fi
git update-index -q --refresh >/dev/null 2>&1 || :
git diff-files -z --name-only --diff-filter=D >"$GIT_DIR/ralph-deleted"
echo "$index"
{ git ls-files -z -o; git diff-files -z --name-only --diff-filter=d; } | tar -cf - --null -T - || [ $? -le 2 ]
`

// leave keeps what a sandbox has that git has not, before it is closed. What cannot
// be kept is lost, and the run goes on.
func (in *inside) leave(box sandbox.Sandbox) error {
	ctx, cancel := context.WithTimeout(context.Background(), leaveTimeout)
	defer cancel()
	whole := in.work.broken
	_, err := box.Exec(ctx, loop.EndAll())
	if err == nil {
		err = errors.Join(in.files.Fetch(ctx, box), in.keep(ctx, box, whole))
	}
	if err != nil {
		return in.note("not all is kept that the agent had not committed: %v", err)
	}
	in.whole = whole
	return nil
}

// keep replaces what was kept, once it is there as a whole.
func (in *inside) keep(ctx context.Context, box sandbox.Sandbox, whole bool) (err error) {
	draft := in.path(keptFile) + ".new"
	file, err := os.OpenFile(draft, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("making room for it: %w", err)
	}
	err = errors.Join(in.pack(ctx, box, whole, file), file.Sync(), file.Close())
	if err != nil {
		return errors.Join(err, os.Remove(draft))
	}
	return os.Rename(draft, in.path(keptFile))
}

// pack has a sandbox write what is to be kept.
func (in *inside) pack(ctx context.Context, box sandbox.Sandbox, whole bool, to io.Writer) error {
	most := in.work.box.spec.Limits.Disk
	if most <= 0 {
		most = maxKept
	}
	cmd, sent, said := in.command(leaveScript, in.mode(whole)), &capped{to: to, left: most}, &tail{}
	cmd.Stdout, cmd.Stderr = sent, said
	code, err := box.Exec(ctx, cmd)
	switch {
	case sent.over:
		return fmt.Errorf("it has more than %s", config.FormatSize(most))
	case err != nil:
		return err
	case code != 0:
		return fmt.Errorf("packing it inside ends with exit code %d: %s", code, said.line())
	}
	return nil
}
