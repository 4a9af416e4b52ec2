package agent

import (
	"strings"
	"testing"
)

// A line of millions of empty blocks costs little: only the first are looked at.
func TestManyBlocksInALine(t *testing.T) {
	claude, err := Find("claude")
	if err != nil {
		t.Fatal(err)
	}
	for name, line := range map[string]string{
		"of an assistant": `{"type":"assistant","message":{"id":"m","content":[` + strings.Repeat(`{},`, 2_600_000) + `{}]}}`,
		"of a tool":       `{"type":"user","message":{"content":[{"type":"tool_result","content":[` + strings.Repeat(`{},`, 2_600_000) + `{}]}]}}`,
		"denials":         `{"type":"result","subtype":"success","permission_denials":[` + strings.Repeat(`0,`, 3_900_000) + `0]}`,
	} {
		t.Run(name, func(t *testing.T) {
			events := claude.Parser().Feed([]byte(line + "\n"))
			if len(events) == 0 || len(events) > maxItems {
				t.Errorf("%d events", len(events))
			}
			var size int64
			for _, e := range events {
				size += e.Size
			}
			if size != int64(len(line))+1 {
				t.Errorf("%d of %d bytes are accounted for", size, len(line)+1)
			}
		})
	}
}

func TestShortLists(t *testing.T) {
	for text, want := range map[string]int{
		`[]`:  0,
		`[1]`: 1,
		`[` + strings.Repeat(`1,`, maxItems) + `1]`: maxItems,
		`{}`:     -1,
		`null`:   -1,
		`["a"]`:  -1,
		`[1,]`:   -1,
		`[1`:     -1,
		`[1] []`: -1,
	} {
		var list short[int]
		got := -1
		if unmarshal([]byte(text), &list) {
			got = len(list)
		}
		if got != want {
			t.Errorf("%.20s: %d items, want %d", text, got, want)
		}
	}
}
