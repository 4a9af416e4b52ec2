package config

// Price is one [[price]]: what a model costs, in dollars for a million tokens,
// over or beside the built-in table. Only the user's own file can hold one, for
// a price that is too low spends more than the budget.
type Price struct {
	Model      string
	Input      float64
	Output     float64
	CacheRead  float64
	CacheWrite float64
	Window     int64 // tokens of context
	MaxOutput  int64 // tokens of one answer
	Origin     string
}

func priceTable() table {
	last := func(l *Layer) *Price { return &l.prices[len(l.prices)-1] }
	const tokens = 1_000_000_000
	return table{
		name:  "price",
		begin: func(l *Layer, origin string) { l.prices = append(l.prices, Price{Origin: origin}) },
		columns: []column{
			in("model", "its name in requests", text(aName), func(l *Layer) *string { return &last(l).Model }),
			in("input", "a million tokens of input", perMillion(), func(l *Layer) *float64 { return &last(l).Input }),
			in("output", "of output", perMillion(), func(l *Layer) *float64 { return &last(l).Output }),
			in("cache_read", "of input read from the cache", perMillion(), func(l *Layer) *float64 { return &last(l).CacheRead }),
			in("cache_write", "of input written to the cache", perMillion(), func(l *Layer) *float64 { return &last(l).CacheWrite }),
			in("window", "tokens of context", whole[int64](1, tokens), func(l *Layer) *int64 { return &last(l).Window }),
			in("max_output", "tokens of one answer", whole[int64](1, tokens), func(l *Layer) *int64 { return &last(l).MaxOutput }),
		},
		check: func(l *Layer) []complaint { return last(l).complete() },
	}
}

// complete says what is missing. A price that nobody gave would be none.
func (p *Price) complete() []complaint {
	switch {
	case p.Model == "":
		return wrong("model is missing")
	case p.Input == 0 || p.Output == 0:
		return wrong("input and output are missing, in dollars for a million tokens")
	}
	return nil
}

// perMillion takes an amount of dollars for a million tokens.
func perMillion() kind[float64] {
	const most = 100_000
	return kind[float64]{show: formatNumber, read: func(v any) (float64, []complaint) {
		if n, ok := number(v); ok && n > 0 && n <= most {
			return n, nil
		}
		return 0, wrong("must be an amount of dollars above 0 and up to %d, not %s", most, got(v))
	}}
}
