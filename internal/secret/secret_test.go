package secret_test

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"reflect"
	"strings"
	"testing"
	"text/template"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/pelletier/go-toml/v2" //nolint:depguard // a way of printing like the others

	"github.com/agent-loop/ralph/internal/secret"
)

const value = "sk-ant-oat01-Zm9vYmFyYmF6cXV4-AA"

// holder has a Secret in every place where a printer may come by.
type holder struct {
	Public  secret.Secret
	private secret.Secret
	Pointer *secret.Secret
	List    []secret.Secret
	Map     map[string]secret.Secret
	Any     any
	Nested  struct{ S secret.Secret }
}

func newHolder() holder {
	s := secret.New(value)
	h := holder{
		Public: s, private: s, Pointer: &s, Any: s,
		List: []secret.Secret{s}, Map: map[string]secret.Secret{"k": s},
	}
	h.Nested.S = s
	return h
}

// shows fails the test when text gives the value away, in whatever encoding.
func shows(t *testing.T, what, text string) {
	t.Helper()
	if masked := secret.NewMasker(secret.New(value)).MaskString(text); masked != text || strings.Contains(text, value) {
		t.Errorf("%s shows the secret: %s", what, text)
	}
}

func TestFmtShowsNothing(t *testing.T) {
	s, h := secret.New(value), newHolder()
	things := map[string]any{
		"a secret": s, "a pointer": &s, "a holder": h, "a pointer to a holder": &h,
		"a list": []secret.Secret{s}, "a key": map[secret.Secret]int{s: 1}, "an array": [1]any{s},
	}
	for name, thing := range things {
		for verb := 'A'; verb <= 'z'; verb++ {
			for _, flag := range []string{"", "+", "#", " ", "0", "-", "50", ".3"} {
				format := "%" + flag + string(verb)
				shows(t, name+" by "+format, fmt.Sprintf(format, thing))
			}
		}
		shows(t, name+" by Sprint", fmt.Sprint(thing)+fmt.Sprintln(thing))
	}
	shows(t, "an error", fmt.Errorf("calling with %v: %w", s, errors.New(s.String())).Error())
	if got := fmt.Sprintf("%v %s %#v %d", s, s, s, s); got != "[redacted] [redacted] [redacted] [redacted]" {
		t.Errorf("printed as %q", got)
	}
}

type settings struct {
	A secret.Secret `xml:"a,attr"`
	B secret.Secret
	C *secret.Secret
}

func TestEncodersShowNothing(t *testing.T) {
	h := newHolder()
	flat := settings{h.Public, h.Public, h.Pointer}
	var gobbed bytes.Buffer
	gobErr := gob.NewEncoder(&gobbed).Encode(flat)
	for name, encode := range map[string]func() ([]byte, error){
		"json":           func() ([]byte, error) { return json.Marshal(h) },
		"json v2":        func() ([]byte, error) { return jsonv2.Marshal(h) },
		"json of a key":  func() ([]byte, error) { return json.Marshal(map[secret.Secret]int{h.Public: 1}) },
		"xml":            func() ([]byte, error) { return xml.Marshal(flat) },
		"toml":           func() ([]byte, error) { return toml.Marshal(flat) },
		"gob":            func() ([]byte, error) { return gobbed.Bytes(), gobErr },
		"text, directly": h.Public.MarshalText,
	} {
		out, err := encode()
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		shows(t, name, string(out))
		if !strings.Contains(string(out), "[redacted]") {
			t.Errorf("%s gives %q, which does not say that something was left out", name, out)
		}
	}
}

// Nothing reads a Secret from a file by accident either: it would be the text
// "[redacted]" as often as not.
func TestDecodersRefuse(t *testing.T) {
	var s secret.Secret
	if err := json.Unmarshal([]byte(`"[redacted]"`), &s); err == nil { //nolint:staticcheck // that it cannot is the point
		t.Error("json fills a Secret")
	}
}

func TestLogsShowNothing(t *testing.T) {
	var out bytes.Buffer
	for _, handler := range []slog.Handler{slog.NewTextHandler(&out, nil), slog.NewJSONHandler(&out, nil)} {
		log := slog.New(handler).With("with", secret.New(value))
		log.Info("hello", "s", secret.New(value), "h", newHolder(), slog.Group("g", "s", secret.New(value)))
	}
	shows(t, "slog", out.String())
	if n := strings.Count(out.String(), "[redacted]"); n < 6 {
		t.Errorf("%d secrets are shown as redacted, want at least 6: %s", n, &out)
	}
}

func TestTemplatesShowNothing(t *testing.T) {
	var out bytes.Buffer
	text := `{{.}} {{.Public}} {{printf "%s %q %x %#v" .Public .Public .Public .}} {{js .Public}} {{urlquery .Public}}`
	if err := template.Must(template.New("").Parse(text)).Execute(&out, newHolder()); err != nil {
		t.Fatal(err)
	}
	shows(t, "text/template", out.String())
}

// walk prints as debug printers do: by reflection, through pointers and
// unexported fields.
func walk(out *strings.Builder, v reflect.Value, depth int) {
	if depth > 10 {
		return
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			walk(out, v.Elem(), depth+1)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			fmt.Fprintf(out, "%s=", v.Type().Field(i).Name)
			walk(out, v.Field(i), depth+1)
		}
	case reflect.Slice:
		for i := range v.Len() {
			walk(out, v.Index(i), depth+1)
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			walk(out, key, depth+1)
			walk(out, v.MapIndex(key), depth+1)
		}
	default:
		fmt.Fprintf(out, "%s ", v.String())
	}
}

func TestReflectionShowsNothing(t *testing.T) {
	var out strings.Builder
	walk(&out, reflect.ValueOf(newHolder()), 0)
	shows(t, "reflection", out.String())
	if !strings.Contains(out.String(), "value=text=") {
		t.Errorf("the walk did not get to the value: %s", &out)
	}
}

func TestPanicShowsNothing(t *testing.T) {
	if how := os.Getenv("RALPH_TEST_PANIC"); how != "" {
		panics(how)
	}
	for _, how := range []string{"secret", "pointer", "holder", "error"} {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestPanicShowsNothing$")
		cmd.Env = append(os.Environ(), "RALPH_TEST_PANIC="+how)
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), "panic: ") {
			t.Fatalf("%s: no panic: %v %s", how, err, out)
		}
		shows(t, "a panic with a "+how, string(out))
	}
}

func panics(how string) {
	s, h := secret.New(value), newHolder()
	switch how {
	case "secret":
		panic(s)
	case "pointer":
		panic(&s)
	case "holder":
		panic(h)
	default:
		panic(fmt.Errorf("failed with %+v of %+v", s, h))
	}
}

func TestValue(t *testing.T) {
	s, zero := secret.New(value), secret.New("")
	if s.Reveal() != value || !s.Equal(value) || s.Equal(value+"x") || s.Equal("") || s.IsZero() {
		t.Error("a secret does not hold its value")
	}
	if zero.Reveal() != "" || zero.Equal("") || !zero.IsZero() || zero.Fingerprint() != "" || zero.String() != "" {
		t.Error("the zero secret holds something")
	}
	if got := s.Fingerprint(); len(got) != 8 || got == secret.New("other").Fingerprint() || got != secret.New(value).Fingerprint() {
		t.Errorf("fingerprint %q", got)
	}
}
