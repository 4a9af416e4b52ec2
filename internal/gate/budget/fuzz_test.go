package budget

import (
	"bytes"
	"os"
	"testing"

	"github.com/agent-loop/ralph/internal/money"
)

// FuzzRecord reads lines that need not be ours. What is accepted can be written
// again, and reads the same.
func FuzzRecord(f *testing.F) {
	for _, r := range []record{
		{Op: opLedger, V: version},
		{Op: opCaps, NanoUSD: 1 << 62, At: "2026-01-02T03:04:05.678Z"},
		{Op: opHold, Owner: "0011223344556677", N: 1, NanoUSD: 5, Tokens: 9, Run: "r", Note: "\u2028<é>"},
		{Op: opEnd, Owner: "x"},
	} {
		line, _, err := encode(r, 7)
		must(f, err)
		f.Add(line[:len(line)-1], uint32(7))
		f.Add(line[:len(line)-1], uint32(8))
	}
	for _, text := range []string{"", ",", "{}", `,"sum":"00000000"}`, `{"op":"hold","sum":"zzzzzzzz"}`} {
		f.Add([]byte(text), uint32(0))
	}
	f.Fuzz(func(t *testing.T, line []byte, previous uint32) {
		// The sum is made right, for fuzzing would hardly find one.
		for _, line := range [][]byte{line, appendSum(bytes.Clone(line), checksum(previous, line))} {
			r, sum, err := decode(line, previous)
			if err != nil {
				continue
			}
			again, _, err := encode(r, previous)
			if err != nil {
				continue // longer than a line may be
			}
			got, _, err := decode(again[:len(again)-1], previous)
			if err != nil || got != r {
				t.Fatalf("%q read as %+v, written and read as %+v, %v", line, r, got, err)
			}
			if _, _, err := decode(line, ^previous); err == nil {
				t.Fatalf("%q with sum %08x was accepted in another place", line, sum)
			}
		}
	})
}

// FuzzDamage spoils one byte of a good ledger. It is refused, or the byte was in
// the line feed of the last line, or it says the same.
func FuzzDamage(f *testing.F) {
	content, caps := sample(f)
	for _, at := range []uint16{0, 1, 40, 100, uint16(len(content) - 2), uint16(len(content) - 1)} {
		f.Add(at, byte(1))
		f.Add(at, byte('\n'))
	}
	f.Fuzz(func(t *testing.T, at uint16, to byte) {
		if int(at) >= len(content) || content[at] == to || int(at) == len(content)-1 {
			return
		}
		bad := bytes.Clone(content)
		bad[at] = to
		if _, err := Open(ledgerOf(t, bad), caps); !isDamaged(err) {
			t.Fatalf("with %q for %q at byte %d: %v", to, content[at], at, err)
		}
	})
}

// FuzzModel drives two ledgers of one file by a script of operations, and a model
// of them that is a few sums.
func FuzzModel(f *testing.F) {
	f.Add([]byte{0, 40, 0, 90, 1, 30, 2, 0, 3, 0, 0, 200, 4, 120, 5, 0, 6, 0, 0, 7, 1, 255})
	f.Add([]byte{0, 250, 8, 10, 0, 1, 1, 251, 0, 0, 4, 252, 0, 1, 7, 5, 6, 6})
	f.Add(bytes.Repeat([]byte{0, 13}, 20))
	f.Add(bytes.Repeat([]byte{0, 13, 8, 13, 1, 12, 14, 0}, 8))
	f.Fuzz(func(t *testing.T, script []byte) {
		m := newModel(t)
		for ; len(script) >= 2 && len(m.done) < 60; script = script[2:] {
			m.step(script[0], money.USD(script[1]))
			m.check(script)
		}
	})
}

// model is what two ledgers should say.
type model struct {
	t         *testing.T
	path      string
	ledgers   [2]*Ledger
	open      []modelHold
	cap       money.USD
	spent     money.USD
	uncertain money.USD
	done      []byte
}

type modelHold struct {
	hold  *Hold
	held  money.USD
	owner int
}

const modelCap = 255 * money.Nano

func newModel(t *testing.T) *model {
	m := &model{t: t, path: newPath(t), cap: modelCap}
	for i := range m.ledgers {
		m.ledgers[i] = opened(t, m.path, Caps{USD: modelCap})
		m.ledgers[i].journal.syncer.sync = func(*os.File) error { return nil } // for speed
	}
	return m
}

func (m *model) held() money.USD {
	var sum money.USD
	for _, h := range m.open {
		sum += h.held
	}
	return sum
}

// step does one operation, with the ledger that the highest used bit names.
func (m *model) step(op byte, amount money.USD) {
	m.done = append(m.done, op)
	owner := int(op >> 3 & 1)
	switch op & 7 {
	case 0, 1:
		m.reserve(owner, amount)
	case 2, 3, 4, 5:
		m.end(op&7, amount)
	case 6:
		m.reopen(owner)
	case 7:
		m.cap = modelCap/2 + amount
		must(m.t, m.ledgers[owner].SetCaps(m.t.Context(), Caps{USD: m.cap}))
	}
}

func (m *model) reserve(owner int, amount money.USD) {
	h, err := m.ledgers[owner].Reserve(m.t.Context(), Claim{Amount: usd(amount)})
	fits := m.spent+m.uncertain+m.held()+amount <= m.cap
	if fits != (err == nil) || err != nil && !isSpent(err) {
		m.t.Fatalf("after %v: reserving %v: %v", m.done, amount, err)
	}
	if fits {
		m.open = append(m.open, modelHold{h, amount, owner})
	}
}

// end ends the oldest or the newest hold.
func (m *model) end(how byte, amount money.USD) {
	if len(m.open) == 0 {
		return
	}
	h := m.open[0]
	m.open = m.open[1:]
	var err error
	over := amount > h.held
	switch how {
	case 2, 3:
		err = h.hold.Settle(usd(amount))
		m.spent += amount
	case 4:
		err = h.hold.Forfeit(usd(amount))
		m.uncertain += max(amount, h.held)
	case 5:
		err, over = h.hold.Release(), false
	}
	if over != (err != nil) {
		m.t.Fatalf("after %v: ending: %v", m.done, err)
	}
}

// reopen closes a ledger with its open holds.
func (m *model) reopen(owner int) {
	must(m.t, m.ledgers[owner].Close())
	var open []modelHold
	for _, h := range m.open {
		if h.owner == owner {
			m.uncertain += h.held
		} else {
			open = append(open, h)
		}
	}
	m.open = open
	m.ledgers[owner] = opened(m.t, m.path, Caps{USD: m.cap})
}

func (m *model) check(script []byte) {
	want := Totals{Spent: usd(m.spent), Uncertain: usd(m.uncertain), Held: usd(m.held()), Open: int64(len(m.open))}
	for i, l := range m.ledgers {
		got := totals(m.t, l)
		got.Calls = 0
		if got != want {
			m.t.Fatalf("ledger %d at %v: %+v, want %+v", i, script, got, want)
		}
	}
}
