package secret_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/agent-loop/ralph/internal/secret"
)

func marker(text string) string { return "[redacted:" + secret.New(text).Fingerprint() + "]" }

func TestMask(t *testing.T) {
	const a, b, c, ab = "alpha-secret", "beta-secret/+", "gamma+secret==", "alpha-secret-and-more"
	m := secret.NewMasker(secret.New(a), secret.New(b), secret.New(c), secret.New(ab), secret.New(""), secret.New("short"))
	for _, test := range []struct{ name, in, want string }{
		{"nothing", "nothing to see", "nothing to see"},
		{"empty", "", ""},
		{"alone", a, marker(a)},
		{"amid text", "x" + a + "y", "x" + marker(a) + "y"},
		{"side by side", a + b + a, marker(a) + marker(b) + marker(a)},
		{"the longer of two", ab, marker(ab)},
		{"a part of the longer one", "alpha-secret-and", marker(a) + "-and"},
		{"a beginning of it is no secret", "alpha-secre", "alpha-secre"},
		{"interrupted and begun again", "alpha-alpha-secret", "alpha-" + marker(a)},
		{"overlapping", "alpha-secretalpha-secre", marker(a) + "alpha-secre"},
		{"too short to be masked", "short", "short"},
		{"in bytes that are no text", "\xff\x00" + a + "\xfe", "\xff\x00" + marker(a) + "\xfe"},
		{"escaped for a URL", url.QueryEscape(b), marker(b)},
		{"escaped in lower case", strings.ToLower(url.QueryEscape(b)), marker(b)},
		{"JSON with escaped slashes", `"beta-secret\/+"`, `"` + marker(b) + `"`},
		{"JSON of Java, with escapes for HTML", `gamma+secret\u003d\u003d`, marker(c)},
		{"JSON of .NET", `"gamma\u002Bsecret=="`, `"` + marker(c) + `"`},
		{"and that within JSON", `"gamma\\u002Bsecret=="`, `"` + marker(c) + `"`},
		{"hexadecimal", hex.EncodeToString([]byte(a)), marker(a)},
		{"in upper case", strings.ToUpper(hex.EncodeToString([]byte(a))), marker(a)},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := m.MaskString(test.in); got != test.want {
				t.Errorf("MaskString(%q) = %q, want %q", test.in, got, test.want)
			}
			if got := m.Mask([]byte(test.in)); string(got) != test.want {
				t.Errorf("Mask(%q) = %q, want %q", test.in, got, test.want)
			}
		})
	}
}

// Whatever stands before and behind a secret in encoded text, nothing that could
// be decoded to it is left.
func TestMaskBase64(t *testing.T) {
	m := secret.NewMasker(secret.New(value))
	for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding, base64.RawStdEncoding, base64.RawURLEncoding} {
		for before := range 7 {
			for after := range 7 {
				plain := strings.Repeat("\xff", before) + value + strings.Repeat("?", after)
				masked := m.MaskString(encoding.EncodeToString([]byte(plain)))
				if n := strings.Count(masked, marker(value)); n != 1 || len(masked)-len(marker(value)) > before*2+after*2+8 {
					t.Errorf("%d bytes before, %d behind: %s", before, after, masked)
				}
			}
		}
	}
}

// A secret with characters that JSON escapes is found in JSON, and in JSON that
// is a string within JSON.
func TestMaskJSON(t *testing.T) {
	const odd = "pass\"word\\with<tags>&\tü"
	m := secret.NewMasker(secret.New(odd))
	var inner any = map[string]string{"k": odd}
	for depth := range 2 {
		text, err := json.Marshal(inner)
		if err != nil {
			t.Fatal(err)
		}
		if masked := m.Mask(text); !bytes.Contains(masked, []byte(marker(odd))) || bytes.Contains(masked, []byte("word")) {
			t.Errorf("depth %d: %s", depth, masked)
		}
		inner = map[string]string{"k": string(text)}
	}
}

// A secret that could grow together again from what is around a marker.
func TestMaskDoesNotSpellASecret(t *testing.T) {
	for _, odd := range []string{"]aaaaaaaa", "aaaaaaa[", "redacted", "[redacted]", "redacted:", "[redacted:0", "]]]]]]]]]"} {
		m := secret.NewMasker(secret.New(odd))
		got := m.MaskString(odd + odd[1:] + odd[:len(odd)-1] + odd + "aaaaaaaa]aaaaaaa[")
		if strings.Contains(got, odd) && !strings.Contains("[redacted:]", strings.Trim(odd, "]")) {
			t.Errorf("%q is in %q", odd, got)
		}
	}
}

