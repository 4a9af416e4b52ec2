package stream

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/agent-loop/ralph/internal/rundir"
)

// FuzzEvent shows any data as an event of every type: nothing may break, be too
// wide, or reach the terminal as more than text.
func FuzzEvent(f *testing.F) {
	for _, text := range []string{"text", attacks["title"], attacks["bidi"], attacks["c1"]} {
		for _, data := range everywhere(text) {
			raw, err := json.Marshal(data)
			must(f, err)
			f.Add(raw, int64(1), 40)
		}
	}
	for _, data := range []string{
		``, `null`, `[]`, `{}`, `"x"`, `{"clipped":{"bytes":-1,"top":{"base64":"/w=="}}}`, `{"kind":"usage","usage":null}`,
		`{"text":{"base64":"//8="},"kind":"text","delta":true}`, `{"kind":"text","text":{"text":"a"},"delta":true}`,
		`{"n":1,"outcome":"ok","cost_usd":9223372036.854775807,"tokens":{"input":9223372036854775807,"output":9223372036854775807}}`,
		`{"changed":-9223372036854775808}`, `{"duration_ms":9223372036854775807,"passed":false,"output":"a\nb"}`,
		`{"until":"0001-01-01T00:00:00Z","why":"x"}`, `{"until":"9999-12-31T23:59:59Z"}`,
		`{"limits":{"max_time_seconds":9223372036854775807,"max_cost_usd":0.000000001}}`,
		`{"allowed":false,"host":"::1","port":-1,"duration_ns":-1}`, `{"kind":"tool-call","input":"{\"command\":[\"a\",\"b\"]}"}`,
		`{"attempt":2,"half_open":true}`, `{"status":"done"}`,
		`{"branch":"b","to":"abc","commits":["a","b"],"files":-1,"bytes":9223372036854775807,"protected":["a\u001b[2J"],"held":"x"}`,
		`{"confirms":true,"outcome":"failed","commit":"\u202e","trusted":["M a","D b"],"error":"e"}`, `{"confirms":true,"outcome":"unverifiable"}`,
	} {
		f.Add([]byte(data), int64(1e9), 20)
	}
	types := []string{rundir.EventCreated, rundir.EventRepair, rundir.EventCharge, rundir.EventIteration, rundir.EventCheckpoint, rundir.EventState, rundir.EventFiles, rundir.EventOutput}
	for kind := range everywhere("") {
		types = append(types, kind)
	}
	f.Fuzz(func(t *testing.T, data []byte, at int64, width int) {
		if !jsontext.Value(data).IsValid() {
			data = nil // a reader of a record sees none of it
		}
		var events []rundir.Event
		for i, kind := range types {
			events = append(events, rundir.Event{Seq: int64(i + 1), Time: time.Unix(at, 0), Type: kind, Iteration: i % 3, Data: data})
		}
		checkAllSafe(t, events, width%500)
	})
}
