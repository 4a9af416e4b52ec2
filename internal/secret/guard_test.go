package secret_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/agent-loop/ralph/internal/secret"
)

// guarded has what JSON and URLs escape.
const guarded = `ghp_0123456789abcdef/+&"ABCDEFGHIJKLMNOPQRSTUVWXYZ`

// echoes are the ways in which a server may send a secret back.
func echoes(t testing.TB) map[string]string {
	t.Helper()
	inner := marshal(t, map[string]string{"Authorization": "Bearer " + guarded})
	return map[string]string{
		"plain":            `Authorization: Bearer ` + guarded,
		"JSON":             inner,
		"JSON within JSON": marshal(t, map[string]string{"request": inner}),
		"PHP's JSON":       strings.ReplaceAll(strings.ReplaceAll(guarded, `"`, `\"`), "/", `\/`),
		"basic":            "Basic " + base64.StdEncoding.EncodeToString([]byte("git:"+guarded)),
		"base64":           base64.StdEncoding.EncodeToString([]byte(guarded)),
		"base64 off 1":     base64.StdEncoding.EncodeToString([]byte("x" + guarded + "yz")),
		"base64 off 2":     base64.RawURLEncoding.EncodeToString([]byte("xy" + guarded)),
		"hex":              hex.EncodeToString([]byte(guarded)),
		"HEX":              strings.ToUpper(hex.EncodeToString([]byte(guarded))),
		"query":            "https://example.com/?token=" + url.QueryEscape(guarded),
		"path":             url.PathEscape(guarded),
	}
}

