// Package budget keeps what a budget has spent, so that spending never passes a
// cap: not when many goroutines and processes spend at once, not when one of
// them is killed, not after a power loss.
//
// A call is paid for in two steps. [Ledger.Reserve] sets its worst case aside
// before it is made, or refuses; one of the endings of the [Hold] then says what
// it came to. At all times
//
//	spent + uncertain + held <= cap
//
// where held is set aside for calls under way, and uncertain for calls whose
// price was never seen: a stream that broke, a process that died. Uncertain
// money stays counted for ever, for it may have been billed. Only an upstream
// that bills more than was reserved can pass the cap, once: see [OverrunError].
//
// # The file
//
// A ledger is one file of JSON lines that only grows:
//
//	{"op":"ledger","v":1,"sum":"..."}
//	{"op":"caps","nano_usd":10000000000,"at":"...","sum":"..."}
//	{"op":"hold","owner":"...","n":1,"nano_usd":52000000,"tokens":9000,"run":"...","sum":"..."}
//	{"op":"settle","owner":"...","n":1,"nano_usd":31000000,"tokens":4210,"sum":"..."}
//
// The sum is a CRC of the line and of the sum before it, so a line that was
// changed, lost, doubled or moved is found. Each process reads only what was
// appended since it last looked, under a lock between processes.
//
// A reservation is on disk before Reserve returns. Endings are not synced:
// losing one counts too much, never too little. A last line without its line
// feed was never finished, so nothing was ever done on its word: it is cut. Any
// other damage refuses all spending: see [DamagedError].
//
// The file is never compacted: a call takes about 320 bytes, and 100,000 calls
// are read in about half a second. In one of a gibibyte nothing more is reserved.
//
// # Owners
//
// A Ledger that reserves holds a lock on a small file beside the ledger for as
// long as it lives. Where that lock is free, the owner is dead, and its open
// holds become uncertain.
package budget
