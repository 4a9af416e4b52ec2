package cli

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"

	"github.com/agent-loop/ralph/internal/config"
	"github.com/agent-loop/ralph/internal/sandbox"
)

// An inner sandbox stands inside the engine's, around the agent's process alone. It
// comes on top: the engine's boundary is the same with it and without. What it needs
// is in the sandbox already, in the image or among this machine's programs; ralph
// tells it what to do, from a folder that is read-only inside.

// innerFolder is where that folder is inside.
const innerFolder = "/opt/ralph-inner"

// The files in it.
const (
	innerSettings = "settings.json"
	innerStart    = "start"
	innerBwrap    = "bwrap"
)

// inner is the sandbox runtime srt around an agent. Nil is none.
type inner struct {
	folder  string // of the host, that is seen as innerFolder
	version string // of srt, once it was seen to work
}

func addInnerFlag(cmd *cobra.Command) {
	cmd.Flags().String("inner-sandbox", "", "a second sandbox inside the first, around the agent: srt")
}

// newInner prepares the inner sandbox that the configuration asks for, and adds to
// spec what it needs. What may be written in there is what spec lets be written.
func newInner(w World, cfg config.Config, spec *sandbox.Spec) (_ *inner, err error) {
	if cfg.Sandbox.Inner == "" {
		return nil, nil
	}
	settings, err := newSRTSettings(*spec)
	if err != nil {
		return nil, err
	}
	in := &inner{}
	if in.folder, err = makeGuestFolder(w, "inner"); err != nil {
		return nil, fmt.Errorf("making a folder for the inner sandbox: %w", err)
	}
	if err := in.write(settings); err != nil {
		return nil, errors.Join(fmt.Errorf("preparing the inner sandbox: %w", err), in.close())
	}
	spec.Mounts = append(spec.Mounts, sandbox.Mount{Source: in.folder, Target: innerFolder, ReadOnly: true, Exclusive: true})
	// Otherwise srt sends temporary files to a folder that nobody makes.
	spec.Env = sandbox.MergeEnv(spec.Env, []string{"CLAUDE_CODE_TMPDIR=/tmp"})
	return in, nil
}

// addInner puts the agent of a run into the inner sandbox.
func (b *box) addInner(w World, cfg config.Config) (err error) {
	b.inner, err = newInner(w, cfg, &b.spec)
	b.program = b.inner.wrap(b.program)
	return err
}

// write makes the files. Whoever runs in the sandbox must be able to read them.
func (in *inner) write(settings srtSettings) error {
	text, err := json.Marshal(settings)
	if err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(filepath.Join(in.folder, innerSettings), text, 0o644),
		os.WriteFile(filepath.Join(in.folder, innerStart), []byte(startScript), 0o755),
		os.WriteFile(filepath.Join(in.folder, innerBwrap), []byte(bwrapScript), 0o755),
		os.Chmod(in.folder, 0o755),
	)
}

// wrap is a command line that runs another one in the inner sandbox.
func (in *inner) wrap(argv []string) []string {
	if in == nil {
		return argv
	}
	return append([]string{innerFolder + "/" + innerStart}, argv...)
}

// String is what a run's record says of it.
func (in *inner) String() string {
	if in == nil {
		return ""
	}
	return strings.TrimSpace(config.InnerSRT + " " + in.version)
}

func (in *inner) close() error {
	if in == nil {
		return nil
	}
	return os.RemoveAll(in.folder)
}

// srtSettings are what srt takes, as far as ralph has something to say.
type srtSettings struct {
	Network    srtNetwork `json:"network"`
	Filesystem srtFiles   `json:"filesystem"`
	Bwrap      string     `json:"bwrapPath"`
}

// srtNetwork lets srt reach nothing by itself. With a port, srt leads what asks for
// an HTTP proxy there, and leaves it to that proxy what may pass.
type srtNetwork struct {
	Allowed   []string `json:"allowedDomains"`
	Denied    []string `json:"deniedDomains"`
	ProxyPort int      `json:"httpProxyPort,omitzero"`
}

type srtFiles struct {
	DenyRead   []string `json:"denyRead"`
	AllowWrite []any    `json:"allowWrite"`
	DenyWrite  []string `json:"denyWrite"`
}

// srtPath is a path that srt does not take for a pattern.
type srtPath struct {
	Path    string `json:"path"`
	Literal bool   `json:"literal"`
}

// newSRTSettings are those of an agent in a sandbox that was asked for so. Reading is
// left as it is: what must not be read is not in the sandbox.
func newSRTSettings(spec sandbox.Spec) (srtSettings, error) {
	s := srtSettings{Bwrap: innerFolder + "/" + innerBwrap}
	if spec.Network == sandbox.NetworkGate {
		_, port, err := net.SplitHostPort(sandbox.GateAddress)
		if err == nil {
			s.Network.ProxyPort, err = strconv.Atoi(port)
		}
		if err != nil {
			return s, fmt.Errorf("the address of the gate: %w", err)
		}
	}
	for _, dir := range writableIn(spec) {
		if strings.ContainsAny(dir, "*?[]") {
			s.Filesystem.AllowWrite = append(s.Filesystem.AllowWrite, srtPath{dir, true})
		} else {
			s.Filesystem.AllowWrite = append(s.Filesystem.AllowWrite, dir)
		}
	}
	return s, nil
}

// writableIn are the folders that a sandbox lets its agent write to, but for those
// that no agent needs. What is protected in them is read-only in the sandbox itself.
func writableIn(spec sandbox.Spec) []string {
	dirs := append([]string{"/tmp", sandbox.Home}, spec.Own...)
	for _, m := range spec.Mounts {
		if !m.ReadOnly {
			dirs = append(dirs, m.Target)
		}
	}
	return dirs
}
