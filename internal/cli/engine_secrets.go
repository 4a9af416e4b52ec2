package cli

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agent-loop/ralph/internal/config"
	"github.com/agent-loop/ralph/internal/sandbox"
)

// Secrets stay outside: the gate holds them. For what no gate can do, such as a key
// that signs, a user can name files of the home directory that go in after all. They
// are the one kind of mount that is not passed through sandbox.CheckMounts, which
// refuses them; what is checked instead is here.

// secretMounts are the files of sandbox.readonly_secrets, read-only and at the same
// place below the home directory inside.
func (w World) secretMounts(cfg config.Config, others []sandbox.Mount) ([]sandbox.Mount, error) {
	var mounts []sandbox.Mount
	for _, name := range cfg.Sandbox.ReadOnlySecrets {
		m, why := w.secretMount(name)
		taken := func(other sandbox.Mount) bool { return sandbox.Overlap(m.Target, other.Target) }
		switch {
		case why != "":
		case slices.ContainsFunc(mounts, func(other sandbox.Mount) bool { return other.Target == m.Target }):
			continue // said twice
		case slices.ContainsFunc(others, taken):
			why = "its place inside, " + m.Target + ", is taken by another mount"
		}
		if why != "" {
			return nil, &sandbox.RefusedError{
				What: fmt.Sprintf("secret %q", name), Why: why,
				Fix: "name plain files of your home in sandbox.readonly_secrets or with --readonly-secret, such as ~/.gitconfig",
			}
		}
		mounts = append(mounts, m)
	}
	return mounts, nil
}

// secretMount looks at one file, and says why it cannot go in. A link is followed
// once, now: people keep such files in a repository of their settings.
func (w World) secretMount(name string) (m sandbox.Mount, why string) {
	home := filepath.Clean(w.home())
	place := filepath.Clean(name)
	if rest, ok := strings.CutPrefix(name, "~/"); ok {
		place = filepath.Join(home, filepath.FromSlash(rest))
	}
	if !filepath.IsAbs(home) || place == home || !sandbox.Within(place, home) {
		return m, "it is not a file below your home directory"
	}
	real, err := filepath.EvalSymlinks(place)
	if err != nil {
		return m, "it cannot be read"
	}
	if info, err := os.Lstat(real); err != nil || !info.Mode().IsRegular() {
		return m, "it is not a plain file: a folder may hold more than you mean, and a socket is a way out"
	}
	if why, _ := sandbox.CheckPath(real); why != "" {
		return m, why
	}
	if why := w.refuseOwnSecret(real); why != "" {
		return m, why
	}
	rel, err := filepath.Rel(home, place)
	if err != nil {
		return m, err.Error()
	}
	return sandbox.Mount{Source: real, Target: path.Join(sandbox.Home, filepath.ToSlash(rel)), ReadOnly: true}, ""
}

// refuseOwnSecret keeps what ralph itself holds outside, whoever asks for it.
func (w World) refuseOwnSecret(real string) (why string) {
	state, err := w.stateDir()
	if err != nil {
		return err.Error()
	}
	own := []string{state, filepath.Join(w.home(), ".config", "ralph")}
	if file := config.UserFile(w.Getenv); file != "" {
		own = append(own, filepath.Dir(file))
	}
	for _, dir := range own {
		if resolved, err := filepath.EvalSymlinks(dir); err == nil {
			dir = resolved
		}
		if sandbox.Within(real, dir) {
			return "it belongs to ralph itself, with what the gate holds"
		}
	}
	return ""
}

// letSecretsIn adds the files that the user lets in, and says so.
func (w World) letSecretsIn(cfg config.Config, spec *sandbox.Spec) error {
	secrets, err := w.secretMounts(cfg, spec.Mounts)
	for _, text := range secretWarnings(secrets) {
		fmt.Fprintln(w.Err, "ralph: warning:", visible(text))
	}
	spec.Mounts = append(spec.Mounts, secrets...)
	return err
}

// secretWarnings tell of what goes in with its real content.
func secretWarnings(mounts []sandbox.Mount) []string {
	var all []string
	for _, m := range mounts {
		all = append(all, fmt.Sprintf("the real %s goes into the sandbox: whatever runs there can read it, and send it to any host that is allowed", m.Source))
	}
	return all
}

// identityEnv is who commits inside, for those who have no git configuration there.
func identityEnv(g config.Git) []string {
	return []string{
		"GIT_AUTHOR_NAME=" + g.Name, "GIT_AUTHOR_EMAIL=" + g.Email,
		"GIT_COMMITTER_NAME=" + g.Name, "GIT_COMMITTER_EMAIL=" + g.Email,
	}
}

// imageFor is the image that a sandbox starts from; a root file system stands in
// its place.
func imageFor(cfg config.Config, rootfs string, flags *config.Layer) (string, error) {
	if rootfs == "" {
		return cfg.Sandbox.Image, nil
	}
	if flags.Has("sandbox.image") {
		return "", usageError{fmt.Errorf("--image %s contradicts --rootfs %s: a sandbox starts from one of them", cfg.Sandbox.Image, rootfs), "leave one of them out"}
	}
	return "", nil
}
