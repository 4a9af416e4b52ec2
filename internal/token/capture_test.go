package token

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
)

const printed = "sk-ant-oat01-" + "Abc_DEF-0123456789Abc_DEF-0123456789Abc_DEF-0123456789Abc_DEF-0123456789Abc_DEF-0123456789Abc-AA"

func TestCapture(t *testing.T) {
	for _, test := range []struct{ name, output, want string }{
		{"plain", "Your token:\n\n" + printed + "\n\nStore it.\n", printed},
		{"terminal's line ends", "Your token:\r\n\r\n" + printed + "\r\n\r\nStore it.\r\n", printed},
		{"in a sentence", "token " + printed + " is yours", printed},
		{"coloured", "\x1b[33m" + printed + "\x1b[39m\r\n", printed},
		{"coloured within", "sk-ant-\x1b[1m" + printed[7:20] + "\x1b[0m" + printed[20:] + "\r\n", printed},
		{"painted twice", printed + "\r\n\x1b[2K\x1b[1A\x1b[2K\x1b[G" + printed + "\r\n", printed},
		{"something painted right behind it", printed + "\x1b[1C" + "Store\r\n", printed},
		{"with a title set", "\x1b]0;sk-ant-oat01-not-this-one-aaaaaaaaaa\x07" + printed, printed},
		{"with a title that another sequence cuts off", "\x1b]0;title\x1b[33m" + printed + "\r\n", printed},
		{"with a title behind it that a move cuts off", printed + "\x1b]0;title\x1b[1CStore\r\n", printed},
		{"with a title that is cancelled", "\x1b]0;title\x18" + printed + "\r\n", printed},
		{"with a sequence that is cancelled", "\x1b[12\x1a" + printed + "\r\n", printed},
		{"the last of two", "sk-ant-oat01-" + strings.Repeat("x", 40) + "\n" + printed + "\n", printed},
		{"wrapped", printed[:80] + "\r\n" + printed[80:] + "\r\n\r\nStore it\r\n", printed},
		{"indented and wrapped", "  " + printed[:78] + "\r\n  " + printed[78:] + "\r\n", printed},
		{"followed by a word", "  " + printed[:40] + "\r\nDone\r\n", printed[:40]},
		{"none", "Login failed\r\n", ""},
		{"a placeholder", "prints sk-ant-oat01-...\r\n", ""},
		{"an API key", "sk-ant-api03-" + strings.Repeat("x", 40), ""},
		{"too long", "sk-ant-oat01-" + strings.Repeat("x", MaxSize), ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, size := range []int{1, 7, 1 << 20} { // in pieces of any size
				var screen bytes.Buffer
				c := NewCapture(&screen)
				for rest := []byte(test.output); len(rest) > 0; {
					n := min(size, len(rest))
					_, _ = c.Write(rest[:n])
					rest = rest[n:]
				}
				if got := c.Token().Reveal(); got != test.want {
					t.Errorf("captured %q, want %q", got, test.want)
				}
				if shown := plainText(screen.Bytes()); strings.Contains(shown, printed[13:40]) || strings.Contains(shown, printed[85:]) {
					t.Errorf("the screen shows %q", &screen)
				}
				if screen.Len() != len(test.output) {
					t.Errorf("the screen got %d bytes of %d", screen.Len(), len(test.output))
				}
			}
		})
	}
}

// However much a program prints, the end of it counts.
func TestCaptureOfMuch(t *testing.T) {
	var screen bytes.Buffer
	c := NewCapture(&screen)
	for range 3000 {
		_, _ = c.Write(bytes.Repeat([]byte("spinning\r"), 100))
	}
	_, _ = c.Write([]byte("\r\n" + printed + "\r\n"))
	if !c.Token().Equal(printed) {
		t.Error("it was not captured")
	}
	if len(c.tail) > 3*maxCaptured {
		t.Errorf("%d bytes are kept", len(c.tail))
	}
}

var shownToken = regexp.MustCompile(`sk-ant-[A-Za-z0-9_-]`)

func FuzzCapture(f *testing.F) {
	f.Add([]byte("a "+printed+"\r\n"), uint8(3))
	f.Add([]byte("\x1b[1msk-\x1b[0mant-\x1b]0;x\x1b\\oat01-abcdefghijklmnopqrst\x1b"), uint8(1))
	f.Add([]byte("sk-sk-ant-oat01-\r\nabc\n\nabc\x1b["), uint8(50))
	f.Fuzz(func(t *testing.T, output []byte, size uint8) {
		var screen bytes.Buffer
		c := NewCapture(&screen)
		for rest := output; len(rest) > 0; {
			n := min(int(size)+1, len(rest))
			_, _ = c.Write(rest[:n])
			rest = rest[n:]
		}
		if screen.Len() != len(output) {
			t.Errorf("the screen got %d bytes of %d", screen.Len(), len(output))
		}
		if shown := plainText(screen.Bytes()); shownToken.MatchString(shown) {
			t.Errorf("%q shows as %q", output, shown)
		}
		if got := c.Token(); !got.IsZero() && checkText(got.Reveal()) != nil {
			t.Errorf("captured %q", got.Reveal())
		}
	})
}
