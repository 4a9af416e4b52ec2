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
		case line[0] == '-' && refs == 0: // what it builds on is found out from the objects
		case line == tip+" refs/heads/"+branch:
			refs++
		default:
			return bad("the bundle holds %q, and not the run's branch alone", line)
		}
	}
	return bad("the bundle's header has more than %d lines", maxHeaderLines)
}

func readLine(in *bufio.Reader) (string, error) {
	line, err := in.ReadSlice('\n')
	switch {
	case errors.Is(err, bufio.ErrBufferFull), err == nil && len(line) > maxHeaderLine:
		return "", bad("a line of the bundle's header is too long")
	case errors.Is(err, io.EOF):
		return "", bad("what the sandbox sent ends too early")
	case err != nil:
		return "", fmt.Errorf("reading the bundle: %w", err)
	}
	return string(line[:len(line)-1]), nil
}

// isObjectName tells whether a text is the whole name of an object.
func isObjectName(name, format string) bool {
	length := 40
	if format == "sha256" {
		length = 64
	}
	return len(name) == length && strings.Trim(name, "0123456789abcdef") == ""
}
