package meter

import "strings"

// Prices are the prices of all models that are known.
type Prices struct {
	byID map[string]Price
}

// NewPrices makes the table, with overrides merged over it in their order.
func NewPrices(overrides ...Override) (*Prices, error) {
	p := &Prices{byID: table()}
	for _, o := range overrides {
		if err := p.override(o); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// Find returns the price of a model: by its exact id, or by its id without a
// date. A longer id that only begins like a known one is another model.
func (p *Prices) Find(model string) (Price, bool) {
	if price, ok := p.byID[model]; ok {
		return price, true
	}
	price, ok := p.byID[undated(model)]
	return price, ok
}

// undated cuts off a version: -20250929, @20250929, -2026-04-01 or -latest.
func undated(model string) string {
	if id, ok := strings.CutSuffix(model, "-latest"); ok {
		return id
	}
	for _, form := range []string{"-dddddddd", "@dddddddd", "-dddd-dd-dd"} {
		if cut := len(model) - len(form); cut > 0 && matches(model[cut:], form) {
			return model[:cut]
		}
	}
	return model
}

// matches compares with a form in which d is any digit.
func matches(text, form string) bool {
	for i := range len(form) {
		digit := text[i] >= '0' && text[i] <= '9'
		if form[i] == 'd' && !digit || form[i] != 'd' && text[i] != form[i] {
			return false
		}
	}
	return true
}

// Dearest is a price that no model in the table exceeds in any part.
func (p *Prices) Dearest() Price {
	var d Price
	for _, price := range p.byID {
		d.Rates = d.Rates.or(price.Rates).or(price.Long)
		d.Window = max(d.Window, price.Window)
		d.MaxOutput = max(d.MaxOutput, price.MaxOutput)
		d.WebSearch = max(d.WebSearch, price.WebSearch)
	}
	return d // its tiers are not known, and so the dearest
}

// or is the dearer of both in each part.
func (r Rates) or(s Rates) Rates {
	return Rates{
		Input: max(r.Input, s.Input), CacheRead: max(r.CacheRead, s.CacheRead),
		CacheWrite5m: max(r.CacheWrite5m, s.CacheWrite5m), CacheWrite1h: max(r.CacheWrite1h, s.CacheWrite1h),
		Output: max(r.Output, s.Output),
	}
}
