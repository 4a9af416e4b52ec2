package git

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
)

// BadImportError is why commits of a sandbox are not taken. The rest of the run is
// none the worse for it.
type BadImportError struct{ Why string }

func (e *BadImportError) Error() string { return "the commits cannot be taken: " + e.Why }

func bad(format string, args ...any) error {
	return &BadImportError{fmt.Sprintf(format, args...)}
}

const (
	maxHeaderLine  = 1 << 10
	maxHeaderLines = 64
	maxSkipped     = 256 << 10 // of a line that is not looked at
)

// header is what a sandbox says about the objects that follow.
type header struct {
	tip  string
	pack bool // objects follow
}

// readHeader reads what CollectScript prints before the objects: a line with the
// tip, and the header of a bundle that has exactly one ref, the run's own.
func readHeader(in *bufio.Reader, format, branch string) (header, error) {
	first, err := readLine(in)
	if err != nil {
		return header{}, err
	}
	tip, ok := strings.CutPrefix(first, "tip ")
	if !ok || !isObjectName(tip, format) {
		return header{}, bad("the sandbox did not say which commit it is at")
	}
	if _, err := in.Peek(1); errors.Is(err, io.EOF) {
		return header{tip: tip}, nil
	}
	return header{tip: tip, pack: true}, readBundle(in, format, branch, tip)
}

// readBundle reads a bundle up to its pack.
func readBundle(in *bufio.Reader, format, branch, tip string) error {
	signature, err := readLine(in)
	if err != nil {
		return err
	}
	if signature != "# v2 git bundle" && signature != "# v3 git bundle" {
		return bad("what the sandbox sent is no bundle")
	}
	refs := 0
	for range maxHeaderLines {
		// What it builds on is found out from the objects. The line holds what the
		// commit's message begins with, and that can be long.
		if first, _ := in.Peek(1); refs == 0 && string(first) == "-" {
			if err := skipLine(in); err != nil {
				return err
			}
			continue
		}
		line, err := readLine(in)
		if err != nil {
			return err
		}
		switch {
		case line == "":
			if refs != 1 {
				return bad("the bundle has %d refs, not one", refs)
			}
			return nil
		case line[0] == '@' && refs == 0:
			if line != "@object-format="+format {
				return bad("the bundle asks for %q", line)
			}
		case line == tip+" refs/heads/"+branch:
			refs++
		default:
			return bad("the bundle holds %q, and not the run's branch alone", line)
		}
	}
	return bad("the bundle's header has more than %d lines", maxHeaderLines)
}

// skipLine reads past a line.
func skipLine(in *bufio.Reader) error {
	for range maxSkipped / in.Size() {
		_, err := in.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		return readError(err)
	}
	return readError(bufio.ErrBufferFull)
}

func readLine(in *bufio.Reader) (string, error) {
	line, err := in.ReadSlice('\n')
	if err == nil && len(line) > maxHeaderLine {
		err = bufio.ErrBufferFull
	}
	if err != nil {
		return "", readError(err)
	}
	return string(line[:len(line)-1]), nil
}

// readError is why a header cannot be read; nil: it can.
func readError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, bufio.ErrBufferFull):
		return bad("a line of the bundle's header is too long")
	case errors.Is(err, io.EOF):
		return bad("what the sandbox sent ends too early")
	}
	return fmt.Errorf("reading the bundle: %w", err)
}

// isObjectName tells whether a text is the whole name of an object.
func isObjectName(name, format string) bool {
	length := 40
	if format == "sha256" {
		length = 64
	}
	return len(name) == length && strings.Trim(name, "0123456789abcdef") == ""
}
