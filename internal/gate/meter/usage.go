package meter

// API is the shape of a request and its response.
type API string

// The shapes that are known.
const (
	Anthropic       API = "anthropic"        // POST /v1/messages
	OpenAIResponses API = "openai-responses" // POST /v1/responses
	OpenAIChat      API = "openai-chat"      // POST /v1/chat/completions
	Google          API = "google"           // POST /v1beta/models/M:generateContent, and its stream
	GoogleCount     API = "google-count"     // POST /v1beta/models/M:countTokens
)

// Tier is how fast a call is served, which has its price.
type Tier string

// The tiers, from the cheapest.
const (
	Flex      Tier = "flex" // slower, at half the price
	Standard  Tier = ""
	Fast      Tier = "fast" // OpenAI also says "priority"
	Ultrafast Tier = "ultrafast"
)

// Usage is what a call consumed, in tokens. Each token of the input counts in
// one of the four kinds; tokens of reasoning are within Output.
type Usage struct {
	Input        int64 // neither read from a cache nor written to one
	CacheRead    int64
	CacheWrite5m int64 // OpenAI's cache writes (30 minutes) too
	CacheWrite1h int64
	Output       int64

	WebSearches int64
	Tier        Tier // as it was served
	Regional    bool // kept in a region, at a surcharge
}

// Tokens is the sum of all kinds.
func (u Usage) Tokens() int64 { return u.InputTokens() + u.Output }

// InputTokens is the sum of the kinds of input.
func (u Usage) InputTokens() int64 {
	return u.Input + u.CacheRead + u.CacheWrite5m + u.CacheWrite1h
}
