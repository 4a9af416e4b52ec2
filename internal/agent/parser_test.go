package agent

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func feed(who Agent, chunks ...[]byte) []Event {
	p := who.Parser()
	var events []Event
	for _, chunk := range chunks {
		events = append(events, p.Feed(chunk)...)
	}
	return append(events, p.Close()...)
}

func total(events []Event) (size int64) {
	for _, e := range events {
		size += e.Size
	}
	return size
}

// TestUnknownLinesAreKept: whatever is not understood is there as it came.
func TestUnknownLinesAreKept(t *testing.T) {
	for _, line := range []string{
		"npm warn something", "{", "{}", "null", `{"type":"result"`, `{"type":5}`, `{"type":"result","num_turns":"x","status":5}`,
		`{"type":"system","type":"result"}`, "\xff\xfe", `{"type":"new_kind","x":1}`, "\x1b[31mred", "", `[1]`, "\r",
	} {
		for _, name := range []string{"claude", "codex", "opencode", "gemini", "mini"} {
			who, _ := Find(name)
			events := feed(who, []byte(line+"\n"))
			if len(events) != 1 || events[0].Kind != Raw || string(events[0].Raw) != line || total(events) != int64(len(line))+1 {
				t.Errorf("%s: %q became %+v", name, line, events)
			}
		}
	}
}

// TestNotUTF8 keeps the line beside what could be read of it.
func TestNotUTF8(t *testing.T) {
	who, _ := Find("claude")
	for _, text := range []string{"a\xffb", `a\ud800b`} {
		line := `{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"` + text + `"}]}}`
		events := feed(who, []byte(line))
		if len(events) != 1 || events[0].Kind != Text || events[0].Text != "a\uFFFDb" {
			t.Fatalf("%q: %+v", text, events)
		}
		if kept := string(events[0].Raw); kept != line && strings.Contains(text, "\xff") {
			t.Errorf("the bytes are lost: %q", kept)
		}
	}
}

// TestLongLines: one of 100 MB costs no more than a short one, and hides nothing
// that comes after it.
func TestLongLines(t *testing.T) {
	who, _ := Find("claude")
	chunk := bytes.Repeat([]byte("x"), 64<<10)
	p := who.Parser()
	var size int64
	for range 1600 {
		if events := p.Feed(chunk); len(events) != 0 {
			t.Fatalf("an event in the middle of a line: %+v", events[0].Kind)
		}
		size += int64(len(chunk))
		if cap(p.line) > 3*maxLine {
			t.Fatalf("%d bytes are held", cap(p.line))
		}
	}
	events := p.Feed([]byte("\n" + `{"type":"result","subtype":"success"}` + "\n"))
	if len(events) != 2 || !events[0].Cut || events[0].Size != size+1 || len(events[0].Raw) != headOfLine || events[1].Kind != Result {
		t.Errorf("%d events, %+v", len(events), events[0].Size)
	}
	for _, n := range []int{headOfLine, maxLine - 1, maxLine, maxLine + 1} {
		for _, end := range []string{"", "\n"} {
			long := append(bytes.Repeat([]byte("y"), n), end...)
			whole, parts := feed(who, long), feed(who, long[:n/2], long[n/2:])
			for _, events := range [][]Event{whole, parts} {
				if len(events) != 1 || events[0].Cut != (n > maxLine) || events[0].Size != int64(len(long)) {
					t.Errorf("%d bytes and %q: cut %v, %d", n, end, events[0].Cut, events[0].Size)
				}
			}
		}
	}
}

