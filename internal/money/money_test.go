package money

import (
	"encoding/json"
	"math"
	"testing"
)

func TestParseAndString(t *testing.T) {
	for text, want := range map[string]struct {
		amount USD
		shown  string
	}{
		"0":            {0, "$0.00"},
		"10":           {10 * Dollar, "$10.00"},
		"$3.25":        {3*Dollar + 25*Cent, "$3.25"},
		"0.5":          {50 * Cent, "$0.50"},
		"0.000000001":  {Nano, "$0.000000001"},
		"0.0075":       {7500 * Micro, "$0.0075"},
		"9223372036":   {9223372036 * Dollar, "$9223372036.00"},
		"1.123456789":  {1_123_456_789, "$1.123456789"},
		"100.10000000": {100*Dollar + 10*Cent, "$100.10"},
	} {
		amount, err := Parse(text)
		if err != nil || amount != want.amount || amount.String() != want.shown {
			t.Errorf("Parse(%q) = %d %q %v, want %d %q", text, amount, amount, err, want.amount, want.shown)
		}
	}
	for _, text := range []string{"", ".", "1.", ".5", "-1", "1e3", "NaN", "1,5", "9223372037", "99999999999999999999", "1.0000000001", "٣"} {
		if amount, err := Parse(text); err == nil {
			t.Errorf("Parse(%q) = %v, want an error", text, amount)
		}
	}
}

func TestFromFloatKeepsDecimalSpelling(t *testing.T) {
	for dollars, want := range map[float64]USD{0.29: 29 * Cent, 10: 10 * Dollar, 1.1: 110 * Cent, 0: 0, 1e9: 1_000_000_000 * Dollar} {
		if amount, err := FromFloat(dollars); err != nil || amount != want {
			t.Errorf("FromFloat(%v) = %d, %v, want %d", dollars, amount, err, want)
		}
	}
	for _, dollars := range []float64{-1, math.NaN(), math.Inf(1), 1e12, 1e-10} {
		if amount, err := FromFloat(dollars); err == nil {
			t.Errorf("FromFloat(%v) = %v, want an error", dollars, amount)
		}
	}
}

func TestPricesRoundUpAndNeverWrap(t *testing.T) {
	for _, c := range []struct {
		price  USD
		tokens int64
		want   USD
	}{
		{3 * Dollar, 1_000_000, 3 * Dollar},
		{3 * Dollar, 1, 3 * Micro},
		{1, 1, 1}, // a millionth of a nano-dollar is one, not none
		{75 * Micro, 13, 1},
		{0, 100, 0},
		{Dollar, -5, 0},
		{Most, math.MaxInt64, Most},
		{Most, 2_000_000, Most},
	} {
		if got := c.price.PerMillion(c.tokens); got != c.want {
			t.Errorf("%v for %d tokens = %v, want %v", c.price, c.tokens, got, c.want)
		}
	}
	if Most.Add(1) != Most || Dollar.Add(Cent) != 101*Cent {
		t.Error("Add does not saturate")
	}
	if Most.Times(2) != Most || Cent.Times(3) != 3*Cent {
		t.Error("Times does not saturate")
	}
}

func TestJSONIsAnExactNumberOfDollars(t *testing.T) {
	text, err := json.Marshal(map[string]USD{"cost": 7500*Micro + 1})
	if err != nil || string(text) != `{"cost":0.007500001}` {
		t.Errorf("marshalled %s, %v", text, err)
	}
	var back map[string]USD
	if err := json.Unmarshal(text, &back); err != nil || back["cost"] != 7500*Micro+1 {
		t.Errorf("read back %v, %v", back, err)
	}
}
