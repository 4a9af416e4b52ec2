package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/agent-loop/ralph/internal/rundir"
)

// many is how many runs are listed.
const many = 10_000

// list measures how long it takes to list many runs.
func (b *bench) list() error {
	project, err := b.project("list", "true", "")
	if err != nil {
		return err
	}
	root := filepath.Join(project, ".ralph", "runs")
	if err := makeRuns(root); err != nil {
		return err
	}
	for _, args := range [][]string{{"ls"}, {"ls", "--json"}} {
		var times []time.Duration
		for range 7 {
			began := time.Now()
			if out, err := b.command(project, args...).CombinedOutput(); err != nil {
				return fmt.Errorf("ralph ls: %w\n%s", err, out)
			}
			times = append(times, time.Since(began))
		}
		fmt.Printf("| `ralph %s` with %d runs | %s | of %d the middle |\n", strings.Join(args, " "), many, show(middle(times)), len(times))
	}
	return nil
}

// makeRuns makes one run and copies its folder.
func makeRuns(root string) error {
	began := time.Now()
	first := rundir.NewID(began)
	run, err := rundir.Create(root, first, map[string]string{"made": "for the benchmark"}, rundir.Options{})
	if err != nil {
		return err
	}
	if err := run.SaveState(rundir.State{ID: first, Status: rundir.Done, Agent: "claude", Engine: "gvisor", StopReason: "all is done"}); err != nil {
		return err
	}
	if err := run.Close(); err != nil {
		return err
	}
	for i := 1; i < many; i++ {
		id := rundir.NewID(began.Add(-time.Duration(i) * time.Minute))
		if err := copyRun(root, first, id); err != nil {
			return err
		}
	}
	return nil
}

// copyRun makes another run that looks the same in a list.
func copyRun(root, from, id string) error {
	to := filepath.Join(root, id)
	if err := os.CopyFS(to, os.DirFS(filepath.Join(root, from))); err != nil {
		return err
	}
	state, err := os.ReadFile(filepath.Join(to, "state.json"))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(to, "state.json"), bytes.ReplaceAll(state, []byte(from), []byte(id)), 0o600)
}