func marshal(t testing.TB, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func newReader(from io.Reader) *secret.Reader {
	return secret.NewGuard(secret.New(guarded)).Reader(from)
}

// Every way of cutting a text in two is tried, and not even the beginning of the
// secret may pass.
func TestReaderFindsEveryForm(t *testing.T) {
	beginning := secret.NewGuard(secret.New(guarded[:8]))
	for name, text := range echoes(t) {
		all := "before " + text + " after"
		for cut := range len(all) {
			got, err := io.ReadAll(newReader(io.MultiReader(strings.NewReader(all[:cut]), strings.NewReader(all[cut:]))))
			if !errors.Is(err, secret.ErrSeen) {
				t.Fatalf("%s, cut at %d: error %v", name, cut, err)
			}
			if !strings.HasPrefix(all, string(got)) || beginning.SeenIn(got) {
				t.Fatalf("%s, cut at %d: %q passed", name, cut, got)
			}
		}
		if got, err := io.ReadAll(newReader(iotest.OneByteReader(strings.NewReader(all)))); !errors.Is(err, secret.ErrSeen) || beginning.SeenIn(got) {
			t.Errorf("%s, byte by byte: %q, error %v", name, got, err)
		}
		if !secret.NewGuard(secret.New("another one"), secret.New(guarded)).SeenIn([]byte(all)) {
			t.Errorf("%s is not seen in one piece", name)
		}
	}
}

// Everything else is passed unchanged, beginnings of the secret too.
func TestReaderPassesTheRest(t *testing.T) {
	almost := guarded[:len(guarded)-1]
	for _, text := range []string{"", "x", almost, almost + almost + "!", strings.Repeat("ghp_", 50_000), strings.Repeat(almost+"\n", 9_000)} {
		for _, from := range []io.Reader{strings.NewReader(text), iotest.OneByteReader(strings.NewReader(text)), iotest.DataErrReader(strings.NewReader(text))} {
			if got, err := io.ReadAll(newReader(from)); err != nil || string(got) != text {
				t.Errorf("of %.20q (%d bytes) came %d bytes, %v", text, len(text), len(got), err)
			}
			if got, err := all(newReader(strings.NewReader(text))); err != nil || got != text {
				t.Errorf("of %.20q (%d bytes) came, by Next, %d bytes, %v", text, len(text), len(got), err)
			}
			if got, err := io.ReadAll(iotest.OneByteReader(newReader(strings.NewReader(text)))); err != nil || string(got) != text {
				t.Errorf("of %.20q (%d bytes) came, one at a time, %d bytes, %v", text, len(text), len(got), err)
			}
		}
	}
}

// all reads to the end with Next.
func all(r *secret.Reader) (text string, err error) {
	for {
		came, err := r.Next()
		if errors.Is(err, io.EOF) {
			return text, nil
		}
		if err != nil {
			return text, err
		}
		text += string(came)
	}
}

// No byte is kept back that cannot begin a secret, and those that can no longer
// than that.
func TestReaderDelaysNothing(t *testing.T) {
	in, out := io.Pipe()
	t.Cleanup(func() { in.Close() })
	r := newReader(in)
	for _, step := range []struct{ write, read string }{
		{"data: hello\n\n", "data: hello\n\n"},
		{"data: ghp_0", "data: "},
		{"1 and no more", "ghp_01 and no more"},
	} {
		go io.WriteString(out, step.write)
		got := make([]byte, 100)
		n, err := r.Read(got)
		if string(got[:n]) != step.read || err != nil {
			t.Errorf("of %q came %q, %v; want %q", step.write, got[:n], err, step.read)
		}
	}
}

// Where a text breaks off, the part of a secret that was sent stays here.
func TestReaderWithholdsWhatBrokeOff(t *testing.T) {
	broken := errors.New("broken")
	got, err := io.ReadAll(newReader(io.MultiReader(strings.NewReader("text "+guarded[:30]), iotest.ErrReader(broken))))
	if string(got) != "text " || !errors.Is(err, broken) {
		t.Errorf("came %q, %v", got, err)
	}
}

func TestBegin(t *testing.T) {
	for name, test := range map[string]struct {
		text []string
		want error
	}{
		"a secret at once":        {[]string{"text " + guarded}, secret.ErrSeen},
		"in two pieces":           {[]string{guarded[:9], guarded[9:]}, secret.ErrSeen},
		"after something else":    {[]string{"text", guarded}, nil},
		"none":                    {[]string{"text"}, nil},
		"nothing":                 {nil, nil},
		"a beginning and no more": {[]string{guarded[:9]}, nil},
	} {
		var pieces []io.Reader
		for _, piece := range test.text {
			pieces = append(pieces, strings.NewReader(piece))
		}
		r := newReader(io.MultiReader(pieces...))
		if err := r.Begin(); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
		all := strings.Join(test.text, "")
		if got, err := io.ReadAll(r); errors.Is(err, secret.ErrSeen) != strings.Contains(all, guarded) || err == nil && string(got) != all {
			t.Errorf("%s: then came %q, %v", name, got, err)
		}
	}
	// What went wrong otherwise comes with Read.
	broken := errors.New("broken")
	r := newReader(iotest.ErrReader(broken))
	if err := r.Begin(); err != nil {
		t.Error(err)
	}
	if _, err := r.Read(make([]byte, 1)); !errors.Is(err, broken) {
		t.Errorf("%v, want %v", err, broken)
	}
}

// A form may be longer than what is read at once.
func TestLongSecret(t *testing.T) {
	long := strings.Repeat(`a<"\`, 3<<10)
	g := secret.NewGuard(secret.New(long))
	for _, all := range []string{"x" + long, "x" + marshal(t, marshal(t, long)), "x" + hex.EncodeToString([]byte(long))} {
		for _, from := range []io.Reader{strings.NewReader(all), iotest.HalfReader(strings.NewReader(all))} {
			got, err := io.ReadAll(g.Reader(from))
			if !errors.Is(err, secret.ErrSeen) || len(got) > 4 { // x, quotes and an escape
				t.Errorf("%d bytes passed, %v", len(got), err)
			}
		}
	}
}

func TestSeenInHeader(t *testing.T) {
	asHex := hex.EncodeToString([]byte(guarded))
	for name, test := range map[string]struct {
		header http.Header
		want   bool
	}{
		"none":                  {http.Header{"Content-Type": {"text/plain"}, "X-Prefix": {guarded[:20]}}, false},
		"a value":               {http.Header{"X-Debug": {"Bearer " + guarded}}, true},
		"a second value":        {http.Header{"X-Debug": {"nothing", "t=" + asHex}}, true},
		"a name":                {http.Header{asHex: {"x"}}, true},
		"a name as HTTP has it": {http.Header{http.CanonicalHeaderKey("sk-abc-def-xyz"): {"x"}}, true},
	} {
		if got := secret.NewGuard(secret.New(guarded), secret.New("sk-ABC-def-XyZ")).SeenInHeader(test.header); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestUnfinished(t *testing.T) {
	g := secret.NewGuard(secret.New(guarded))
	for text, want := range map[string]int{
		"":                                 0,
		"text":                             0,
		"text " + guarded[:9]:              9,
		guarded[:5] + guarded[:7]:          7,
		strings.Repeat("g", 500):           1,
		guarded + " " + guarded[:3] + " ":  0,
		url.QueryEscape(guarded)[:30]:      30,
		strings.Repeat("x", 5000) + "ghp_": 4,
	} {
		if got := g.Unfinished([]byte(text)); got != want {
			t.Errorf("%.40q: %d, want %d", text, got, want)
		}
	}
}

// Without a secret, or one that is too short, everything passes.
func TestBlindGuard(t *testing.T) {
	var guards secret.Guards
	for name, g := range map[string]*secret.Guard{
		"nil": nil, "no secret": secret.NewGuard(), "an empty one": secret.NewGuard(secret.Secret{}),
		"a short one": secret.NewGuard(secret.New("short")), "for none": guards.For(secret.Secret{}),
	} {
		r := g.Reader(strings.NewReader("a short text"))
		if err := r.Begin(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got, err := io.ReadAll(r); err != nil || string(got) != "a short text" {
			t.Errorf("%s: came %q, %v", name, got, err)
		}
		if g.SeenIn([]byte("short")) || g.SeenInHeader(http.Header{"Short": {"short"}}) || g.Unfinished([]byte("s")) != 0 {
			t.Errorf("%s: seen", name)
		}
	}
}

// Guards makes one Guard for a secret, however many ask, and forgets old ones.
func TestGuards(t *testing.T) {
	var guards secret.Guards
	first := guards.For(secret.New(guarded))
	var users sync.WaitGroup
	for range 8 {
		users.Go(func() {
			if guards.For(secret.New(guarded)) != first {
				t.Error("a second guard was made")
			}
		})
	}
	users.Wait()
	for i := range 20 { // tokens rotate
		next := strings.Repeat(string(rune('a'+i)), 20)
		if g := guards.For(secret.New(next)); !g.SeenIn([]byte(next)) || g.SeenIn([]byte(guarded)) {
			t.Errorf("the guard for %q looks for something else", next)
		}
	}
	if again := guards.For(secret.New(guarded)); again == first || !again.SeenIn([]byte(guarded)) {
		t.Error("the oldest guard is still there")
	}
}

// FuzzReader hides the secret, or not, in any bytes and wants it found, or the
// bytes unchanged.
func FuzzReader(f *testing.F) {
	f.Add([]byte("before"), []byte("after"), guarded, true)
	f.Add([]byte(guarded[:20]), []byte(guarded[1:]), guarded, false)
	f.Add([]byte(""), []byte(guarded[:5]), guarded, true)
	f.Add([]byte("aaaa"), []byte("aaab"), "aaaaaaaa", true)
	f.Add([]byte("0"), []byte("0"), "00000001", true)
	f.Add([]byte("abab"), []byte("abab"), "abababac", false)
	f.Fuzz(func(t *testing.T, before, after []byte, value string, hidden bool) {
		if len(value) < 8 || len(value) > 1<<10 {
			t.Skip("not looked for")
		}
		all := string(before) + string(after)
		if hidden {
			all = string(before) + value + string(after)
		}
		g := secret.NewGuard(secret.New(value))
		holds := g.SeenIn([]byte(all))
		if strings.Contains(all, value) && !holds {
			t.Fatalf("%q is not seen in %q", value, all)
		}
		for _, from := range []io.Reader{strings.NewReader(all), iotest.OneByteReader(strings.NewReader(all)), iotest.HalfReader(strings.NewReader(all))} {
			got, err := io.ReadAll(g.Reader(from))
			if holds != errors.Is(err, secret.ErrSeen) || !holds && string(got) != all {
				t.Fatalf("%q: %q passed, error %v", all, got, err)
			}
			if at := strings.Index(all, value); holds && (g.SeenIn(got) || !strings.HasPrefix(all, string(got)) || at >= 0 && len(got) > at) {
				t.Fatalf("%q: %q passed", all, got)
			}
		}
	})
}

// BenchmarkReader is what looking for a secret costs a download.
func BenchmarkReader(b *testing.B) {
	data := bytes.Repeat([]byte("The quick brown fox jumps over the lazy dog 0123456789 ghp_\n"), 1<<20/60)
	g := secret.NewGuard(secret.New(guarded))
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		_, _ = io.Copy(io.Discard, g.Reader(bytes.NewReader(data)))
	}
}

// BenchmarkNewGuard is what a new token costs.
func BenchmarkNewGuard(b *testing.B) {
	for name, value := range map[string]string{"key": "sk-ant-api03-" + strings.Repeat("Ab9_", 24), "odd": guarded} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				secret.NewGuard(secret.New(value))
			}
		})
	}
}

// BenchmarkGuards is what a known token costs.
func BenchmarkGuards(b *testing.B) {
	var guards secret.Guards
	s := secret.New(guarded)
	for b.Loop() {
		guards.For(s)
	}
}
