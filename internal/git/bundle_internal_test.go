package git

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
)

const (
	oneTip  = "0123456789abcdef0123456789abcdef01234567"
	tip256  = oneTip + "0123456789abcdef01234567"
	oneLine = oneTip + " refs/heads/ralph/x"
)

func headers() []string {
	return []string{
		"",
		"tip " + oneTip + "\n",
		"tip " + tip256 + "\n",
		"tip " + oneTip + "\n# v2 git bundle\n" + oneLine + "\n\nPACK",
		"tip " + oneTip + "\n# v2 git bundle\n-" + oneTip + " first\n" + oneLine + "\n\nPACK",
		"tip " + oneTip + "\n# v3 git bundle\n@object-format=sha1\n" + oneLine + "\n\nPACK",
		"tip " + tip256 + "\n# v3 git bundle\n@object-format=sha256\n" + tip256 + " refs/heads/ralph/x\n\nPACK",
		"tip " + oneTip + "\n# v2 git bundle\n" + oneLine + "\n" + oneTip + " refs/heads/main\n\nPACK",
		"tip " + oneTip + "\n# v2 git bundle\n" + oneTip + " HEAD\n\n",
		"tip " + oneTip + "\n# v2 git bundle\n-" + strings.Repeat("x", 5000) + "\n" + oneLine + "\n\nPACK",
		"tip " + oneTip + "\n# v2 git bundle\n-",
		"tip " + oneTip + "\n\n\n\n",
		strings.Repeat("\x00", 2000),
	}
}

// FuzzReadHeader: a header is refused with a reason, or it is the one that is wanted,
// and what follows it is left for others.
func FuzzReadHeader(f *testing.F) {
	for _, seed := range headers() {
		f.Add([]byte(seed), "ralph/x", false)
		f.Add([]byte(seed), "ralph/x", true)
	}
	f.Fuzz(func(t *testing.T, data []byte, branch string, long bool) {
		format := "sha1"
		if long {
			format = "sha256"
		}
		in := bufio.NewReaderSize(bytes.NewReader(data), maxHeaderLine)
		got, err := readHeader(in, format, branch)
		var refused *BadImportError
		if err != nil {
			if !errors.As(err, &refused) || strings.ContainsAny(refused.Why, "\n\x1b") {
				t.Fatalf("%q", err)
			}
			return
		}
		rest, _ := io.ReadAll(in)
		head := data[:len(data)-len(rest)]
		line := got.tip + " refs/heads/" + branch + "\n"
		switch {
		case !isObjectName(got.tip, format) || !bytes.HasPrefix(head, []byte("tip "+got.tip+"\n")):
			t.Errorf("the tip is %q", got.tip)
		case !got.pack && len(head) != len("tip \n")+len(got.tip):
			t.Errorf("no pack, and yet %q", head)
		case got.pack && !bytes.HasSuffix(head, []byte("\n"+line+"\n")):
			t.Errorf("the header is %q", head)
		case got.pack && bytes.Contains(bytes.TrimSuffix(head, []byte(line+"\n")), []byte(" refs/heads/main\n")) && !bytes.Contains(head, []byte("\n-")):
			t.Errorf("another ref was taken: %q", head)
		}
	})
}

// FuzzParseTree: what is no tree is refused, and what is one is counted.
func FuzzParseTree(f *testing.F) {
	object := strings.Repeat("x", 20)
	f.Add([]byte(""))
	f.Add([]byte("100644 a\x00" + object))
	f.Add([]byte("40000 a\x00" + object + "120000 b\x00" + object))
	f.Add([]byte("100644 a\x00short"))
	f.Add([]byte("100644a"))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, ok := parseTree(data, 20)
		if !ok {
			return
		}
		if got.paths*22 > int64(len(data)) || got.bytes > int64(len(data)) || int64(len(got.below)) > got.paths || got.longest > got.bytes {
			t.Errorf("%q is %+v", data, got)
		}
	})
}

// FuzzCommitsAreTakenApart: whatever a commit says, it is taken apart without harm, and
// its message gets the run's trailers exactly once.
func FuzzCommitsAreTakenApart(f *testing.F) {
	for _, seed := range []string{
		"", "\n\n", "tree x\nparent y\nauthor a <b> 1 +0000\ncommitter a <b> 1 +0000\n\nsubject\n\nbody\n",
		"tree x\nauthor a\ncommitter <>\n\nRalph-Run: other\nralph-iteration : 7\n",
		"tree x\ngpgsig -----BEGIN\n more\n\nsubject\n\nSigned-off-by: a\n",
		"tree x\n\nsubject\r\n\r\nRalph-Run: r1\r\nRalph-Iteration: 99999999999999999999\r\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c := parseCommit("x", text)
		n := iterationOf(c.message, "r1", 3)
		if n < 1 || n > 3 {
			t.Errorf("iteration %d", n)
		}
		got := withTrailers(c.message, "r1", n)
		runs := 0
		for line := range strings.Lines(got) {
			if hasTrailer(strings.TrimRight(line, "\r\n"), trailerRun) {
				runs++
			}
		}
		if runs != 1 || got != withTrailers(got, "r1", n) {
			t.Errorf("%q becomes %q and then %q", c.message, got, withTrailers(got, "r1", n))
		}
	})
}
