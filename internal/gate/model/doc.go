// Package model is the model API behind the gate: a reverse proxy for the
// Anthropic, OpenAI and Google shapes that holds the key and the purse.
//
// The sandbox is given a base URL on the gate and a phantom: a random value of
// this run that looks like a key and is worth nothing anywhere else. A request
// must carry the phantom, and its method and path must be one that agents need.
// Everything else is refused with 403.
//
// # A paid call
//
//  1. The body is read whole, within limits, and strictly: a name that occurs
//     twice, or a field whose price is not known, could mean one thing here and
//     another upstream.
//  2. Its worst case is reserved in the ledger of the budget. What does not fit
//     is refused with 403, never 429, which clients would try again.
//  3. The phantom is taken away and the real credential put in. After a 401 the
//     owner of the credential is asked once for a newer one.
//  4. The response streams through, and its usage is read on the way. It is cut
//     before the credential, should the upstream send that back.
//  5. The true cost is settled. Where it was not seen, because a side died, the
//     worst case stays counted as uncertain: it may have been billed.
//
// Counting tokens and listing models is free and passes without 1, 2 and 5.
//
// # Signals
//
// Agents hide most of what an upstream says about limits, so State tells it: the
// loop waits on what the gate saw, not on words in an agent's output.
//
// # What is not seen
//
// The bound on a call is only as good as the price table, and the model's
// provider reads everything that the agent sends: that is what it is for.
package model
