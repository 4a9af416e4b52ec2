package cli

import "testing"

func TestPathsAreTakenOutOfQuotes(t *testing.T) {
	for quoted, want := range map[string]string{
		`plain`:                `plain`,
		`"gr\303\274n"`:        "grün",
		`"a\tb\"c\\d\001"`:     "a\tb\"c\\d\x01",
		`"not closed`:          `"not closed`,
		`with "quotes" inside`: `with "quotes" inside`,
	} {
		if got := unquoted(quoted); got != want {
			t.Errorf("%s: %q, want %q", quoted, got, want)
		}
	}
}

func TestAddressesNameNobodyInARecord(t *testing.T) {
	for text, want := range map[string]string{
		"cannot reach https://me:ghp_x@git.example/r.git now": "cannot reach https://git.example/r.git now",
		"ssh://git@git.example/r: no":                         "ssh://git.example/r: no",
		"me@example.com at https://git.example/@me":           "me@example.com at https://git.example/@me",
	} {
		if got := withoutUserinfo(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
