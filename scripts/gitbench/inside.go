package main

import (
	"errors"
	"fmt"
	"io"
)

// deeds are what an agent does all day, in an order in which each finds what it
// needs. All but the last leave the files as they should be.
var deeds = []struct{ name, script string }{
	{"`git status`, the first", "git status --porcelain"},
	{"`git status`, again", "git status --porcelain"},
	{"`grep -r` over all files", "grep -rc 'func F777_' . >/dev/null"},
	{"change 500 files, `git add -A`, `git commit`", "for f in d00/p00*/*.go d01/p05*/*.go; do echo '//' >>$f; done; git add -A; git commit -qm more"},
	{"`rm -rf` of all files", "rm -rf d*"},
	{"`git reset --hard`, which writes all files", "git reset -q --hard"},
}

const (
	byHost   = "bring 20,000 files in: git on the host"
	byGit    = "bring 20,000 files in: git inside, from mounted objects"
	byStream = "bring 20,000 files in: `git archive` streamed to `tar` inside"
	takeOut  = "take 2,000 untracked files out as a stream, 8 MB"
)

// inside compares the places for an agent's files.
func (b *bench) inside() error {
	outside, bind, memory := times{}, times{}, times{}
	for range rounds {
		if err := b.insideOnce(outside, bind, memory); err != nil {
			return err
		}
	}
	heading("in gVisor, 20,000 files", "outside", "in a folder of the host", "times outside", "in the sandbox's own /tmp", "times outside", "folder : /tmp")
	for _, d := range deeds {
		o, f, m := outside.middle(d.name), bind.middle(d.name), memory.middle(d.name)
		row(d.name, show(o), show(f), ratio(f, o), show(m), ratio(m, o), ratio(f, m))
	}
	row(byHost, "", show(bind.middle(byHost)), "", "", "", "")
	for _, what := range []string{byGit, byStream, takeOut} {
		row(what, "", "", "", show(memory.middle(what)), "", "")
	}
	return nil
}

// insideOnce does everything once in each place, in clones of their own.
func (b *bench) insideOnce(outside, bind, memory times) (err error) {
	host, err := b.newJob()
	if err != nil {
		return err
	}
	for _, d := range deeds {
		if err := outside.take(d.name, func() error { return host.script(d.script) }); err != nil {
			return err
		}
	}
	var mountedJob *job
	if err := bind.take(byHost, func() (err error) { mountedJob, err = b.newJob(); return err }); err != nil {
		return err
	}
	x, err := b.newBox(mountedJob)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, x.Close(), host.remove(), mountedJob.remove()) }()
	if err := x.bringIn(memory); err != nil {
		return err
	}
	for _, d := range deeds {
		if err := memory.take(d.name, func() error { return x.script(own, d.script, nil, nil) }); err != nil {
			return err
		}
		if err := bind.take(d.name, func() error { return x.script(mounted, d.script, nil, nil) }); err != nil {
			return err
		}
	}
	return x.takeOut(memory)
}

// script runs sh on the host, in the clone.
func (j *job) script(text string) error {
	cmd := plainCommand(j.b.ctx, j.clone.Tree, "sh", "-ec", text)
	cmd.Env = append(cmd.Env, j.inside(j.store.Identity)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", text, err, out)
	}
	return nil
}

// bringIn fills the sandbox's own file system, in each way.
func (x *box) bringIn(took times) error {
	if err := took.take(byStream, x.streamIn); err != nil {
		return err
	}
	return took.take(byGit, x.checkOutInside)
}

// takeOut streams what git does not know of.
func (x *box) takeOut(took times) error {
	if err := x.script(own, `mkdir out; yes | head -c 4096 >out/0; for i in $(seq 1999); do cp out/0 out/$i; done`, nil, nil); err != nil {
		return err
	}
	return took.take(takeOut, func() error {
		return x.script(own, "git ls-files -oz | tar -c --null -T -", nil, io.Discard)
	})
}