// Runs that repeat meet themselves; every byte of every occurrence goes.
func TestMaskRepetitive(t *testing.T) {
	m := secret.NewMasker(secret.New("abababab"))
	if got := m.MaskString("xabababababababy"); got != "x"+marker("abababab")+"y" {
		t.Error(got)
	}
	// With anything quadratic, this does not end.
	long := strings.Repeat("a", 8192)
	m = secret.NewMasker(secret.New(long))
	if got := m.MaskString(strings.Repeat("a", 1<<22)); got != marker(long) {
		t.Errorf("%d bytes left", len(got))
	}
	almost := strings.Repeat(long[1:]+"b", 512)
	if got := m.MaskString(almost); got != almost {
		t.Error("something that is no secret was masked")
	}
}

func TestMaskLeavesItsInputAlone(t *testing.T) {
	in := []byte("x" + value + "y")
	before := string(in)
	secret.NewMasker(secret.New(value)).Mask(in)
	if string(in) != before {
		t.Errorf("the input became %q", in)
	}
	if got := new(secret.Masker).MaskString(value) + string(new(secret.Masker).Mask([]byte("x"))); got != value+"x" {
		t.Errorf("a masker that knows nothing masked: %q", got)
	}
}

// Tokens rotate during a run: what Add has returned for is masked from then on.
func TestAddWhileInUse(t *testing.T) {
	m := secret.NewMasker(secret.New(value))
	var users sync.WaitGroup
	for range 4 {
		users.Go(func() {
			for range 200 {
				if got := m.MaskString("x" + value); got != "x"+marker(value) {
					t.Errorf("got %q", got)
					return
				}
			}
		})
	}
	for i := range 50 {
		next := strings.Repeat(string(rune('A'+i)), 20)
		m.Add(secret.New(next), secret.New(next))
		if got := m.MaskString(next); got != marker(next) {
			t.Errorf("%q was added and is not masked: %q", next, got)
		}
	}
	users.Wait()
}

// No text lets a secret through, in any of the forms that are promised.
func FuzzMask(f *testing.F) {
	f.Add("alpha-secret", "before ", " behind", "")
	f.Add("aaaaaaaa", "aaa", "aaaa", "]aaaaaaa[")
	f.Add("]aaaaaaaa", "]", "aaaaaaaa", "[redacted:")
	f.Add("a\"b\\c/d<e>&f", "{", "}", "\xff")
	f.Add("redacted:0", "[", "]", "[redacted]")
	f.Add(value, value[:20], value[5:], value)
	f.Fuzz(func(t *testing.T, hidden, before, behind, other string) {
		if len(hidden) < 8 || strings.Contains("[redacted:", hidden) || strings.Contains("[redacted]", hidden) {
			t.Skip("not masked by contract")
		}
		m := secret.NewMasker(secret.New(hidden), secret.New(other))
		escaped, err := json.Marshal(hidden)
		if err != nil {
			t.Fatal(err)
		}
		inJSON := string(escaped[1 : len(escaped)-1])
		for _, text := range []string{
			before + hidden + behind,
			before + hidden + hidden + behind,
			before + hex.EncodeToString([]byte(hidden)) + behind,
			before + url.QueryEscape(hidden) + behind,
			before + url.PathEscape(hidden) + behind,
			before + inJSON + behind,
		} {
			got := m.MaskString(text)
			for _, form := range []string{hidden, hex.EncodeToString([]byte(hidden)), url.QueryEscape(hidden), inJSON} {
				if strings.Contains(got, form) {
					t.Errorf("Mask(%q) = %q holds %q", text, got, form)
				}
			}
		}
		encoded := base64.StdEncoding.EncodeToString([]byte(before + hidden + behind))
		if got := m.MaskString(encoded); got == encoded {
			t.Errorf("%q stays as it is", encoded)
		}
	})
}

func BenchmarkMask(b *testing.B) {
	m := secret.NewMasker(secret.New(value), secret.New("sk-ant-api03-"+strings.Repeat("Ab9_", 24)), secret.New("AIza"+strings.Repeat("x7", 18)))
	text := bytes.Repeat([]byte(`{"type":"text","text":"The quick brown fox jumps over the lazy dog. sk-ant-oat01-no"}`+"\n"), 12000)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		m.Mask(text)
	}
}
