//go:build unix

package workspace_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agent-loop/ralph/internal/workspace"
)

func TestClaimOfAnother(t *testing.T) {
	dir, state := tempDir(t), tempDir(t)
	began := time.Now()
	h := newHolder(t, state, dir, nil)
	if got := h.claim("ralph exec"); got != "claimed" {
		t.Fatalf("the holder says %q", got)
	}
	_, err := workspace.Claim(t.Context(), state, dir, "test", nil)
	var busy *workspace.BusyError
	if !errors.As(err, &busy) {
		t.Fatalf("got %v, want a *BusyError", err)
	}
	who := busy.Holder
	if busy.Dir != dir || who.Workspace != dir || who.PID != h.cmd.Process.Pid || who.Command != "ralph exec" {
		t.Errorf("got %+v", busy)
	}
	if who.Since.Before(began.Add(-time.Second)) || who.Since.After(time.Now()) {
		t.Errorf("held since %v, which is not between %v and now", who.Since, began)
	}
	want := fmt.Sprintf("workspace %s is in use by process %d (ralph exec) since %s",
		dir, h.cmd.Process.Pid, who.Since.Local().Format("2006-01-02 15:04:05"))
	if err.Error() != want || busy.Hint() == "" {
		t.Errorf("got %q, want %q", err, want)
	}
	if _, err := os.Stat(filepath.Join(dir, "ralph.toml")); err != nil {
		t.Errorf("the loser took the winner's stand-ins away: %v", err)
	}
	h.release()
	w, err := workspace.Claim(t.Context(), state, dir, "test", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Release(); err != nil {
		t.Error(err)
	}
}

func TestBusyErrorOfAnUnknownHolder(t *testing.T) {
	err := &workspace.BusyError{Dir: "/w"}
	if want := "workspace /w is in use by another ralph"; err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
}

// A process cannot have the same workspace twice either, but any number of
// different ones.
func TestClaimTwiceInOneProcess(t *testing.T) {
	dir, other, state := tempDir(t), tempDir(t), tempDir(t)
	w, err := workspace.Claim(t.Context(), state, dir, "test", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Release()
	var busy *workspace.BusyError
	if _, err := workspace.Claim(t.Context(), state, dir, "test", nil); !errors.As(err, &busy) {
		t.Errorf("got %v, want a *BusyError", err)
	}
	w2, err := workspace.Claim(t.Context(), state, other, "test", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := w2.Release(); err != nil {
		t.Error(err)
	}
}

func TestTwoProcessesRace(t *testing.T) {
	const rounds = 50
	dir, state := tempDir(t), tempDir(t)
	before := snapshot(t, dir)
	both := []*holder{newHolder(t, state, dir, nil), newHolder(t, state, dir, nil)}
	for round := range rounds {
		for _, h := range both {
			h.begin(fmt.Sprint("round ", round))
		}
		var got []string
		for _, h := range both {
			got = append(got, h.read())
		}
		if slices.Sort(got); !slices.Equal(got, []string{"busy", "claimed"}) {
			t.Fatalf("round %d: %q", round, got)
		}
		for _, h := range both {
			h.release()
		}
		wantSame(t, before, snapshot(t, dir))
	}
}

func TestClaimAfterAKill(t *testing.T) {
	dir, state := tempDir(t), tempDir(t)
	fill(t, dir, map[string]string{".git/config": "[core]", "ralph.toml": "mine", "main.go": "package main"})
	before := snapshot(t, dir)
	deadClaim(t, state, dir)
	if len(snapshot(t, dir)) == len(before) {
		t.Fatal("the killed holder left nothing, so there is nothing to test")
	}
	w, err := workspace.Claim(t.Context(), state, dir, "test", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Release(); err != nil {
		t.Error(err)
	}
	wantSame(t, before, snapshot(t, dir))
}

// The holder is killed at ever later moments of its claim and release.
func TestKilledAtAnyMoment(t *testing.T) {
	dir, state := tempDir(t), tempDir(t)
	fill(t, dir, map[string]string{"main.go": "package main", "sub/.git/config": "x"})
	before := snapshot(t, dir)
	for delay := time.Duration(0); delay <= 3*time.Millisecond; delay += 200 * time.Microsecond {
		h := newHolder(t, state, dir, nil)
		h.begin("killed\ta/b/c")
		if _, err := fmt.Fprintln(h.in); err != nil { // release, as soon as it has it
			t.Fatal(err)
		}
		time.Sleep(delay) // the moment of the kill, not a wait for anything
		h.kill()
		w, err := workspace.Claim(t.Context(), state, dir, "test", []string{"d/e"})
		if err != nil {
			t.Fatalf("after %v: %v", delay, err)
		}
		if err := w.Release(); err != nil {
			t.Errorf("after %v: %v", delay, err)
		}
		wantSame(t, before, snapshot(t, dir))
		if files := claimFiles(t, state); len(files) > 0 {
			t.Errorf("after %v: %v was left behind", delay, files)
		}
	}
}

// A kill may fall between any two stand-ins.
func TestKilledBetweenStandIns(t *testing.T) {
	dir, state := tempDir(t), tempDir(t)
	before := snapshot(t, dir)
	for made := 0; made < len(workspace.Protected()); made += 4 {
		deadClaim(t, state, dir)
		for _, name := range workspace.Protected()[made:] {
			if err := os.Remove(filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
		cleaned, err := workspace.Prune(state)
		if err != nil || !slices.Equal(cleaned, []string{dir}) {
			t.Errorf("with %d stand-ins: cleaned %q, %v", made, cleaned, err)
		}
		wantSame(t, before, snapshot(t, dir))
	}
}

func TestPrune(t *testing.T) {
	state, parent := tempDir(t), tempDir(t)
	fill(t, parent, map[string]string{"alive/": "", "dead/x": "1", "filled/": "", "gone/": "", "linked/": "", "file/": ""})
	at := func(name string) string { return filepath.Join(parent, name) }
	alive := newHolder(t, state, at("alive"), nil)
	if got := alive.claim("alive"); got != "claimed" {
		t.Fatal(got)
	}
	for _, name := range []string{"dead", "filled", "gone", "linked", "file"} {
		h := newHolder(t, state, at(name), nil)
		if got := h.claim("killed"); got != "claimed" {
			t.Fatal(got)
		}
		h.kill()
	}
	fill(t, at("filled"), map[string]string{".git/config": "[core]", ".envrc": "mine"})
	for _, name := range []string{"gone", "linked", "file"} {
		if err := os.RemoveAll(at(name)); err != nil {
			t.Fatal(err)
		}
	}
	fill(t, parent, map[string]string{"file": "x", "linked": "->target", "target/.idea/": "", "target/.mcp.json": "{}\n"})
	held := snapshot(t, at("alive"))

	cleaned, err := workspace.Prune(state)
	if err != nil {
		t.Error(err)
	}
	slices.Sort(cleaned)
	want := []string{at("dead"), at("file"), at("filled"), at("gone"), at("linked")}
	if !slices.Equal(cleaned, want) {
		t.Errorf("cleaned %q, want %q", cleaned, want)
	}
	wantSame(t, held, snapshot(t, at("alive")))
	for dir, left := range map[string]string{
		"dead":   " /x",
		"filled": " /.envrc /.git /.git/config",
		"target": " /.idea /.mcp.json",
	} {
		if got := strings.Join(names(t, at(dir)), " "); got != left {
			t.Errorf("%s holds %q, want %q", dir, got, left)
		}
	}
	onlyClaim(t, state) // the one that is alive
	if cleaned, err := workspace.Prune(state); err != nil || len(cleaned) > 0 {
		t.Errorf("pruning again: %q, %v", cleaned, err)
	}
}

func TestPruneOfNothing(t *testing.T) {
	if cleaned, err := workspace.Prune(filepath.Join(tempDir(t), "never", "made")); err != nil || cleaned != nil {
		t.Errorf("got %q, %v", cleaned, err)
	}
}
