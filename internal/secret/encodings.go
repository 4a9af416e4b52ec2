package secret

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// forms are a value and the ways it is usually written inside other text.
func forms(value string) []string {
	all := []string{value, hex.EncodeToString([]byte(value)), strings.ToUpper(hex.EncodeToString([]byte(value)))}
	for _, escaped := range []string{url.QueryEscape(value), url.PathEscape(value)} {
		all = append(all, escaped, lowerEscapes(escaped))
	}
	for _, escaped := range jsonForms(value) {
		all = append(all, escaped)
		all = append(all, jsonForms(escaped)...) // JSON text as a string in JSON
	}
	for before := range 3 {
		all = append(all, base64Core(base64.StdEncoding, value, before), base64Core(base64.URLEncoding, value, before))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// base64Core is the run of digits that stands for value wherever it lies in
// encoded text with a number of bytes before it that leaves this remainder of
// three. The digits at both ends, which depend on the neighbours too, are cut.
func base64Core(encoding *base64.Encoding, value string, before int) string {
	padded := strings.Repeat("\x00", before) + value
	digits := encoding.WithPadding(base64.NoPadding).EncodeToString([]byte(padded))
	first := (before*8 + 5) / 6 // the first digit with bits of value alone
	last := len(padded) * 8 / 6 // behind the last one
	return digits[first:last]
}

// escapes are the percent escapes of a URL, which may be in either case.
var escapes = regexp.MustCompile(`%[0-9A-F]{2}`)

func lowerEscapes(s string) string { return escapes.ReplaceAllStringFunc(s, strings.ToLower) }

// jsonForms are a value as it stands in a JSON string: with and without the
// escapes for HTML, which every language has its own list of, and with the
// escaped slash of some encoders.
func jsonForms(value string) []string {
	plain := jsonString(value, false)
	all := []string{
		plain, jsonString(value, true), strings.ReplaceAll(plain, "/", `\/`),
		strings.NewReplacer("<", `\u003c`, ">", `\u003e`, "&", `\u0026`, "=", `\u003d`, "'", `\u0027`).Replace(plain),
		strings.NewReplacer("<", `\u003C`, ">", `\u003E`, "&", `\u0026`, "+", `\u002B`, "'", `\u0027`, "`", `\u0060`, `\"`, `\u0022`).Replace(plain),
	}
	slices.Sort(all)
	return slices.Compact(all) // mostly one
}

func jsonString(value string, html bool) string {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(html)
	if encoder.Encode(value) != nil {
		return value // a string always encodes
	}
	return strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(out.String()), `"`), `"`)
}
