package cli

import (
	"context"
	"net"

	"github.com/agent-loop/ralph/internal/config"
	"github.com/agent-loop/ralph/internal/sandbox"
)

// choosePlace finds the engine, and whether the agent gets its models there.
func (p *plan) choosePlace(ctx context.Context) error {
	engines, _, err := p.world.engines()
	if err != nil {
		return err
	}
	if p.models, err = p.needsModels(ctx); err != nil {
		return err
	}
	if p.image, err = imageFor(p.config, p.spec.Rootfs, &p.opts.flags); err != nil {
		return err
	}
	p.chosen, err = chooseEngine(ctx, engines, newEngineWish(p.config, p.wanted()))
	p.engine, p.info = p.chosen.engine, p.chosen.info
	return err
}

// wanted is what the engine must be able to do, as far as that is known before there
// is a run. Some paths of what an agent works on are always protected.
func (p *plan) wanted() sandbox.Spec {
	spec := sandbox.Spec{
		Rootfs: p.spec.Rootfs, Image: p.image,
		Mounts:  []sandbox.Mount{{Source: p.spec.Project, Target: p.spec.Project, Protect: []string{config.ProjectFile}}},
		Limits:  limits(p.config.Sandbox.Resources),
		Network: networkFor(p.config, p.models),
		Gate:    func(net.Listener) error { return nil },
	}
	if p.config.Git.Checkout == config.CheckoutInside {
		spec.Own = []string{p.spec.Project}
	}
	return spec
}