// fuzz feeds a stream in two parts: nothing may panic, every byte is accounted
// for, where the stream is cut changes nothing, and no line is unsafe to show.
func fuzz(f *testing.F, name string) {
	who, err := Find(name)
	if err != nil {
		f.Fatal(err)
	}
	files, _ := filepath.Glob(filepath.Join("testdata", "streams", "*.jsonl"))
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data, len(data)/2)
	}
	for _, seed := range []string{
		`{"type":"step_finish","part":{"reason":"stop","cost":1,"tokens":{"input":1,"cache":{"read":2}}}}`,
		`{"type":"tool_use","part":{"tool":"bash","state":{"status":"error","input":{"a":1},"error":"x","metadata":{"exit":1}}}}`,
		`{"type":"message","role":"assistant","content":"x","delta":true}` + "\n" + `{"type":"result","status":"error","stats":{"cached":-1}}`,
		`{"type":"usage","turn":1,"input_tokens":1,"cache_read_tokens":-2}` + "\n" + `{"type":"tool_call","id":"t","tool":"bash","command":"ls"}` + "\n" + `{"type":"tool_result","id":"t","ok":false,"output":"x"}`,
		`{"type":"retry","attempt":1,"max_attempts":3,"wait_ms":-1,"reason":"network","message":"EOF"}` + "\n" + `{"type":"error","reason":"overloaded","status":529}`,
		`{"type":"text","text":"hi"}` + "\n" + `{"type":"result","ok":true,"reason":"done","turns":1,"usage":{"input_tokens":1},"retry_at":"2030-01-01T00:00:00Z"}`,
		`{"type":"result","ok":false,"reason":"rate-limited","status":429,"retry_at":"9999-12-31T23:59:59.999999999Z"}`,
		`{"type":"rate_limit_event","rate_limit_info":{"resetsAt":1e300,"status":"rejected"}}`,
		"\x1b]0;title\x07\u202e\r\n\xff{}", `{"type":"assistant","message":{"content":"text"}}`,
	} {
		f.Add([]byte(seed), 3)
	}
	f.Fuzz(func(t *testing.T, data []byte, cut int) {
		cut = min(max(cut, 0), len(data))
		whole, parts := feed(who, data), feed(who, data[:cut], data[cut:])
		if total(whole) != int64(len(data)) || total(parts) != int64(len(data)) || len(whole) != len(parts) {
			t.Fatalf("%d bytes in, %d and %d accounted for", len(data), total(whole), total(parts))
		}
		for i, e := range whole {
			if e.Kind != parts[i].Kind || e.Text != parts[i].Text {
				t.Fatalf("cut at %d: %+v and %+v", cut, e, parts[i])
			}
			checkSafe(t, e.Line(40), 40)
		}
		o := who.Outcome(Exit{}, Gate{}, Summarize(whole...), Tags{})
		if o.Verdict == "" || o.Finished != (o.Verdict == OK || o.Verdict == Blocked || o.Verdict == Undecided) {
			t.Fatalf("%+v", o)
		}
		if u := Summarize(whole...).Cost(); u.USD < 0 || u.Usage.Input < 0 || u.Usage.Output < 0 {
			t.Fatalf("%+v", u)
		}
	})
}

func FuzzClaude(f *testing.F)   { fuzz(f, "claude") }
func FuzzCodex(f *testing.F)    { fuzz(f, "codex") }
func FuzzOpencode(f *testing.F) { fuzz(f, "opencode") }
func FuzzGemini(f *testing.F)   { fuzz(f, "gemini") }
func FuzzMini(f *testing.F)     { fuzz(f, "mini") }
func FuzzCommand(f *testing.F)  { fuzz(f, "command") }

// BenchmarkParser reads a recorded session over and over; the aim is 100 000
// events a second.
func BenchmarkParser(b *testing.B) {
	for _, name := range []string{"claude-tool", "codex-tool"} {
		b.Run(name, func(b *testing.B) {
			data, err := os.ReadFile(filepath.Join("testdata", "streams", name+".jsonl"))
			if err != nil {
				b.Fatal(err)
			}
			who, _ := recorded(b, name)
			parser, summary, events := who.Parser(), &Summary{}, 0
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				got := parser.Feed(data)
				summary.Add(got...)
				events += len(got)
			}
			b.ReportMetric(float64(events)/b.Elapsed().Seconds(), "events/s")
		})
	}
}
