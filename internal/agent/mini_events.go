package agent

import "strings"

// decodeMini reads ralph's own shape: an Event a line. What only a parser can
// know is not taken from it.
func decodeMini() decode {
	return func(line []byte) []Event {
		var event Event
		if !looksLikeObject(line) || !unmarshal(line, &event) || !event.Kind.known() {
			return nil
		}
		if event.Cost != nil && *event.Cost < 0 {
			return nil
		}
		event.Raw, event.Cut = nil, false
		return []Event{event}
	}
}

// decodeCommand takes a command's output for its words.
func decodeCommand() decode {
	return func(line []byte) []Event {
		return []Event{{Kind: Text, Text: strings.ToValidUTF8(string(line), "\uFFFD") + "\n", Delta: true}}
	}
}
