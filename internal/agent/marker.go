package agent

import "strings"

// MarkerKind is what an agent's last words ask of ralph.
type MarkerKind string

// The kinds.
const (
	CompleteMarker MarkerKind = "complete" // it says that all is done; that is checked, not believed
	BlockedMarker  MarkerKind = "blocked"  // it cannot go on without help
	DecideMarker   MarkerKind = "decide"   // it needs an answer
)

// Marker is one that was found.
type Marker struct {
	Kind MarkerKind
	Text string // the reason or the question
}

// DefaultComplete is the tag by which an agent says that all is done.
const DefaultComplete = "<promise>COMPLETE</promise>"

// maxMarker bounds a reason or a question.
const maxMarker = 4 << 10

// Tags says how markers are spelled.
type Tags struct {
	Complete string // empty: DefaultComplete
}

// Find looks for markers in an agent's own last words (see Summary.Final), never
// in what a tool printed: a file may contain them. To be blocked beats a
// question, and both beat being done.
func (t Tags) Find(final string) Marker {
	complete := t.Complete
	if complete == "" {
		complete = DefaultComplete
	}
	for _, m := range []struct {
		kind        MarkerKind
		open, close string
	}{
		{BlockedMarker, "<promise>BLOCKED:", "</promise>"},
		{BlockedMarker, "<blocked>", "</blocked>"},
		{DecideMarker, "<promise>DECIDE:", "</promise>"},
		{DecideMarker, "<decide>", "</decide>"},
	} {
		if text, ok := between(final, m.open, m.close); ok {
			return Marker{m.kind, text}
		}
	}
	if strings.Contains(final, complete) {
		return Marker{Kind: CompleteMarker}
	}
	return Marker{}
}

// between is the last text that stands between two tags.
func between(text, open, end string) (string, bool) {
	_, after, ok := cutLast(text, open)
	if !ok {
		return "", false
	}
	inner, _, ok := strings.Cut(after, end)
	if len(inner) > maxMarker {
		inner = strings.ToValidUTF8(inner[:maxMarker], "")
	}
	return strings.TrimSpace(inner), ok
}

func cutLast(text, separator string) (before, after string, found bool) {
	i := strings.LastIndex(text, separator)
	if i < 0 {
		return text, "", false
	}
	return text[:i], text[i+len(separator):], true
}
