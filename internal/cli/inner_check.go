package cli

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/agent-loop/ralph/internal/plaintext"
	"github.com/agent-loop/ralph/internal/sandbox"
)

// startScript starts srt in a folder where it finds nothing and can make nothing: in
// the folder that it starts in, srt lays files over names that it protects, and leaves
// them there when it is killed. The agent starts where it is to start.
const startScript = `#!/bin/sh
here=$PWD
cd ` + innerFolder + ` || exit 126
exec srt --settings ` + innerFolder + "/" + innerSettings + ` -- sh -c 'cd "$0" && exec "$@"' "$here" "$@"
`

// bwrapScript is what srt starts for bwrap. In gVisor a new network has its loopback
// from the start, and bwrap gives up because it cannot add it: there, unshare makes
// the network, and bwrap the rest. Elsewhere it is bwrap itself.
const bwrapScript = `#!/bin/sh
net=
for arg; do
	case $arg in
	--unshare-net) net=yes ;;
	--) break ;;
	esac
done
[ -n "$net" ] || exec bwrap "$@"
bwrap --unshare-user --unshare-net --ro-bind / / true 2>/dev/null && exec bwrap "$@"
n=$#
while [ "$n" -gt 0 ]; do
	arg=$1
	shift
	n=$((n - 1))
	if [ -n "$net" ] && [ "$arg" = --unshare-net ]; then
		net=
		continue
	fi
	set -- "$@" "$arg"
done
exec unshare --user --map-current-user --net -- bwrap "$@"
`

// wallScript tells whether it is confined, by a folder that a sandbox has for
// programs to write to, and that srt was not told of.
const wallScript = `if touch /run/ralph-inner 2>/dev/null; then rm -f /run/ralph-inner; exit 99; fi`

// unconfined is how wallScript ends if it is not.
const unconfined = 99

// innerPrograms are srt and what it needs.
func innerPrograms() []string { return []string{"srt", "bash", "bwrap", "socat", "rg"} }

const (
	findScript = `for name; do command -v "$name" >/dev/null || echo "$name"; done`

	innerInstall = "put them into the image, or among this machine's programs in /usr: " +
		"npm install -g @anthropic-ai/sandbox-runtime, and the packages bubblewrap, socat and ripgrep; or leave the inner sandbox out"
	innerElsewhere = "take an engine whose sandboxes have a kernel of their own, --engine gvisor, or leave the inner sandbox out: --inner-sandbox ''"
	innerBroken    = "see what srt says inside, with ralph exec, or leave the inner sandbox out: --inner-sandbox ''"
)

// versionWord is a version as it stands in a record.
var versionWord = regexp.MustCompile(`^[0-9][0-9A-Za-z.+-]{0,40}$`)

// check finds out whether the inner sandbox works in a sandbox, before an agent is
// started. Who asks for an inner sandbox gets it, or no agent at all.
func (in *inner) check(ctx context.Context, box sandbox.Sandbox, info sandbox.Info) error {
	if in == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for _, step := range []func(context.Context, sandbox.Sandbox, string) error{in.checkRight, in.checkPrograms, in.checkNamespaces, in.checkWall} {
		err := step(ctx, box, info.Engine)
		if err != nil && errors.Is(ctx.Err(), context.Canceled) {
			return ctx.Err() // that is no fault of srt's
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// checkRight asks first whether this engine lets programs make namespaces at all:
// who would have to install something should know. Without unshare it cannot tell.
func (in *inner) checkRight(ctx context.Context, box sandbox.Sandbox, engine string) error {
	got, err := tryInside(ctx, box, "sh", "-c", "command -v unshare >/dev/null || exit 0; unshare --user true")
	if err == nil && got.code == 0 {
		return nil
	}
	return noNamespaces(engine, got.why(err))
}

func noNamespaces(engine, why string) error {
	return usageError{
		fmt.Errorf("the inner sandbox cannot start in %s: it needs namespaces and mounts of its own, and programs in this engine's sandboxes may not make them, which is a part of their boundary (%s)", engine, why),
		innerElsewhere,
	}
}

func (in *inner) checkPrograms(ctx context.Context, box sandbox.Sandbox, engine string) error {
	got, err := tryInside(ctx, box, slices.Concat([]string{"sh", "-c", findScript, "sh"}, innerPrograms())...)
	if err != nil {
		return usageError{fmt.Errorf("looking for srt in the sandbox: %w", err), innerInstall}
	}
	missing := strings.Fields(got.out)
	if got.code != 0 || len(missing) > 0 {
		return usageError{
			fmt.Errorf("the inner sandbox needs %s, and the sandbox (%s) has no %s", strings.Join(innerPrograms(), ", "), engine, plaintext.Line(strings.Join(missing, ", "), maxTail)),
			innerInstall,
		}
	}
	return nil
}

// checkNamespaces tries what srt asks of bwrap, but for the network.
func (in *inner) checkNamespaces(ctx context.Context, box sandbox.Sandbox, engine string) error {
	got, err := tryInside(ctx, box, "bwrap", "--unshare-user", "--unshare-pid", "--ro-bind", "/", "/", "--proc", "/proc", "true")
	if err == nil && got.code == 0 {
		return nil
	}
	return noNamespaces(engine, got.why(err))
}

// checkWall starts srt as the agent will be, with something that tries the wall.
func (in *inner) checkWall(ctx context.Context, box sandbox.Sandbox, engine string) error {
	got, err := tryInside(ctx, box, "srt", "--version")
	if err != nil || got.code != 0 {
		return usageError{fmt.Errorf("srt does not run in %s: %s", engine, got.why(err)), innerBroken}
	}
	if word := strings.TrimSpace(got.out); versionWord.MatchString(word) {
		in.version = word
	}
	got, err = tryInside(ctx, box, in.wrap([]string{"sh", "-c", wallScript})...)
	switch {
	case err == nil && got.code == 0:
		return nil
	case err == nil && got.code == unconfined:
		return usageError{errors.New("srt starts, but what runs in it is not confined"), innerBroken}
	}
	return usageError{fmt.Errorf("srt does not start in %s: %s", engine, got.why(err)), innerBroken}
}

// attempt is a command that ran in a sandbox, and the end of what it said.
type attempt struct {
	code     int
	out, err string
}

// why says in one line what went wrong.
func (a attempt) why(err error) string {
	switch {
	case err != nil:
		return plaintext.Line(err.Error(), maxTail)
	case a.err != "":
		return plaintext.Line(a.err, maxTail)
	}
	return fmt.Sprintf("exit code %d", a.code)
}

func tryInside(ctx context.Context, box sandbox.Sandbox, args ...string) (attempt, error) {
	var out, said tail
	code, err := box.Exec(ctx, sandbox.Command{Args: args, Stdout: &out, Stderr: &said})
	return attempt{code: code, out: string(out.text), err: said.line()}, err
}
