package meter

import "github.com/agent-loop/ralph/internal/money"

// Rates are dollars for a million tokens of each kind.
type Rates struct {
	Input, CacheRead, CacheWrite5m, CacheWrite1h, Output money.USD
}

// Price is what a model costs, and how much it can take and give.
type Price struct {
	Rates

	// Long applies to the whole call when its input has more tokens than
	// LongFrom. Zero: there is one price.
	LongFrom int64
	Long     Rates

	Window    int64 // most tokens of one sampling, with any option
	MaxOutput int64 // most tokens it writes in one

	WebSearch money.USD // for one search

	// What a tier costs, in percent of the standard one. Zero is not known, and
	// counts as the dearest that any model has.
	FastPercent, UltrafastPercent int64
}

// What tiers and regions cost where a price does not say, in percent.
const (
	flexPercent     = 50
	dearestPercent  = 600
	regionalPercent = 110
)

// rounding is more than what rounding each kind up can add to one sum.
const rounding = 8 * money.Nano

// Cost is what a usage costs, rounded up.
func (p Price) Cost(u Usage) money.USD {
	r := p.Rates
	if p.LongFrom > 0 && u.InputTokens() > p.LongFrom {
		r = p.Long
	}
	sum := r.Input.PerMillion(u.Input).
		Add(r.CacheRead.PerMillion(u.CacheRead)).
		Add(r.CacheWrite5m.PerMillion(u.CacheWrite5m)).
		Add(r.CacheWrite1h.PerMillion(u.CacheWrite1h)).
		Add(r.Output.PerMillion(u.Output)).
		Add(p.WebSearch.Times(max(u.WebSearches, 0)))
	return p.scaled(sum, u.Tier, u.Regional)
}

// Worst is the most that a call can cost: no usage that is consistent with the
// call costs more.
func (p Price) Worst(c Call) money.USD {
	w := p.most(c)
	sum := p.worstAt(p.Rates, w, c.Writes)
	if p.LongFrom > 0 && w.input > p.LongFrom {
		sum = max(sum, p.worstAt(p.Long, w, c.Writes))
	}
	sum = sum.Add(p.WebSearch.Times(c.WebSearches)).Add(rounding)
	return p.scaled(sum, c.Tier, c.Regional)
}

// WorstTokens is the most tokens that a call can consume.
func (p Price) WorstTokens(c Call) int64 {
	w := p.most(c)
	return w.input + w.output
}

func (p Price) worstAt(r Rates, w most, writes Writes) money.USD {
	dearest := max(r.Input, r.CacheRead)
	if writes >= Writes5m {
		dearest = max(dearest, r.CacheWrite5m)
	}
	if writes >= Writes1h {
		dearest = max(dearest, r.CacheWrite1h)
	}
	return dearest.PerMillion(w.input).Add(r.Output.PerMillion(w.output))
}

// scaled applies the surcharges. They multiply.
func (p Price) scaled(sum money.USD, tier Tier, regional bool) money.USD {
	sum = percent(sum, p.tierPercent(tier))
	if regional {
		sum = percent(sum, regionalPercent)
	}
	return sum
}

func (p Price) tierPercent(tier Tier) int64 {
	known := int64(0)
	switch tier {
	case Standard:
		return 100
	case Flex:
		return flexPercent
	case Fast:
		known = p.FastPercent
	case Ultrafast:
		known = p.UltrafastPercent
	}
	if known == 0 {
		return dearestPercent
	}
	return known
}

// percent is n percent of a, rounded up.
func percent(a money.USD, n int64) money.USD { return a.PerMillion(n * 10_000) }

// most is the most tokens of a call.
type most struct{ input, output int64 }

// most applies the model's own limits to what the request allows.
func (p Price) most(c Call) most {
	rounds, input, output := c.Rounds, c.Input, p.MaxOutput
	if c.SaysOutput {
		output = c.Output
		if !c.Uncapped {
			output = min(output, p.MaxOutput)
		}
	}
	if c.Compacts { // summarises first: a sampling of its own
		rounds *= 2
		output = max(output, p.MaxOutput)
	}
	if c.FillsWindow || rounds > 1 || input > p.Window {
		input = p.Window
	}
	return most{input: rounds * input, output: rounds * c.Choices * (output + c.ExtraOutput)}
}
