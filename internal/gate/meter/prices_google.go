package meter

import "github.com/agent-loop/ralph/internal/money"

// addGemini has Google's prices for text and images in the standard tier, as the
// page "Gemini Developer API pricing" gives them. Thinking is output. Reading the
// implicit cache is cheaper; writing it is free, and caches that are made
// explicitly are refused. So are searches, and sound, which costs more with some
// models.
func addGemini(t map[string]Price) {
	const from = 200 * k
	put(t, gemini(1250, 125, 10_000).long(from, 200, 150), "gemini-2.5-pro")
	put(t, gemini(300, 30, 2500), "gemini-2.5-flash")
	put(t, gemini(100, 10, 400), "gemini-2.5-flash-lite")
	put(t, gemini(2000, 200, 12_000).long(from, 200, 150), "gemini-3.1-pro-preview", "gemini-3.1-pro-preview-customtools")
	put(t, gemini(500, 50, 3000), "gemini-3-flash-preview")
	put(t, gemini(250, 25, 1500), "gemini-3.1-flash-lite", "gemini-3.1-flash-lite-preview")
	put(t, gemini(1500, 150, 9000), "gemini-3.5-flash")
}

// gemini makes a price of Google's. All of these models take a mebitoken and
// write 64 kibitokens. Their window is for the input alone; the output is beside
// it.
func gemini(input, cached, output money.USD) Price {
	return Price{
		Rates: Rates{
			Input: input * mille, CacheRead: cached * mille,
			CacheWrite5m: input * mille, CacheWrite1h: input * mille, Output: output * mille,
		},
		Window: 1 << 20, MaxOutput: 1 << 16, WebSearch: 35 * mille,
	}
}
