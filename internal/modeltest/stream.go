package modeltest

import (
	"context"
	"fmt"
	"io"
	"net/http"
)

// beforeFault is how many events go out before something goes wrong: enough
// for an agent to believe that an answer has begun.
const beforeFault = 3

// An event is one server-sent event; the chat API gives them no name.
type event struct {
	name string
	data string
}

func (e event) String() string {
	if e.name == "" {
		return fmt.Sprintf("data: %s\n\n", e.data)
	}
	return fmt.Sprintf("event: %s\ndata: %s\n\n", e.name, e.data)
}

// send writes the events, each flushed by itself, and lets go wrong what is to.
func (s *Server) send(w http.ResponseWriter, r *http.Request, fault fault, events []event) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	for i, e := range events {
		if i == beforeFault {
			s.spoil(w, r, fault)
		}
		_, _ = io.WriteString(w, e.String())
		_ = http.NewResponseController(w).Flush()
	}
}

// spoil is the middle of a stream with a fault.
func (s *Server) spoil(w http.ResponseWriter, r *http.Request, fault fault) {
	switch fault {
	case none:
	case drop:
		panic(http.ErrAbortHandler)
	case stall:
		s.wait(r)
	case garble:
		_, _ = io.WriteString(w, "event: content_block_delta\ndata: {\"type\":\n\n")
	}
}

// answer is the same for an answer that is sent whole.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, fault fault, body string) {
	if fault == drop || fault == garble {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, body[:len(body)/2])
	}
	if fault == drop {
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
	if fault == garble {
		return
	}
	if fault == stall {
		s.wait(r)
	}
	writeJSON(w, http.StatusOK, body)
}

// wait returns when the test releases the server or the client has gone.
func (s *Server) wait(r *http.Request) {
	select {
	case <-s.released:
	case <-r.Context().Done():
	}
}

type indexKey struct{}

// withIndex carries a request's place in the record to the handler that answers.
func withIndex(ctx context.Context, i int) context.Context {
	return context.WithValue(ctx, indexKey{}, i)
}

func index(ctx context.Context) int {
	i, _ := ctx.Value(indexKey{}).(int)
	return i
}
