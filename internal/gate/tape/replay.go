package tape

import (
	"context"
	"io"
	"net/http"
)

// replay is the recorded answer.
func (l *line) replay(request *http.Request) *http.Response {
	header := l.Header.Clone()
	if header == nil {
		header = http.Header{}
	}
	header.Set(replayHeader, "hit")
	parts, length := l.Response.Events, int64(-1)
	if parts == nil {
		raw := l.Response.bytes()
		parts, length = []string{string(raw)}, int64(len(raw))
	}
	stream := &replayed{ctx: request.Context(), parts: parts}
	if l.End != complete {
		stream.end, length = io.ErrUnexpectedEOF, -1
	}
	return newResponse(request, l.Status, header, stream, length)
}

// replayed hands out one part with each Read, so that a stream stays one. It
// breaks off where the recorded answer did.
type replayed struct {
	ctx   context.Context
	parts []string
	end   error
}

func (r *replayed) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	for len(r.parts) > 0 && r.parts[0] == "" {
		r.parts = r.parts[1:]
	}
	if len(r.parts) == 0 {
		if r.end != nil {
			return 0, r.end
		}
		return 0, io.EOF
	}
	n := copy(p, r.parts[0])
	r.parts[0] = r.parts[0][n:]
	return n, nil
}

func (r *replayed) Close() error {
	r.parts, r.end = nil, http.ErrBodyReadAfterClose
	return nil
}
