package task

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
)

const (
	// ProgressFile is where iterations tell those after them what they learned.
	ProgressFile = "progress.txt"

	// patternsHeading begins the section that agents keep up to date, in
	// contrast to the entries below it, which they only append.
	patternsHeading = "## Codebase Patterns"

	maxPatterns = 8 << 10
)

// ReadProgress returns the end of the progress file, at most limit bytes from
// the beginning of a line on. The section of patterns at the top of the file is
// kept when the rest is cut. A file that does not exist is empty; one that has
// grown without bound costs no more than a short one.
func ReadProgress(root *os.Root, name string, limit int) (string, error) {
	if limit <= 0 {
		return "", nil
	}
	f, size, err := openRegular(root, name)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("reading %s: %w", name, err)
	}
	defer f.Close()
	if size <= int64(limit) {
		whole, err := readAt(f, 0, limit)
		return whole, wrapReading(name, err)
	}
	head, err := readAt(f, 0, min(maxPatterns, limit/2))
	if err != nil {
		return "", wrapReading(name, err)
	}
	kept := patterns(head)
	tail, err := readAt(f, size-int64(limit-len(kept)), limit-len(kept))
	return kept + fromLineStart(tail), wrapReading(name, err)
}

func wrapReading(name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("reading %s: %w", name, err)
}

func readAt(f *os.File, offset int64, limit int) (string, error) {
	data, err := io.ReadAll(io.NewSectionReader(f, offset, int64(limit)))
	return printable(string(data)), err
}

// patterns returns the section of patterns at the top of a file, or "".
func patterns(head string) string {
	at := strings.Index("\n"+head, "\n"+patternsHeading)
	if at < 0 {
		return ""
	}
	section := head[at:]
	for _, end := range []string{"\n## ", "\n### ", "\n---"} {
		if i := strings.Index(section[1:], end); i >= 0 {
			section = section[:i+2]
		}
	}
	return strings.TrimRight(section, "\n") + "\n\n"
}

// fromLineStart drops the first line, of which the beginning is missing. A text
// of one endless line is kept.
func fromLineStart(tail string) string {
	if _, rest, found := strings.Cut(tail, "\n"); found {
		return rest
	}
	return tail
}
