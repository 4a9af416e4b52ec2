package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

const (
	commits = 50_000
	files   = 20_000
	touched = 2 // files that a commit changes
)

// repository returns a bare one with a long history, which is made if it is not in
// the cache. It is packed as a clone from a server is.
func repository(ctx context.Context, cache string) (string, error) {
	cache, err := filepath.Abs(cache)
	if err != nil {
		return "", err
	}
	done := filepath.Join(cache, fmt.Sprintf("%d-commits-%d-files.git", commits, files))
	if _, err := os.Stat(done); err == nil {
		return done, nil
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", err
	}
	making, err := os.MkdirTemp(cache, "making-")
	if err != nil {
		return "", err
	}
	fmt.Fprintln(os.Stderr, "gitbench: making the repository, once; this takes a minute or two")
	if err := generate(ctx, making); err != nil {
		return "", errors.Join(fmt.Errorf("making the repository: %w", err), os.RemoveAll(making))
	}
	return done, os.Rename(making, done)
}

func generate(ctx context.Context, dir string) error {
	if _, err := plainGit(ctx, dir, "init", "-q", "--bare", "-b", "main"); err != nil {
		return err
	}
	history, in := io.Pipe()
	go func() { in.CloseWithError(writeHistory(in)) }()
	cmd := plainCommand(ctx, dir, "git", "fast-import", "--quiet")
	cmd.Stdin = history
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("git fast-import: %w\n%s", err, out)
	}
	_, err := plainGit(ctx, dir, "repack", "-a", "-d", "-f", "-q", "--window=5")
	return err
}

// writeHistory writes what fast-import reads: a commit with all files, then many
// with a few changes each.
func writeHistory(to io.Writer) error {
	w := bufio.NewWriterSize(to, 1<<20)
	beginCommit(w, 0)
	for file := range files {
		writeChange(w, file, 0)
	}
	for n := 1; n < commits; n++ {
		beginCommit(w, n)
		for k := range touched {
			writeChange(w, (n*7919+k*104729)%files, n)
		}
	}
	return w.Flush()
}

func beginCommit(w io.Writer, n int) {
	message := fmt.Sprintf("Change %d\n", n)
	fmt.Fprintf(w, "commit refs/heads/main\nmark :%d\ncommitter User <user@example.com> %d +0000\ndata %d\n%s", n+1, 1_600_000_000+n*60, len(message), message)
	if n > 0 {
		fmt.Fprintf(w, "from :%d\n", n)
	}
}

func writeChange(w io.Writer, file, revision int) {
	var text strings.Builder
	fmt.Fprintf(&text, "package p%d\n\n// File %d, revision %d.\n", file/40, file, revision)
	for i := range 20 {
		fmt.Fprintf(&text, "func F%d_%d() int { return %d }\n", file, i, file*i+revision)
	}
	fmt.Fprintf(w, "M 100644 inline %s\ndata %d\n%s\n", filePath(file), text.Len(), text.String())
}

// filePath is where a file lies: 10 folders with 50 folders with 40 files each.
func filePath(file int) string {
	return fmt.Sprintf("d%02d/p%03d/f%05d.go", file/2000, file/40, file)
}
