package main

import (
	"slices"
	"time"
)

// starts are new sandboxes, and commands in one that runs.
func (s *site) starts() []measure {
	return []measure{
		{what: "`ralph exec -- true`, a new sandbox", show: showTime, goal: goalStart, rounds: 15, warmUp: true, sample: timed(s.newSandbox)},
		{what: "the same by the engine's own command", show: showTime, rounds: 9, warmUp: true, sample: timed(s.ownCommand)},
		{what: "`ralph version`, no sandbox", show: showTime, rounds: 20, warmUp: true, sample: timed(s.version)},
		{what: "`true` in a running sandbox", show: showTime, rounds: 9, warmUp: true, sample: s.anotherCommand},
	}
}

func (s *site) newSandbox(c *contender) error {
	if len(c.flags) == 0 {
		return errNoSuchThing
	}
	dir, err := s.folder(c)
	if err != nil {
		return err
	}
	return s.host(dir, slices.Concat([]string{s.ralph, "exec"}, c.flags, []string{"--", "true"})...)
}

// ownCommand is what a user would type without ralph, who then has none of its
// guards but the namespaces.
func (s *site) ownCommand(c *contender) error {
	if len(c.plain) == 0 {
		return errNoSuchThing
	}
	return s.host(s.work, append(slices.Clone(c.plain), "true")...)
}

// version is what every call of the binary costs, gVisor linked in or not.
func (s *site) version(c *contender) error {
	if !c.isHost() {
		return errNoSuchThing
	}
	return s.host(s.work, s.ralph, "version")
}

// anotherCommand takes the mean of some: a single one is too short.
func (s *site) anotherCommand(c *contender) (float64, error) {
	const commands = 10
	began := time.Now()
	for range commands {
		if err := s.do(c, s.work, "true"); err != nil {
			return 0, err
		}
	}
	return time.Since(began).Seconds() / commands, nil
}
