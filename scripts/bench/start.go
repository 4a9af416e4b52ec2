package main

import (
	"fmt"
	"time"
)

// coldStart is a whole sandbox for one command.
func (b *bench) coldStart(image []string) error {
	outside, err := median(20, func() error { return host(b.dir, "true") })
	if err != nil {
		return err
	}
	inside, err := median(10, func() error { return host(b.dir, b.ralph, "exec", "--", "true") })
	if err != nil {
		return err
	}
	other := "docker not measured"
	if len(image) > 0 {
		docker, err := median(10, func() error {
			return host(b.dir, "docker", "run", "--rm", "--network", "none", image[0], "/bin/true")
		})
		if err != nil {
			return err
		}
		other = fmt.Sprintf("docker run --rm: %s, %.1f times ralph", show(docker), float64(docker)/float64(inside))
	}
	row("`true` in a new sandbox", outside, inside, other)
	return nil
}

// warmExec is one more command in a sandbox that runs.
func (b *bench) warmExec() error {
	outside, err := median(50, func() error { return host(b.dir, "true") })
	if err != nil {
		return err
	}
	inside, err := median(50, func() error { return b.exec("true") })
	if err != nil {
		return err
	}
	row("`true` in a running sandbox", outside, inside, fmt.Sprintf("%s more", show(inside-outside)))
	return nil
}

// version is what every call of the binary costs, gVisor linked in or not.
func (b *bench) version() error {
	outside, err := median(20, func() error { return host(b.dir, "true") })
	if err != nil {
		return err
	}
	inside, err := median(20, func() error { return host(b.dir, b.ralph, "version") })
	row("`ralph version`", outside, inside, "no sandbox; the start of the binary")
	return err
}

// fifty is a crowd: all are created at once, run a command, and end.
func (b *bench) fifty() error {
	const crowd = 50
	before := treeMemory()
	began := time.Now()
	boxes, err := b.createMany(crowd)
	if err != nil {
		return err
	}
	up := time.Since(began)
	memory := treeMemory() - before
	began = time.Now()
	for _, box := range boxes {
		if err := box.Close(); err != nil {
			return err
		}
	}
	fmt.Printf("| %d sandboxes at once | | %s | | %.0f MiB in all, closed in %s |\n",
		crowd, show(up), float64(memory)/(1<<20), show(time.Since(began)))
	return nil
}

// idleMemory is what a sandbox holds that does nothing.
func (b *bench) idleMemory() error {
	before := treeMemory()
	boxes, err := b.createMany(1)
	if err != nil {
		return err
	}
	fmt.Printf("| memory of an idle sandbox | | %.0f MiB | | proportional set size of all its processes |\n",
		float64(treeMemory()-before)/(1<<20))
	return boxes[0].Close()
}
