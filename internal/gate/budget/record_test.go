package budget

import (
	"strings"
	"testing"
)

// TestTheFormatStays fails when a change would make old ledgers unreadable.
func TestTheFormatStays(t *testing.T) {
	var sum uint32
	for _, c := range []struct {
		r    record
		line string
	}{
		{record{Op: opLedger, V: version}, `{"op":"ledger","v":1,"sum":"4b546a89"}`},
		{record{Op: opHold, Owner: "00ff", N: 3, NanoUSD: 52_000_000, Tokens: 9, Run: "r<", Note: "\u2028\"", At: "t"},
			`{"op":"hold","owner":"00ff","n":3,"nano_usd":52000000,"tokens":9,"run":"r<","note":"` + "\u2028" + `\"","at":"t","sum":"df2b12d6"}`},
		{record{Op: opRelease, Owner: "00ff", N: 3}, `{"op":"release","owner":"00ff","n":3,"sum":"e4314fb5"}`},
	} {
		line, next, err := encode(c.r, sum)
		if err != nil || string(line) != c.line+"\n" {
			t.Errorf("%+v is written as %s, %v, want %s", c.r, line, err, c.line)
		}
		if got, _, err := decode(line[:len(line)-1], sum); err != nil || got != c.r {
			t.Errorf("%s is read as %+v, %v", line, got, err)
		}
		sum = next
	}
}

func TestLinesThatAreNoRecords(t *testing.T) {
	summed := func(body string) string { return string(appendSum([]byte(body), checksum(0, []byte(body)))) }
	for _, line := range []string{
		"", ",", "{}", `{"op":"hold"}`,
		summed(""), summed("{"), summed(`{"op":7`), summed(`{"op":"hold","n":1.5`), summed(`{"op":"a","op":"b"`),
		summed(`{"op":"hold","n":99999999999999999999`), summed("{\"op\":\"\xff\""), summed(`{}{"op":"hold"`),
		strings.ToUpper(summed(`{"op":"hold"`)),
	} {
		if r, _, err := decode([]byte(line), 0); err == nil {
			t.Errorf("%q was read as %+v", line, r)
		}
	}
}

// TestRecordsThatMakeNoSense are well formed, and would make totals wrong.
func TestRecordsThatMakeNoSense(t *testing.T) {
	begun := []record{{Op: opLedger, V: version}, {Op: opHold, Owner: "a", N: 1, NanoUSD: 5, Tokens: 5}}
	for name, r := range map[string]record{
		"unknown":                  {Op: "refund", Owner: "a", N: 1},
		"a second beginning":       {Op: opLedger, V: version},
		"negative settlement":      {Op: opSettle, Owner: "a", N: 1, NanoUSD: -5},
		"negative hold":            {Op: opHold, Owner: "a", N: 2, Tokens: -5},
		"negative cap":             {Op: opCaps, NanoUSD: -1},
		"hold twice":               {Op: opHold, Owner: "a", N: 1},
		"hold of nobody":           {Op: opHold, N: 2},
		"hold without number":      {Op: opHold, Owner: "a"},
		"more than can be counted": {Op: opHold, Owner: "a", N: 2, NanoUSD: 1<<63 - 1},
		"end of what never began":  {Op: opRelease, Owner: "b", N: 1},
	} {
		s := newState()
		for _, first := range begun {
			must(t, s.apply(first))
		}
		before := s.all
		if err := s.apply(r); err == nil || s.all != before {
			t.Errorf("%s: %v, totals %+v, before %+v", name, err, s.all, before)
		}
	}
	s := newState()
	if err := s.apply(begun[1]); err == nil {
		t.Error("a ledger began with a hold")
	}
}
