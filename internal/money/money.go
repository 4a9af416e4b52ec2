// Package money counts US dollars exactly. Amounts are whole nano-dollars, for a
// model's token costs a fraction of a millionth of a dollar and a budget is kept
// to the cent: nothing here is a floating point number, and what must be rounded
// is rounded up, against the one who spends.
package money

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"strings"
)

// USD is an amount in nano-dollars. Sums and products that would overflow stay
// at Most, so that an absurd figure is dear and never negative.
type USD int64

// The units of an amount.
const (
	Nano   USD = 1
	Micro      = 1000 * Nano
	Cent       = 10_000 * Micro
	Dollar     = 100 * Cent
	Most   USD = math.MaxInt64
)

// Add returns a + b, at most Most. Neither may be negative.
func (a USD) Add(b USD) USD {
	if a > Most-b {
		return Most
	}
	return a + b
}

// PerMillion returns what count things cost at a for a million of them, rounded
// up to the next nano-dollar.
func (a USD) PerMillion(count int64) USD {
	if a <= 0 || count <= 0 {
		return 0
	}
	const million = 1_000_000
	high, low := bits.Mul64(uint64(a), uint64(count))
	if high >= million {
		return Most
	}
	quotient, rest := bits.Div64(high, low, million)
	if rest > 0 {
		quotient++
	}
	return USD(min(quotient, uint64(Most)))
}

// Times returns n times a, at most Most. Neither may be negative.
func (a USD) Times(n int64) USD {
	high, low := bits.Mul64(uint64(a), uint64(n))
	if high > 0 || low > uint64(Most) {
		return Most
	}
	return USD(low)
}

// FromFloat turns a figure of a configuration file into an amount, rounded to
// the nearest nano-dollar. It refuses what is no amount, and what is too small to
// be one: rounded to zero, a cap would be none.
func FromFloat(dollars float64) (USD, error) {
	if math.IsNaN(dollars) || dollars < 0 || dollars > float64(Most/Dollar) {
		return 0, fmt.Errorf("%v is not an amount of dollars", dollars)
	}
	// Through the decimal spelling: 0.29 * 1e9 is not 290000000.
	amount, err := Parse(fmt.Sprintf("%.9f", dollars))
	if err == nil && amount == 0 && dollars > 0 {
		return 0, fmt.Errorf("%v dollars are too few to be counted", dollars)
	}
	return amount, err
}

// Dollars is the amount as a float, for records that people read.
func (a USD) Dollars() float64 { return float64(a) / float64(Dollar) }

// Parse reads an amount such as "12", "0.5" or "$3.25".
func Parse(text string) (USD, error) {
	whole, fraction, dotted := strings.Cut(strings.TrimPrefix(text, "$"), ".")
	if dotted && fraction == "" || whole == "" || len(fraction) > 9 {
		return 0, errors.New("not an amount of dollars, such as 2.50")
	}
	fraction += strings.Repeat("0", 9-len(fraction))
	var amount USD
	for _, digit := range whole + fraction {
		if digit < '0' || digit > '9' {
			return 0, errors.New("not an amount of dollars, such as 2.50")
		}
		if amount > (Most-9)/10 {
			return 0, errors.New("more dollars than can be counted")
		}
		amount = amount*10 + USD(digit-'0')
	}
	return amount, nil
}

// MarshalJSON writes dollars as an exact decimal number, for people and for
// programs that know no nano-dollars.
func (a USD) MarshalJSON() ([]byte, error) {
	return []byte(strings.ReplaceAll(a.String(), "$", "")), nil
}

// UnmarshalJSON reads what MarshalJSON writes.
func (a *USD) UnmarshalJSON(text []byte) (err error) {
	*a, err = Parse(string(text))
	return err
}

// String shows cents, and as many digits more as the amount has.
func (a USD) String() string {
	if a < 0 {
		return "-" + (-a).String()
	}
	text := fmt.Sprintf("$%d.%09d", a/Dollar, a%Dollar)
	for strings.HasSuffix(text, "0") && text[len(text)-3] != '.' {
		text = text[:len(text)-1]
	}
	return text
}
