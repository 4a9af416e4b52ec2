package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/agent-loop/ralph/internal/sandbox"
)

// crowd is how many sandboxes are started at once.
const crowd = 10

// crowds are sandboxes that do nothing, and many of them.
func (s *site) crowds() []measure {
	return []measure{
		{what: "memory of an idle sandbox: its processes, clients and helpers", show: showMemory, rounds: 3, sample: s.idleMemory},
		{what: "10 sandboxes at once, each with a command", show: showTime, rounds: 1, sample: s.startCrowd},
		{what: "the end of one sandbox", show: showTime, rounds: 5, sample: s.endOne},
	}
}

// idleMemory is the proportional set size of what a sandbox consists of. What a
// daemon keeps in mind of it is not in there.
func (s *site) idleMemory(c *contender) (float64, error) {
	if c.isHost() {
		return 0, errNoSuchThing
	}
	boxes, err := s.create(c, 1)
	defer func() { _ = closeAll(boxes) }()
	if err != nil {
		return 0, err
	}
	return float64(memoryOf(boxes[0].ID(), s.containerID(c, boxes[0].ID()))), nil
}

func (s *site) startCrowd(c *contender) (float64, error) {
	if c.isHost() {
		return 0, errNoSuchThing
	}
	began := time.Now()
	boxes, err := s.create(c, crowd)
	took := time.Since(began)
	return took.Seconds(), errors.Join(err, closeAll(boxes))
}

func (s *site) endOne(c *contender) (float64, error) {
	if c.isHost() {
		return 0, errNoSuchThing
	}
	boxes, err := s.create(c, 1)
	if err != nil {
		return 0, errors.Join(err, closeAll(boxes))
	}
	began := time.Now()
	err = closeAll(boxes)
	return time.Since(began).Seconds(), err
}

// create starts sandboxes at the same time and runs a command in each.
func (s *site) create(c *contender, n int) ([]sandbox.Sandbox, error) {
	dir, err := s.folder(c)
	if err != nil {
		return nil, err
	}
	boxes := make([]sandbox.Sandbox, n)
	errs := make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { boxes[i], errs[i] = s.createOne(c, filepath.Join(dir, fmt.Sprint("crowd-", i))) })
	}
	all.Wait()
	return boxes, errors.Join(errs...)
}

func (s *site) createOne(c *contender, dir string) (sandbox.Sandbox, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	spec, err := s.spec(dir)
	if err != nil {
		return nil, err
	}
	box, err := c.engine.Create(s.ctx, spec)
	if err != nil {
		return nil, err
	}
	_, err = box.Exec(s.ctx, sandbox.Command{Args: []string{"true"}})
	return box, err
}

func closeAll(boxes []sandbox.Sandbox) error {
	var errs []error
	for _, box := range boxes {
		if box != nil {
			errs = append(errs, box.Close())
		}
	}
	return errors.Join(errs...)
}
