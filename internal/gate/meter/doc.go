// Package meter knows what a call to a model costs: at most, from the request,
// before it is sent; and truly, from the response, while it streams by. It does
// no I/O.
//
// The one who writes the requests is hostile and wants to spend more than is
// reserved. So ReadCall either bounds a call or refuses it with an
// UnboundedError, and a field, tool or content it does not know is refused too.
// Price.Worst turns the bound into dollars.
//
// # Why the bound holds
//
//   - A token of a byte-level tokenizer covers at least one byte of text, and
//     JSON never spells a text in fewer bytes than it has. So input tokens are at
//     most the bytes of the body. What a tokenizer's Unicode normalisation could
//     make longer is added (see survey), what is JSON to the model too and may be
//     spelled longer there (see respelled), and margins for what the provider
//     wraps around the text (see margins.go).
//   - An image counts by what the providers document as the most that one can
//     cost, not by its bytes.
//   - What a request only refers to, such as a file or an earlier response, has
//     no size here: then the input is the model's whole window, which the
//     provider never exceeds.
//   - Sealed text (encrypted reasoning, thinking signatures, search results) is
//     taken to be no longer than its sealed form; clients of Anthropic and OpenAI
//     estimate it so.
//   - What Gemini thinks is output, and within the limit of the output that a
//     request sets; Google does not document it, but users measured so. A larger
//     budget for thinking is added.
//   - Tools that the provider runs sample the model again and again. They are
//     refused, but for web search and fetch with max_uses, which bound it.
//   - Input is priced at the dearest kind that the request allows (cache writes
//     above plain input), output at the most that was asked for.
//
// # What the caller must keep
//
// Only the headers and the body that ReadCall saw may reach the provider, on the
// path of the API, and of the model, it was told; no header or parameter that
// chooses an account, project or workspace may pass. A call to OpenAI that asks for
// no service tier gets the account's: whoever forwards it must ask for the default
// one. A call to Google that sets no limit of the output must be given the model's.
package meter
