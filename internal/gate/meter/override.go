package meter

import (
	"errors"
	"fmt"
	"math"

	"github.com/agent-loop/ralph/internal/money"
)

// Override changes the price of a model, or adds one. Prices are dollars for a
// million tokens, as configuration has them.
//
// A zero is not given. Then a model of the table keeps its own: in the same
// proportion to the input where that was given, for a gateway's surcharge is on
// all of it. A model that is not in the table is free where it has a zero for
// Input or Output; its cache costs as much as Anthropic's in proportion, and
// reading it as much as input; its limits are the largest of the table.
type Override struct {
	Model             string
	Input, Output     float64
	CacheRead         float64
	CacheWrite        float64 // of the short kind, and of the long one if that is not given
	CacheWriteLong    float64
	Window, MaxOutput int64
}

// override merges o over the table. A dated id keeps its own entry, so that it
// does not change its family's.
func (p *Prices) override(o Override) error {
	if o.Model == "" {
		return errors.New("a price names no model")
	}
	if o.Window < 0 || o.MaxOutput < 0 || o.Window > maxCount || o.MaxOutput > maxCount {
		return fmt.Errorf("the price of %s: a limit is out of range", o.Model)
	}
	given, err := o.rates()
	if err != nil {
		return fmt.Errorf("the price of %s: %w", o.Model, err)
	}
	price, known := p.Find(o.Model)
	if !known {
		price = p.fresh(given)
	}
	price = price.proportional(given)
	price.Rates = price.Rates.with(given)
	price.Window, price.MaxOutput = or(o.Window, price.Window), or(o.MaxOutput, price.MaxOutput)
	p.byID[o.Model] = price
	return nil
}

// rates are those that were given; the others are zero.
func (o Override) rates() (Rates, error) {
	var r Rates
	for _, one := range []struct {
		to      *money.USD
		dollars float64
	}{
		{&r.Input, o.Input},
		{&r.Output, o.Output},
		{&r.CacheRead, o.CacheRead},
		{&r.CacheWrite5m, o.CacheWrite},
		{&r.CacheWrite1h, or(o.CacheWriteLong, o.CacheWrite)},
	} {
		var err error
		if *one.to, err = money.FromFloat(one.dollars); err != nil {
			return r, err
		}
	}
	return r, nil
}

// fresh is the price of a model that is not in the table.
func (p *Prices) fresh(given Rates) Price {
	dearest := p.Dearest()
	return Price{
		Rates: Rates{
			Input: given.Input, CacheRead: given.Input,
			CacheWrite5m: percent(given.Input, 125), CacheWrite1h: percent(given.Input, 200), Output: given.Output,
		},
		Window: dearest.Window, MaxOutput: dearest.MaxOutput, WebSearch: dearest.WebSearch,
	}
}

// proportional scales the parts that follow from input and output.
func (p Price) proportional(given Rates) Price {
	input, output := ratio(given.Input, p.Input), ratio(given.Output, p.Output)
	for _, r := range []*Rates{&p.Rates, &p.Long} {
		r.Input, r.CacheRead = scaled(r.Input, input), scaled(r.CacheRead, input)
		r.CacheWrite5m, r.CacheWrite1h = scaled(r.CacheWrite5m, input), scaled(r.CacheWrite1h, input)
		r.Output = scaled(r.Output, output)
	}
	return p
}

// with replaces the parts that are given.
func (r Rates) with(given Rates) Rates {
	return Rates{
		Input: or(given.Input, r.Input), CacheRead: or(given.CacheRead, r.CacheRead),
		CacheWrite5m: or(given.CacheWrite5m, r.CacheWrite5m), CacheWrite1h: or(given.CacheWrite1h, r.CacheWrite1h),
		Output: or(given.Output, r.Output),
	}
}

func ratio(given, own money.USD) float64 {
	if given == 0 || own == 0 {
		return 1
	}
	return float64(given) / float64(own)
}

func scaled(a money.USD, by float64) money.USD {
	if by == 1 {
		return a
	}
	product := math.Ceil(float64(a) * by)
	if product >= float64(money.Most) {
		return money.Most
	}
	return money.USD(product)
}

func or[T int64 | float64 | money.USD](given, otherwise T) T {
	if given != 0 {
		return given
	}
	return otherwise
}
