package ociruntime

import (
	"encoding/json"
	"reflect"
	"testing"
)

// Whatever the configuration is, either it is refused, or entering the runtime
// and taking it out again loses nothing of it.
func FuzzConfiguration(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"runtimes":{}}`, `{"runtimes":{"runsc":{"path":"/x"}}}`, `{"a":1e400,"b":"\u0000"}`, `[]`, `{"a":1}{`,
		`{"runtimes":{"kata":{"path":"/k","runtimeArgs":["--x"]}},"debug":false}`, `{"Runtimes":{"runsc":null}}`, "", "{\"\xff\":1}",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		members, err := parseObject([]byte(text))
		if err != nil {
			return
		}
		c := &dockerConfig{members: members}
		if changed, err := c.enter("/ours", false); err != nil || !changed {
			return
		}
		written := encode(t, c)
		checkSame(t, text, written, true)
		if c.members, err = parseObject(written); err != nil {
			t.Fatalf("what was written is not understood: %v", err)
		}
		if changed, err := c.leave("/ours"); err != nil || !changed {
			return // it is the default
		}
		checkSame(t, text, encode(t, c), false)
	})
}

func encode(t *testing.T, c *dockerConfig) []byte {
	t.Helper()
	written, err := c.members.encode()
	if err != nil {
		t.Fatal(err)
	}
	return written
}

// checkSame compares with the eyes of another parser, Docker's own.
func checkSame(t *testing.T, text string, written []byte, entered bool) {
	t.Helper()
	before, after := parsed(t, []byte(text)), parsed(t, written)
	runtimes, _ := after["runtimes"].(map[string]any)
	if _, ok := runtimes[Name]; ok != entered {
		t.Errorf("entered is %v in %s", ok, written)
	}
	delete(runtimes, Name)
	for _, m := range []map[string]any{before, after} {
		if list, ok := m["runtimes"].(map[string]any); ok && len(list) == 0 {
			delete(m, "runtimes")
		}
	}
	if !reflect.DeepEqual(before, after) {
		t.Errorf("%s became %s", text, written)
	}
}

func parsed(t *testing.T, text []byte) map[string]any {
	t.Helper()
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(text, &raw); err != nil {
		t.Fatalf("another parser refuses what ours took: %v", err)
	}
	all := map[string]any{}
	for name, value := range raw {
		var v any
		if err := json.Unmarshal(value, &v); err != nil {
			v = string(value) // a number that no machine holds
		}
		all[name] = v
	}
	return all
}
