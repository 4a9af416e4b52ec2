package tape_test

import (
	"strings"
	"testing"
	"unicode"

	"github.com/agent-loop/ralph/internal/gate/tape"
)

// What a mismatch says goes to the user's terminal, and what is in it comes from
// inside the sandbox: it must not be able to draw there, and not be long.
func TestMismatchesOfHostileRequests(t *testing.T) {
	const bad = "\u001b]0;x\u0007\nralph: done\u009b2J\u202e"
	long := strings.Repeat("x", 1<<20)
	for name, body := range map[string]string{
		"a model":           `{"model":"` + quoted(bad) + `"}`,
		"a long model":      `{"model":"` + long + `"}`,
		"a name":            `{"model":"m","` + quoted(bad) + `":1}`,
		"a long name":       `{"model":"m","` + long + `":1}`,
		"a value":           `{"model":"m","a":"` + quoted(bad) + `"}`,
		"what is not JSON":  bad,
		"something tangled": strings.Repeat(`{"`+quoted(bad)+`":`, 1000) + `1` + strings.Repeat(`}`, 1000),
	} {
		t.Run(name, func(t *testing.T) {
			player := load(t, taped(t, "/v1/messages", `{"model":"m"}`, bad, `{"model":"m"}`), tape.Options{})
			if got := post(t, player, "http://model.test/v1/messages", body); got.status != 400 && body != bad {
				t.Fatalf("answered %d", got.status)
			}
			_ = post(t, player, "http://model.test/v1/messages", bad+"!")
			for _, mismatch := range player.Mismatches() {
				text := mismatch.Error()
				if strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
					t.Errorf("it can draw: %q", text)
				}
				if len(text) > 2000 || len(mismatch.Model) > 2000 || len(mismatch.At) > 2000 {
					t.Errorf("it has %d bytes", len(text))
				}
			}
		})
	}
}

// quoted spells a text for the inside of a JSON string.
func quoted(text string) string {
	return strings.NewReplacer("\u001b", `\u001b`, "\u0007", `\u0007`, "\n", `\n`).Replace(text)
}
