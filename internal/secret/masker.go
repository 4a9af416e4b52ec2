package secret

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// minMasked is the length below which a value is not looked for: it would also
// be found in text that has nothing to do with it.
const minMasked = 8

const markerStart = "[redacted:"

// Masker takes known secrets out of text: their values, and those in
// hexadecimal, in base64 at any alignment, and escaped as in URLs and JSON. Each
// becomes "[redacted:" and the secret's fingerprint and "]".
//
// What it does not see: values shorter than 8 bytes; values that are part of the
// marker itself, such as "redacted"; values broken by line ends, as in base64
// for mail; values that are compressed, encrypted or encoded twice (but JSON
// within JSON is seen); and a value of which one call gets the beginning and the
// next one the end.
//
// A Masker may be used and added to by several goroutines.
type Masker struct {
	current atomic.Pointer[masks]

	mu      sync.Mutex // for writers of current
	secrets []Secret
}

type masks struct {
	finder  *automaton
	markers []string
}

// NewMasker makes a Masker for these secrets.
func NewMasker(secrets ...Secret) *Masker {
	m := &Masker{}
	m.Add(secrets...)
	return m
}

// Add makes the Masker know further secrets. Calls of Mask that begin after Add
// has returned mask them. Adding what is known costs next to nothing, so that
// whoever uses a secret may add it each time.
func (m *Masker) Add(secrets ...Secret) {
	m.mu.Lock()
	defer m.mu.Unlock()
	before := len(m.secrets)
	for _, s := range secrets {
		known := slices.ContainsFunc(m.secrets, func(have Secret) bool { return have.Equal(s.Reveal()) })
		if !known && maskable(s.Reveal()) {
			m.secrets = append(m.secrets, s)
		}
	}
	if len(m.secrets) == before {
		return
	}
	next := &masks{}
	var patterns [][]string
	for _, s := range m.secrets {
		next.markers = append(next.markers, markerStart+s.Fingerprint()+"]")
		patterns = append(patterns, forms(s.Reveal()))
	}
	next.finder = compile(patterns)
	m.current.Store(next)
}

func maskable(value string) bool {
	return len(value) >= minMasked && !strings.Contains(markerStart, value) && !strings.Contains(redacted, value)
}

// Mask returns text without the secrets. It does not change text, and returns it
// as it is when there is nothing to mask.
func (m *Masker) Mask(text []byte) []byte {
	now := m.current.Load()
	if now == nil {
		return text
	}
	// A marker and its neighbours may spell a secret, if hardly ever: then what
	// remains is masked again, and in the end nothing of the text is kept.
	for range 3 {
		found := now.finder.find(text)
		if len(found) == 0 {
			return text
		}
		text = now.replace(text, found)
	}
	if len(now.finder.find(text)) > 0 {
		return []byte(redacted)
	}
	return text
}

func (m *masks) replace(text []byte, found []span) []byte {
	out := make([]byte, 0, len(text))
	kept := 0
	for _, s := range found {
		out = append(out, text[kept:s.start]...)
		out = append(out, m.markers[s.owner]...)
		kept = s.end
	}
	return append(out, text[kept:]...)
}

// MaskString is Mask for a string.
func (m *Masker) MaskString(text string) string {
	now := m.current.Load()
	if now == nil || len(now.markers) == 0 {
		return text
	}
	return string(m.Mask([]byte(text)))
}
