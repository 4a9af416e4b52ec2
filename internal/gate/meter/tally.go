package meter

// tally gathers figures of the usage as a response gives them.
type tally struct {
	model string

	input, cacheRead, output int64
	written                  int64 // to the cache, in all
	written5m, written1h     int64 // as far as it is told apart
	searches                 int64

	tier     Tier
	regional bool
	insane   bool // some figure cannot be
}

// raise sets a figure that is cumulative: it never sinks.
func (t *tally) raise(to *int64, n int64) {
	if n < 0 || n > absurd {
		t.insane = true
		return
	}
	*to = max(*to, n)
}

// usage is the sum, and whether it can be.
func (t *tally) usage() (Usage, bool) {
	// What was written for a time that is not told costs the dearer.
	long := max(t.written1h, t.written-t.written5m)
	return Usage{
		Input: t.input, CacheRead: t.cacheRead, CacheWrite5m: t.written5m, CacheWrite1h: long,
		Output: t.output, WebSearches: t.searches, Tier: t.tier, Regional: t.regional,
	}, !t.insane
}
