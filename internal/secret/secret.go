// Package secret holds values that must not be shown: the type that prints
// redacted in every form, a masker that takes known values out of text, and a
// guard that ends a stream before one has passed.
package secret

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"log/slog"
)

// redacted is what every way of printing a Secret shows.
const redacted = "[redacted]"

// Secret is a value that only Reveal shows. Formatting, logging and encoding it
// give "[redacted]". The zero Secret is no secret.
//
// The value sits in a closure behind a pointer of an unexported type: fmt does
// not follow the pointer out of a struct that holds a Secret in an unexported
// field, and printers that walk by reflection find a function and not a text.
type Secret struct{ value *hidden }

type hidden struct{ text func() string }

// New wraps text. An empty text gives the zero Secret.
func New(text string) Secret {
	if text == "" {
		return Secret{}
	}
	return Secret{&hidden{func() string { return text }}}
}

// Reveal returns the value itself. Whoever calls it answers for where it goes.
func (s Secret) Reveal() string {
	if s.value == nil {
		return ""
	}
	return s.value.text()
}

// IsZero tells whether there is no secret.
func (s Secret) IsZero() bool { return s.value == nil }

// Equal compares in constant time. The zero Secret equals nothing, not even
// itself.
func (s Secret) Equal(text string) bool {
	return s.value != nil && subtle.ConstantTimeCompare([]byte(s.value.text()), []byte(text)) == 1
}

// Fingerprint names the secret in records without giving it away: the first
// eight hexadecimal digits of its SHA-256.
func (s Secret) Fingerprint() string {
	if s.value == nil {
		return ""
	}
	sum := sha256.Sum256([]byte(s.value.text()))
	return hex.EncodeToString(sum[:4])
}

// String is part of fmt.Stringer.
func (s Secret) String() string {
	if s.value == nil {
		return ""
	}
	return redacted
}

// GoString is what %#v shows.
func (s Secret) GoString() string { return "secret.Secret{" + s.String() + "}" }

// Format shows the same for every verb and flag.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(s.String())) }

// MarshalText keeps the value out of JSON, TOML and XML.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// MarshalBinary keeps the value out of gob.
func (s Secret) MarshalBinary() ([]byte, error) { return []byte(s.String()), nil }

// LogValue is part of slog.LogValuer.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }
