package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/agent-loop/ralph/internal/config"
	"github.com/agent-loop/ralph/internal/git"
	"github.com/agent-loop/ralph/internal/loop"
)

// CheckOut is part of loop.Git.
func (g *runGit) CheckOut(ctx context.Context) (loop.Checkout, error) {
	dir := filepath.Join(g.run.Path(), verifyFolder)
	place := loop.Checkout{Close: func() error { return removeTree(dir) }}
	commit, err := g.store.Tip(ctx)
	if err != nil {
		return place, err
	}
	v := g.plan.config.Validation
	scripts := append(git.CommandFiles(v.Command), git.CommandFiles(v.Setup)...)
	tree, changed, err := g.store.TrustedTree(ctx, commit, v.Trusted, scripts)
	if err != nil {
		return place, err
	}
	if err := errors.Join(removeTree(dir), os.Mkdir(dir, 0o755)); err != nil {
		return place, fmt.Errorf("making a clean checkout: %w", err)
	}
	c := git.Clone{GitDir: filepath.Join(dir, "git"), Tree: filepath.Join(dir, "work")}
	if err := g.store.Clone(ctx, c, commit, tree); err != nil {
		return place, errors.Join(err, place.Close())
	}
	place.Commit, place.Trusted = commit, changed
	fixed, err := g.fixed(ctx, scripts)
	if err == nil {
		place.Launcher, err = g.validator(c, fixed)
	}
	if err != nil {
		err = errors.Join(err, place.Close())
	}
	return place, err
}

// maxFixed is how many files are made read-only one by one.
const maxFixed = 200

// fixed are the trusted files that are read-only while a validation runs, since what
// runs there is the agent's. Of too many only those that the command names are.
func (g *runGit) fixed(ctx context.Context, scripts []string) ([]string, error) {
	files, err := g.store.TrustedFiles(ctx, g.plan.config.Validation.Trusted, scripts)
	if err == nil && len(files) > maxFixed {
		files, err = g.store.TrustedFiles(ctx, nil, scripts)
	}
	return files[:min(len(files), maxFixed)], err
}

// validator starts the sandbox of a validation: the clean checkout in the place of
// the agent's, and the network that the configuration gives to validations.
func (g *runGit) validator(c git.Clone, fixed []string) (*launcher, error) {
	network := g.plan.config.ValidationNetwork()
	policy, err := newPolicy(network)
	if err != nil {
		return nil, err
	}
	clean := *g.box
	clean.spec.Own = nil
	clean.spec.Mounts = append(g.mounts(c), g.box.spec.Mounts[g.box.own:]...)
	clean.spec.Mounts[0].Protect = append(clean.spec.Mounts[0].Protect, fixed...)
	clean.spec.Network = networkFor(config.Config{Sandbox: config.Sandbox{Network: network}}, false)
	return &launcher{plan: g.plan, box: &clean, gates: g.gates, network: network, policy: policy}, nil
}
