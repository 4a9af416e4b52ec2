package ociruntime_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/agent-loop/ralph/internal/ociruntime"
)

// The test program is a ralph as far as the package can tell: it is built from
// the same module.
func ralph(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// place is an empty machine: neither folder exists.
func place(t *testing.T) ociruntime.Place {
	t.Helper()
	dir := t.TempDir()
	return ociruntime.Place{Dir: filepath.Join(dir, "lib", "ralph"), DockerConfig: filepath.Join(dir, "etc", "docker", "daemon.json")}
}

// withConfig is a machine on which Docker has a configuration.
func withConfig(t *testing.T, text string) ociruntime.Place {
	t.Helper()
	p := place(t)
	write(t, p.DockerConfig, text, 0o640)
	return p
}

func write(t *testing.T, path, text string, mode fs.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// files lists all files below the machine's folder.
func files(t *testing.T, p ociruntime.Place) []string {
	t.Helper()
	var found []string
	top := filepath.Dir(filepath.Dir(p.Dir))
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			found = append(found, strings.TrimPrefix(filepath.ToSlash(path), filepath.ToSlash(top)+"/"))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestInstallOnAnEmptyMachineAndRemove(t *testing.T) {
	p := place(t)
	change, err := ociruntime.Install(p, ralph(t), false)
	if err != nil {
		t.Fatal(err)
	}
	if want := (ociruntime.Change{Path: p.Path(), DockerConfig: p.DockerConfig, Binary: true, Config: true}); change != want {
		t.Errorf("changed %+v, want %+v", change, want)
	}
	want := "{\n  \"runtimes\": {\n    \"runsc\": {\n      \"path\": \"" + p.Path() + "\"\n    }\n  }\n}\n"
	if got := read(t, p.DockerConfig); got != want && runtime.GOOS != "windows" {
		t.Errorf("the configuration is %s", got)
	}
	if info, err := os.Stat(p.Path()); err != nil || runtime.GOOS != "windows" && info.Mode() != 0o755 {
		t.Errorf("the runtime is %v, %v", info, err)
	}
	state, err := ociruntime.Look(p, ralph(t))
	if want := (ociruntime.State{Path: p.Path(), Installed: true, Current: true, DockerConfig: p.DockerConfig, Docker: p.Path(), Named: true}); err != nil || state != want {
		t.Errorf("state %+v, %v", state, err)
	}
	if change, err = ociruntime.Remove(p); err != nil || !change.Binary || !change.Config {
		t.Errorf("removed %+v, %v", change, err)
	}
	if left := files(t, p); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestInstallTwiceChangesNothing(t *testing.T) {
	p := place(t)
	for i, changed := range []bool{true, false} {
		change, err := ociruntime.Install(p, ralph(t), false)
		if err != nil || change.Binary != changed || change.Config != changed {
			t.Errorf("time %d: %+v, %v", i+1, change, err)
		}
	}
}

// An older copy, or what a kill left of one, makes room.
func TestInstallReplacesAnOlderCopy(t *testing.T) {
	p := place(t)
	older := read(t, ralph(t)) + "older"
	write(t, p.Path(), older, 0o755)
	write(t, p.Path()+".ralph-new", "half a co", 0o600)
	if state, err := ociruntime.Look(p, ralph(t)); err != nil || !state.Installed || state.Current {
		t.Errorf("before: %+v, %v", state, err)
	}
	if change, err := ociruntime.Install(p, ralph(t), false); err != nil || !change.Binary {
		t.Errorf("%+v, %v", change, err)
	}
	if got := files(t, p); !slices.Equal(got, []string{"etc/docker/daemon.json", "lib/ralph/runsc"}) {
		t.Errorf("files: %v", got)
	}
}

func TestConfigurationIsKept(t *testing.T) {
	for name, c := range map[string]struct{ before, after string }{
		"other settings, in their order": {
			before: `{"storage-driver": "overlay2", "big": 12345678901234567890, "a": [1,  2]}`,
			after:  `{"storage-driver":"overlay2","big":12345678901234567890,"a":[1,2],"runtimes":{"runsc":{"path":"PATH"}}}`,
		},
		"other runtimes": {
			before: `{"runtimes":{"kata":{"path":"/k","runtimeArgs":["--x"]}},"debug":false}`,
			after:  `{"runtimes":{"kata":{"path":"/k","runtimeArgs":["--x"]},"runsc":{"path":"PATH"}},"debug":false}`,
		},
		"an empty object": {before: `{}`, after: `{"runtimes":{"runsc":{"path":"PATH"}}}`},
	} {
		t.Run(name, func(t *testing.T) {
			p := withConfig(t, c.before)
			change, err := ociruntime.Install(p, ralph(t), false)
			if err != nil {
				t.Fatal(err)
			}
			got := strings.Join(strings.Fields(read(t, p.DockerConfig)), "")
			if want := strings.Join(strings.Fields(strings.ReplaceAll(c.after, "PATH", p.Path())), ""); got != want {
				t.Errorf("the configuration is\n%s, want\n%s", got, want)
			}
			if got := read(t, change.Backup); got != c.before {
				t.Errorf("the backup is %s", got)
			}
			if info, err := os.Stat(p.DockerConfig); err != nil || runtime.GOOS != "windows" && info.Mode() != 0o640 {
				t.Errorf("its mode is now %v, %v", info.Mode(), err)
			}
			if _, err := ociruntime.Remove(p); err != nil {
				t.Fatal(err)
			}
			if got := read(t, p.DockerConfig); got != c.before {
				t.Errorf("after the removal it is %s", got)
			}
			if left := files(t, p); !slices.Equal(left, []string{"etc/docker/daemon.json"}) {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// What the user wrote since the installation stays, and so does the backup.
func TestRemoveKeepsLaterChanges(t *testing.T) {
	p := withConfig(t, `{"debug":false}`)
	if _, err := ociruntime.Install(p, ralph(t), false); err != nil {
		t.Fatal(err)
	}
	write(t, p.DockerConfig, strings.Replace(read(t, p.DockerConfig), "false", "true", 1), 0o640)
	if _, err := ociruntime.Remove(p); err != nil {
		t.Fatal(err)
	}
	if got := read(t, p.DockerConfig); got != "{\n  \"debug\": true\n}\n" {
		t.Errorf("the configuration is %s", got)
	}
	if got := read(t, p.DockerConfig+".before-ralph"); got != `{"debug":false}` {
		t.Errorf("the backup is %s", got)
	}
}

func TestNothingIsWrittenWhenTheConfigurationIsRefused(t *testing.T) {
	for name, c := range map[string]struct{ before, words string }{
		"broken":                 {`{"debug": tru`, "not understood"},
		"empty":                  {``, "not a JSON object"},
		"an array":               {`[]`, "not a JSON object"},
		"a name twice":           {`{"debug":true,"debug":false}`, "duplicate"},
		"more after it":          {`{} {}`, "something follows"},
		"runtimes are a list":    {`{"runtimes":[]}`, "runtimes"},
		"runtimes are null":      {`{"runtimes":null}`, "runtimes"},
		"runsc is a word":        {`{"runtimes":{"runsc":"/x"}}`, "not understood"},
		"runsc is null":          {`{"runtimes":{"runsc":null}}`, "not understood"},
		"another runsc":          {`{"runtimes":{"runsc":{"path":"/usr/bin/runsc"}}}`, "another runtime runsc already: /usr/bin/runsc"},
		"runsc with arguments":   {`{"runtimes":{"runsc":{"path":"/usr/bin/runsc","runtimeArgs":["--debug"]}}}`, "/usr/bin/runsc with settings of its own"},
		"a runsc by type":        {`{"runtimes":{"runsc":{"runtimeType":"io.containerd.runsc.v1"}}}`, "another runtime"},
		"too long":               {`{"a":"` + strings.Repeat("x", 1<<20) + `"}`, "longer than"},
		"bytes that are no text": {"{\"a\":\"\xff\"}", "UTF-8"},
	} {
		t.Run(name, func(t *testing.T) {
			p := withConfig(t, c.before)
			if _, err := ociruntime.Install(p, ralph(t), false); err == nil || !strings.Contains(err.Error(), c.words) {
				t.Errorf("the error is %v, want one with %q", err, c.words)
			}
			if got := read(t, p.DockerConfig); got != c.before {
				t.Errorf("the configuration was changed to %s", got)
			}
			if got := files(t, p); !slices.Equal(got, []string{"etc/docker/daemon.json"}) {
				t.Errorf("files were written: %v", got)
			}
		})
	}
}

func TestForceReplacesAnotherRuntime(t *testing.T) {
	p := withConfig(t, `{"runtimes":{"runsc":{"path":"/usr/bin/runsc","runtimeArgs":["--debug"]}}}`)
	write(t, p.Path(), "#!/bin/sh\n", 0o755)
	if _, err := ociruntime.Install(p, ralph(t), true); err != nil {
		t.Fatal(err)
	}
	if state, err := ociruntime.Look(p, ralph(t)); err != nil || !state.Current || !state.Named {
		t.Errorf("%+v, %v", state, err)
	}
	if got := read(t, p.DockerConfig); strings.Contains(got, "--debug") {
		t.Errorf("the arguments of the other runtime are left: %s", got)
	}
}

// A program that is not ralph is neither replaced nor removed.
func TestForeignProgramStays(t *testing.T) {
	p := place(t)
	write(t, p.Path(), "#!/bin/sh\n", 0o755)
	var refused *ociruntime.ExistsError
	if _, err := ociruntime.Install(p, ralph(t), false); !errors.As(err, &refused) {
		t.Errorf("installing: %v", err)
	}
	if _, err := ociruntime.Remove(p); !errors.As(err, &refused) {
		t.Errorf("removing: %v", err)
	}
	if got := files(t, p); !slices.Equal(got, []string{"lib/ralph/runsc"}) {
		t.Errorf("files: %v", got)
	}
}

func TestRemoveLeavesWhatIsNotOurs(t *testing.T) {
	const text = `{"runtimes":{"runsc":{"path":"/usr/bin/runsc"}}}`
	p := withConfig(t, text)
	if change, err := ociruntime.Remove(p); err != nil || change.Config || change.Binary {
		t.Errorf("%+v, %v", change, err)
	}
	if got := read(t, p.DockerConfig); got != text {
		t.Errorf("the configuration is now %s", got)
	}
}

// Docker does not start with a default runtime that it does not know.
func TestRemoveRefusesTheDefaultRuntime(t *testing.T) {
	p := withConfig(t, `{"default-runtime":"runsc"}`)
	if _, err := ociruntime.Install(p, ralph(t), false); err != nil {
		t.Fatal(err)
	}
	if _, err := ociruntime.Remove(p); err == nil || !strings.Contains(err.Error(), "default runtime") {
		t.Errorf("the error is %v", err)
	}
	if state, err := ociruntime.Look(p, ralph(t)); err != nil || !state.Installed || !state.Named {
		t.Errorf("%+v, %v", state, err)
	}
}

func TestLinksAreRefused(t *testing.T) {
	p := place(t)
	real := p.DockerConfig + ".real"
	write(t, real, `{}`, 0o644)
	if err := os.Symlink(real, p.DockerConfig); err != nil {
		t.Skip(err)
	}
	if _, err := ociruntime.Install(p, ralph(t), true); err == nil || !strings.Contains(err.Error(), "is a link") {
		t.Errorf("the error is %v", err)
	}
	if got := read(t, real); got != `{}` {
		t.Errorf("the file behind it is %s", got)
	}
}

// A folder that others can write to would let them run their program as root.
func TestFolderOfOthersIsRefused(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("folders have no such modes")
	}
	p := place(t)
	if err := os.MkdirAll(p.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Dir(p.Dir), 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := ociruntime.Install(p, ralph(t), true); err == nil || !strings.Contains(err.Error(), "can be written by others") {
		t.Errorf("the error is %v", err)
	}
	if got := files(t, p); len(got) != 0 {
		t.Errorf("files were written: %v", got)
	}
}

// That the right file is there already does not make a folder safe in which others
// can replace it, nor a file that others can change.
func TestWhatIsThereAlreadyIsLookedAtToo(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("files have no such modes")
	}
	p := place(t)
	if _, err := ociruntime.Install(p, ralph(t), false); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(p.Path(), 0o777); err != nil {
		t.Fatal(err)
	}
	if change, err := ociruntime.Install(p, ralph(t), false); err != nil || !change.Binary {
		t.Errorf("a file that others can change stayed: %+v, %v", change, err)
	}
	if err := os.Chmod(p.Dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := ociruntime.Install(p, ralph(t), false); err == nil || !strings.Contains(err.Error(), "can be written by others") {
		t.Errorf("the error is %v", err)
	}
}

func TestRelativePathsAreRefused(t *testing.T) {
	for _, p := range []ociruntime.Place{{Dir: "lib"}, {Dir: t.TempDir(), DockerConfig: "daemon.json"}} {
		if _, err := ociruntime.Install(p, ralph(t), false); err == nil || !strings.Contains(err.Error(), "absolute") {
			t.Errorf("%+v: %v", p, err)
		}
	}
}

// Without a configuration, as for Podman alone, only the program is placed.
func TestWithoutDocker(t *testing.T) {
	p := place(t)
	p.DockerConfig = ""
	if change, err := ociruntime.Install(p, ralph(t), false); err != nil || !change.Binary || change.Config {
		t.Errorf("%+v, %v", change, err)
	}
	if change, err := ociruntime.Remove(p); err != nil || !change.Binary || change.Config {
		t.Errorf("%+v, %v", change, err)
	}
	if left := files(t, p); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}
