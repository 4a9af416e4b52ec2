package container

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/agent-loop/ralph/internal/proc"
	"github.com/agent-loop/ralph/internal/sandbox"
)

const (
	// askTime bounds a question to the engine, and workTime something that it does
	// for us: one that hangs must not hang ralph.
	askTime  = 20 * time.Second
	workTime = 2 * time.Minute
)

// client is an engine's command, and what is known of the engine behind it.
type client struct {
	flavour flavour
	program proc.Program
	global  []string
	facts   facts
}

func (c client) output(ctx context.Context, limit time.Duration, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	out, err := c.program.Output(ctx, slices.Concat(c.global, args)...)
	var failed *proc.Error
	switch {
	case err == nil:
		return out, nil
	case ctx.Err() != nil:
		return "", fmt.Errorf("%s does not answer: %w", c.flavour.name, ctx.Err())
	case errors.As(err, &failed):
		return "", failed
	}
	return "", err
}

// ask is output whose failure is explained to people.
func (c client) ask(ctx context.Context, args ...string) (string, error) {
	out, err := c.output(ctx, askTime, args...)
	var failed *proc.Error
	if errors.As(err, &failed) {
		if told := c.flavour.explain(lastWords(failed.Said)); told != nil {
			return "", told
		}
	}
	return out, err
}

// connect finds the engine, asks it what it is, and returns a client that is no
// longer subject to the user's settings.
func (e *Engine) connect(ctx context.Context) (client, error) {
	f, err := flavours(e.options.Flavour)
	if err != nil {
		return client{}, err
	}
	program, err := findProgram(f, e.options.Program)
	if err != nil {
		return client{}, err
	}
	env := e.options.Env
	if env == nil {
		env = os.Environ()
	}
	c := client{flavour: f, program: proc.Program{Path: program, Env: only(env, f.env...)}, global: e.options.Args}
	endpoint, err := c.endpoint(ctx)
	if err != nil {
		return client{}, err
	}
	if c, err = c.learn(ctx, e.options.Runtime); err != nil {
		return client{}, err
	}
	folder, err := emptySettings(filepath.Join(e.options.StateDir, string(f.name)+"-settings"))
	if err != nil {
		return client{}, err
	}
	c.program.Env = f.settled(env, endpoint, folder)
	c.global = slices.Concat(e.options.Args, f.global(c.facts))
	return c, nil
}

// endpoint is where Docker's engine is found. Only a socket of this machine will
// do: another machine has other folders.
func (c client) endpoint(ctx context.Context) (string, error) {
	if c.flavour.name != Docker {
		return "", nil
	}
	endpoint := variable(c.program.Env, "DOCKER_HOST")
	if endpoint == "" {
		out, err := c.ask(ctx, "context", "inspect", "--format", "{{.Endpoints.docker.Host}}")
		if err != nil {
			return "", err
		}
		endpoint = strings.TrimSpace(out)
	}
	if !strings.HasPrefix(endpoint, "unix://") {
		return "", c.flavour.check(facts{remote: true})
	}
	return endpoint, nil
}

// learn asks the engine what it is, and chooses the runtime.
func (c client) learn(ctx context.Context, runtime string) (client, error) {
	question := c.flavour.info
	if runtime != "" && c.flavour.name == Podman {
		runtime = findRuntime(runtime)
		question = append([]string{"--runtime", runtime}, question...)
	}
	out, err := c.ask(ctx, question...)
	if err != nil {
		return client{}, c.flavour.cannotRun(ctx, err)
	}
	if c.facts, err = c.flavour.parse(out); err != nil {
		return client{}, c.flavour.explain(err.Error())
	}
	if err := c.flavour.check(c.facts); err != nil {
		return client{}, err
	}
	if runtime == "" || c.flavour.name == Podman {
		return c, nil // podman has answered with it
	}
	if !slices.Contains(c.facts.runtimes, runtime) {
		return client{}, &sandbox.UnavailableError{
			Engine: string(Docker), Reason: fmt.Sprintf("it has no OCI runtime %q, only %s", runtime, strings.Join(c.facts.runtimes, ", ")),
			Fix: "add it to /etc/docker/daemon.json and restart docker; ralph runtime install does that for runsc",
		}
	}
	c.facts.runtime = runtime
	return c, nil
}

// ralphDir is where ralph installs a runtime of its own.
const ralphDir = "/usr/local/lib/ralph"

// findRuntime is a runtime as Podman is told: one that ralph installed is in no
// place where Podman looks.
func findRuntime(name string) string {
	if strings.Contains(name, "/") {
		return name
	}
	for _, dir := range []string{"/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin", "/bin", "/sbin"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return name
		}
	}
	if path := filepath.Join(ralphDir, name); isProgram(path) {
		return path
	}
	return name
}

// findProgram finds the engine's command where systems keep their programs, and
// only there: a file of that name in a project must not be what builds the
// boundary.
func findProgram(f flavour, given string) (string, error) {
	if given != "" {
		if !filepath.IsAbs(given) {
			return "", fmt.Errorf("the program %q is not an absolute path", given)
		}
		return given, nil
	}
	for _, dir := range []string{"/usr/bin", "/usr/local/bin", "/bin", "/snap/bin", "/run/current-system/sw/bin"} {
		if path := filepath.Join(dir, string(f.name)); isProgram(path) {
			return path, nil
		}
	}
	return "", &sandbox.UnavailableError{Engine: string(f.name), Reason: string(f.name) + " is not installed", Fix: f.install}
}

func isProgram(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// emptySettings makes a folder of settings that say nothing.
func emptySettings(dir string) (string, error) {
	err := os.MkdirAll(dir, 0o700)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, emptyFile), nil, 0o600)
	}
	if err != nil {
		return "", fmt.Errorf("preparing the engine's settings: %w", err)
	}
	return dir, nil
}
