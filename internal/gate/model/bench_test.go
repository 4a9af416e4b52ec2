package model

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agent-loop/ralph/internal/gate/budget"
)

// BenchmarkFirstByte asks for a stream with a body as large as an agent's and
// waits for the first event: directly, and through the gate with meter, budget
// and credential. The two take turns in one run, and what the gate adds is the
// difference of their medians.
func BenchmarkFirstByte(b *testing.B) {
	r := start(b, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		_, _ = io.Copy(io.Discard, req.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":1,\"output_tokens\":1}}}\n\n")
		_ = http.NewResponseController(w).Flush()
		_, _ = io.WriteString(w, "event: message_delta\ndata: {\"type\":\"message_delta\",\"usage\":{\"output_tokens\":1}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n")
	}), budget.Caps{})
	text := strings.Repeat("a line of source code, as agents send them \\n", 85<<10/44)
	body := fmt.Sprintf(`{"model":%q,"max_tokens":1000,"stream":true,"messages":[{"role":"user","content":"%s"}]}`, testName, text)
	direct := http.Client{Transport: r.upstream.Client().Transport}
	var without, with samples
	for b.Loop() {
		without.add(firstByte(b, &direct, r.request(b, "POST", "", body), r.upstream.URL+"/v1/messages"))
		with.add(firstByte(b, r.client, r.request(b, "POST", "", body), r.base+"/anthropic/v1/messages"))
		<-r.logged
	}
	b.ReportMetric(float64(without.median().Microseconds()), "direct-µs")
	b.ReportMetric(float64(with.median().Microseconds()), "gate-µs")
	b.ReportMetric(float64((with.median() - without.median()).Microseconds()), "added-µs")
}

func firstByte(b *testing.B, client *http.Client, req *http.Request, to string) time.Duration {
	b.Helper()
	target, err := http.NewRequestWithContext(b.Context(), req.Method, to, req.Body)
	if err != nil {
		b.Fatal(err)
	}
	target.Header, target.ContentLength = req.Header, req.ContentLength
	began := time.Now()
	resp, err := client.Do(target)
	if err != nil {
		b.Fatal(err)
	}
	defer resp.Body.Close()
	line, err := bufio.NewReader(resp.Body).ReadBytes('\n')
	took := time.Since(began)
	if err != nil || !bytes.HasPrefix(line, []byte("event: message_start")) {
		b.Fatalf("%q, %v", line, err)
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	return took
}

type samples []time.Duration

func (s *samples) add(d time.Duration) { *s = append(*s, d) }

func (s samples) median() time.Duration {
	sorted := slices.Sorted(slices.Values(s))
	return sorted[len(sorted)/2]
}
