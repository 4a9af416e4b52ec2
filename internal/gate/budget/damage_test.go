package budget

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-loop/ralph/internal/money"
)

// sample is a ledger in which everything has happened, and its caps.
func sample(t testing.TB) ([]byte, Caps) {
	t.Helper()
	path, caps := newPath(t), Caps{USD: 10 * money.Dollar}
	l := opened(t, path, Caps{USD: money.Dollar})
	must(t, reserved(t, l, cents(10)).Settle(usd(4*money.Cent)))
	must(t, reserved(t, l, cents(20)).Forfeit(Amount{}))
	must(t, reserved(t, l, cents(30)).Release())
	must(t, l.SetCaps(t.Context(), caps))
	reserved(t, l, Claim{Amount: Amount{40 * money.Cent, 7}, Run: "run", Note: "note"})
	must(t, l.Close())
	content, err := os.ReadFile(path)
	must(t, err)
	return content, caps
}

// ledgerOf writes a file that may be a ledger.
func ledgerOf(t testing.TB, content []byte) string {
	t.Helper()
	path := newPath(t)
	must(t, os.WriteFile(path, content, 0o600))
	return path
}

func TestALineThatWasNeverFinishedIsCut(t *testing.T) {
	content, _ := sample(t)
	for length := range content {
		path := ledgerOf(t, content[:length])
		whole := bytes.LastIndexByte(content[:length], '\n') + 1
		l, err := OpenExisting(path)
		if lines := bytes.Count(content[:whole], []byte("\n")); lines < 2 {
			if err == nil || isDamaged(err) { // never had caps, so never held anything
				t.Fatalf("cut at byte %d: %v", length, err)
			}
			continue
		}
		if err != nil {
			t.Fatalf("cut at byte %d: %v", length, err)
		}
		before := totals(t, l)
		l.journal.syncer.sync = func(*os.File) error { return nil } // for speed
		must(t, l.SetCaps(t.Context(), Caps{Tokens: 77}))           // goes behind the cut
		must(t, l.Close())
		l, err = Open(path, Caps{Tokens: 77})
		if err != nil {
			t.Fatalf("cut at byte %d, and written on: %v", length, err)
		}
		if after := totals(t, l); after != before {
			t.Fatalf("cut at byte %d: totals %+v, want %+v", length, after, before)
		}
		must(t, l.Close())
		if got, _ := os.ReadFile(path); !bytes.HasPrefix(got, content[:whole]) || got[len(got)-1] != '\n' {
			t.Fatalf("cut at byte %d: whole lines were changed, or the rest was left", length)
		}
	}
}

func TestALedgerWithoutCapsGetsThemWhenOpened(t *testing.T) {
	content, _ := sample(t)
	second := bytes.IndexByte(content, '\n') + 10 // in the middle of the caps
	for length := range second {
		l := opened(t, ledgerOf(t, content[:length]), Caps{USD: 3})
		if got, err := l.Caps(); got != (Caps{USD: 3}) || err != nil {
			t.Errorf("cut at byte %d: caps %+v %v", length, got, err)
		}
	}
}

func TestZeroesAtTheEndAreCut(t *testing.T) {
	content, caps := sample(t) // as some file systems leave them at a power loss
	path := ledgerOf(t, append(bytes.Clone(content), make([]byte, 1000)...))
	if got := totals(t, opened(t, path, caps)); got.Calls != 3 {
		t.Errorf("totals %+v", got)
	}
	if got, _ := os.ReadFile(path); !bytes.Equal(got, content) {
		t.Errorf("the file has %d bytes, want %d", len(got), len(content))
	}
}

func TestDamageRefusesToSpend(t *testing.T) {
	content, caps := sample(t)
	lines := bytes.SplitAfter(content, []byte("\n"))
	join := func(lines ...[]byte) []byte { return bytes.Join(lines, nil) }
	altered := bytes.Replace(content, []byte(`"nano_usd":200000000`), []byte(`"nano_usd":100000000`), 1)
	if bytes.Equal(altered, content) {
		t.Fatal("the sample has no such line")
	}
	for name, bad := range map[string][]byte{
		"altered amount":        altered,
		"lost line":             join(append(lines[:3:3], lines[4:]...)...),
		"line twice":            join(append(lines[:4:4], lines[3:]...)...),
		"lines swapped":         join(append([][]byte{lines[0], lines[1], lines[3], lines[2]}, lines[4:]...)...),
		"no first line":         join(lines[1:]...),
		"first line twice":      join(append(lines[:1:1], lines...)...),
		"garbage between":       join(append(lines[:3:3], append([][]byte{[]byte("garbage\n")}, lines[3:]...)...)...),
		"empty line":            join(content, []byte("\n")),
		"last line altered":     append(content[:len(content)-3:len(content)-3], "x}\n"...),
		"endless last line":     join(content, bytes.Repeat([]byte("x"), maxLine+1)),
		"endless line":          join(content, bytes.Repeat([]byte("x"), 20*maxLine), []byte("\n")),
		"another kind of file":  []byte("# shopping list\n"),
		"another, without feed": []byte("# shopping list"),
	} {
		t.Run(name, func(t *testing.T) {
			path := ledgerOf(t, bad)
			if _, err := Open(path, caps); !isDamaged(err) || !strings.Contains(err.Error(), "move it away") {
				t.Errorf("opened: %v", err)
			}
			if got, _ := os.ReadFile(path); !bytes.Equal(got, bad) {
				t.Error("the file was changed")
			}
		})
	}
}

func TestDamageIsFoundWhileOpen(t *testing.T) {
	for name, spoil := range map[string]func(path string) error{
		"line appended": func(path string) error {
			f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
			if err == nil {
				_, err = f.WriteString("garbage\n")
				err = errors.Join(err, f.Close())
			}
			return err
		},
		"file emptied": func(path string) error { return os.Truncate(path, 0) },
		"file removed": os.Remove,
		"file replaced": func(path string) error {
			if err := os.Rename(path, path+".old"); err != nil {
				return err
			}
			return os.WriteFile(path, nil, 0o600)
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := newPath(t)
			l := opened(t, path, Caps{USD: money.Dollar})
			h := reserved(t, l, cents(1))
			must(t, spoil(path))
			if _, err := l.Reserve(t.Context(), cents(1)); err == nil {
				t.Error("reserved")
			}
			if err := h.Release(); err == nil {
				t.Error("released")
			}
			if _, err := l.Totals(); err == nil {
				t.Error("totals were given")
			}
		})
	}
}

func TestAnotherFormatIsRefused(t *testing.T) {
	line, _, err := encode(record{Op: opLedger, V: version + 1}, 0)
	must(t, err)
	if _, err := Open(ledgerOf(t, line), Caps{}); !isDamaged(err) || !strings.Contains(err.Error(), "another version") {
		t.Errorf("opened: %v", err)
	}
}

func TestOpenExistingMakesNothing(t *testing.T) {
	path := newPath(t)
	if _, err := OpenExisting(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("opened: %v", err)
	}
	if _, err := os.Lstat(path); err == nil {
		t.Error("a file was made")
	}
	if _, err := Open(filepath.Join(path, "below", "nothing"), Caps{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("opened in a directory that is not there: %v", err)
	}
}
