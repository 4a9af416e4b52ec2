package container

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agent-loop/ralph/internal/proc"
	"github.com/agent-loop/ralph/internal/sandbox"
	"github.com/agent-loop/ralph/internal/sandbox/layout"
	"github.com/agent-loop/ralph/internal/sandbox/roster"
)

// imageConfig is the part of an image's configuration that matters.
type imageConfig struct {
	Volumes map[string]struct{}
}

var errNoImage = errors.New("no such image")

// inspect reads an image that is on this machine; errNoImage if it is not.
func (c client) inspect(ctx context.Context, image string) (imageConfig, error) {
	if image == "" || strings.HasPrefix(image, "-") {
		return imageConfig{}, fmt.Errorf("%q is no name of an image", image)
	}
	out, err := c.output(ctx, askTime, "image", "inspect", "--format", "{{json .Config}}", image)
	var failed *proc.Error
	if errors.As(err, &failed) {
		words := strings.ToLower(failed.Said)
		if strings.Contains(words, "no such image") || strings.Contains(words, "image not known") || strings.Contains(words, "no such object") {
			return imageConfig{}, errNoImage
		}
		err = c.flavour.explain(lastWords(failed.Said))
	}
	if err != nil {
		return imageConfig{}, fmt.Errorf("looking at the image: %w", err)
	}
	var config imageConfig
	if err := json.Unmarshal([]byte(out), &config); err != nil {
		return imageConfig{}, fmt.Errorf("looking at the image: %w", err)
	}
	return config, nil
}

// imageVolumes are the places of a user's image that engines would give a folder
// on their own disk.
func (c client) imageVolumes(ctx context.Context, image string) ([]string, error) {
	config, err := c.inspect(ctx, image)
	if errors.Is(err, errNoImage) {
		return nil, &sandbox.RefusedError{
			What: fmt.Sprintf("image %q", image), Why: fmt.Sprintf("%s does not have it", c.flavour.name),
			Fix: fmt.Sprintf("%s pull %s, or build it; one that another engine has is used with --engine", c.flavour.name, image),
		}
	}
	return slices.Sorted(maps.Keys(config.Volumes)), err
}

// volumeMounts put places in memory where an image wants a folder on the engine's
// disk: that would be writable, and nobody would count what is written to it.
func volumeMounts(volumes []string, spec sandbox.Spec, agent sandbox.User) []layout.Mount {
	taken := func(target string) bool {
		own := slices.Concat(spec.Own, []string{"/tmp", "/run", sandbox.Home})
		return slices.Contains(own, target) || slices.ContainsFunc(spec.Mounts, func(m sandbox.Mount) bool { return m.Target == target })
	}
	var mounts []layout.Mount
	for _, volume := range volumes {
		target := path.Clean("/" + volume)
		if !taken(target) {
			mounts = append(mounts, layout.Mount{Kind: layout.Tmpfs, Target: target, Owner: agent, Size: shmSize(spec.Limits), Mode: 0o755})
		}
	}
	return mounts
}

// rootImage is the name of the image that the sandbox's own root is, which is
// imported if it is not there yet. It does not depend on what is mounted: engines
// make places for that in the container.
func (c client) rootImage(ctx context.Context, entry *roster.Entry, spec sandbox.Spec, agent sandbox.User, self string) (string, error) {
	dir, err := entry.Folder("image")
	if err != nil {
		return "", err
	}
	bare := sandbox.Spec{Rootfs: spec.Rootfs}
	if _, err := layout.Build(dir, bare, agent, self); err != nil {
		return "", err
	}
	file := filepath.Join(entry.Dir, "image.tar")
	sum, err := archive(dir, file)
	if err != nil {
		return "", err
	}
	name := "localhost/ralph-root:" + sum
	if _, err = c.inspect(ctx, name); errors.Is(err, errNoImage) {
		err = c.importImage(ctx, file, name)
	}
	if err != nil {
		return "", err
	}
	return name, os.Remove(file)
}

func (c client) importImage(ctx context.Context, file, name string) error {
	_, err := c.output(ctx, workTime, "import", "--change", "LABEL "+labelImage+"=root", file, name)
	var failed *proc.Error
	if errors.As(err, &failed) {
		err = c.flavour.explain(lastWords(failed.Said))
	}
	if err != nil {
		return fmt.Errorf("importing the root file system: %w", err)
	}
	return nil
}
