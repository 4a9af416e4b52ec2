package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// callLog lies beside the git that records.
const callLog = "calls"

// listCalls lists the git calls of a start and of an import. This program stands
// before git in the path and writes down what passes.
func (b *bench) listCalls() error {
	dir := filepath.Join(b.folder, "bin")
	self, err := os.Executable()
	if err == nil {
		err = errors.Join(os.Mkdir(dir, 0o755), os.Symlink(self, filepath.Join(dir, "git")))
	}
	if err == nil {
		err = os.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	}
	if err == nil {
		err = b.open()
	}
	if err != nil {
		return err
	}
	j, err := b.newJob()
	if err != nil {
		return err
	}
	if err := printCalls(dir, "start"); err != nil {
		return err
	}
	for n := range 3 {
		if err := j.work(j.store.Identity); err != nil {
			return err
		}
		bundle, err := j.collect()
		if err != nil {
			return err
		}
		if err := os.Remove(filepath.Join(dir, callLog)); err != nil {
			return err
		}
		if err := j.bring(bundle); err != nil {
			return err
		}
		if err := printCalls(dir, fmt.Sprintf("import %d", n+1)); err != nil {
			return err
		}
	}
	return nil
}

// printCalls prints what was recorded and begins anew.
func printCalls(dir, what string) error {
	log := filepath.Join(dir, callLog)
	text, err := os.ReadFile(log)
	fmt.Printf("%s:\n%s\n", what, text)
	return errors.Join(err, os.WriteFile(log, nil, 0o644))
}

// recorded is set for the git that is recorded: one that led back here would never
// end.
const recorded = "GITBENCH_RECORDED"

// recordCall is this program in git's place.
func recordCall(args []string) int {
	self, err := exec.LookPath("git")
	if err != nil || os.Getenv(recorded) != "" {
		fmt.Fprintln(os.Stderr, "gitbench: git leads to gitbench:", err)
		return 126
	}
	dir := filepath.Dir(self)
	_ = errors.Join(os.Setenv(recorded, "1"), os.Setenv("PATH", strings.TrimPrefix(os.Getenv("PATH"), dir+string(os.PathListSeparator))))
	cmd := exec.Command("git", args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	began := time.Now()
	err = cmd.Run()
	took := time.Since(began)
	log, openErr := os.OpenFile(filepath.Join(dir, callLog), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if openErr == nil {
		fmt.Fprintf(log, "%8.1f ms  %s\n", float64(took)/float64(time.Millisecond), strings.Join(args[1:], " "))
		openErr = log.Close()
	}
	if openErr != nil {
		fmt.Fprintln(os.Stderr, "gitbench:", openErr)
	}
	if err == nil {
		return 0
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	return 127
}
