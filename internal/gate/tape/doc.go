// Package tape records the model traffic of a run and plays it again without a
// model. Both sides are an http.RoundTripper: the Recorder stands before the
// upstream, the Player in its place.
//
// A tape is a file of JSON lines, one for each exchange, written when the
// exchange ends and so in the order of their ends; seq is the order in which
// they began:
//
//	{"tape":1, "seq":3, "beside":[2],
//	 "credential":"setup-token",
//	 "method":"POST", "path":"/v1/messages", "query":"beta=true",
//	 "request":{"json":{...}},
//	 "status":200, "header":{"Content-Type":["text/event-stream"]},
//	 "response":{"events":["event: message_start\ndata: {...}\n\n", ...]},
//	 "end":"complete", "bytes":5120, "duration_ms":1840}
//
// credential is what kind of credential the caller believed to hold, for agents
// send other requests with other kinds. beside lists the exchanges that were still open when this one began. A body
// is kept so that the same bytes come out again: as json if it is compact JSON,
// as events if the answer is a stream of server-sent events, else as text or
// base64. A body that was too large, not sent to its end, or compressed so that
// no secret in it could be masked, is omitted with the reason; such an exchange
// cannot be played. end is "complete", "upstream" (the answer broke off) or
// "client" (the caller went away), and error says more.
//
// No value of a request header is ever written, and of the answer's only those
// that matter to a client; see keptHeader. What is written has passed the
// caller's mask, whole bodies at a time, so that a secret is found no matter
// how it was cut into packets. A secret that a model spells out over several
// events is not one value anywhere and is not found.
package tape

const (
	// version is the first field of every line.
	version = 1
	// maxBody bounds one body in memory and on the tape. The APIs take less.
	maxBody = 32 << 20
	// maxLine bounds a line: two bodies and what escaping adds to common ones.
	maxLine = 80 << 20
	// maxTape bounds a recording, so that a long run does not fill the disk.
	maxTape = 4 << 30
	// maxExchanges bounds what the index of a tape takes in memory.
	maxExchanges = 1 << 20
	// maxPath and maxModel bound what is kept in memory of every exchange.
	maxPath  = 16 << 10
	maxModel = 256
	// maxBeside bounds how many parallel exchanges a line can name.
	maxBeside = 1 << 10
)
