//go:build linux

package cli_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-loop/ralph/internal/rundir"
)

// probeIsolation is an agent that looks for all that a run of research must not
// reach, and reports what it got.
const probeIsolation = `
exec 9>&1 >report 2>/dev/null
for f in ../sibling/secret %[1]s/runs/sibling/secret %[1]s/PROMPT.md %[2]s/secret /root/.profile \
	/workspace/runs/sibling/secret /proc/1/root%[2]s/secret /proc/self/cwd/../sibling/secret; do
	cat "$f" && echo "READ $f"
done
for d in %[1]s %[1]s/runs %[2]s; do ls -A "$d" && echo "LISTED $d"; done
find / -xdev -name secret | sed "s/^/FOUND /"
for f in /workspace/data/numbers /workspace/data/new logs/new logs/events.jsonl spec.json state.json checkpoints/new; do
	(echo evil >>"$f") && echo "WROTE $f"
	rm -rf "$f" && [ -e "$f.was" ] && echo "REMOVED $f"
	mv "$f" "$f.was" && echo "MOVED $f"
done
mv logs away && echo "MOVED logs"
ln -s %[1]s link; ls link/ && echo "LISTED a link"
mount -t tmpfs none /workspace/data && echo MOUNTED
ls /workspace; cat /workspace/data/numbers
echo '<promise>COMPLETE</promise>' >&9
`

// TestEnginesIsolation: a run of research has two mounts and sees nothing else, in
// whatever engine.
func TestEnginesIsolation(t *testing.T) {
	eachEngine(t, func(t *testing.T, engine string) {
		l := newEngineLab(t, engine, "[agent]\nname = \"command\"\ncommand = [\"sh\", \"/workspace/data/agent.sh\"]\n[validation]\ncommand = \"test -e report\"\n")
		data := filepath.Join(filepath.Dir(l.home), "data")
		must(t, os.Mkdir(data, 0o755))
		must(t, os.WriteFile(filepath.Join(data, "numbers"), []byte("1 2 3\n"), 0o666))
		must(t, os.WriteFile(filepath.Join(data, "agent.sh"), fmt.Appendf(nil, probeIsolation, l.project, l.home), 0o644))
		l.write("runs/sibling/secret", "of the sibling\n")
		must(t, os.WriteFile(filepath.Join(l.home, "secret"), []byte("of the home\n"), 0o644))
		must(t, os.Chmod(l.home, 0o755))

		l.wants(0, "run", "--data", data, "--id", "study")
		study := filepath.Join(l.project, "runs", "study")
		report, err := os.ReadFile(filepath.Join(study, "report"))
		if err != nil || string(report) != "data\nrun\n1 2 3\n" {
			t.Errorf("the agent got\n%s%v", report, err)
		}
		if numbers, err := os.ReadFile(filepath.Join(data, "numbers")); err != nil || string(numbers) != "1 2 3\n" || exists(filepath.Join(data, "new")) {
			t.Errorf("the data is %q, %v", numbers, err)
		}
		l.checkResearch(study, data)
	}, "gvisor", "bubblewrap", "docker", "podman")
}

// checkResearch looks at the record of a run of research.
func (l *engineLab) checkResearch(study, data string) {
	l.t.Helper()
	want := []rundir.Mount{{Source: study, Target: "/workspace/run"}, {Source: data, Target: "/workspace/data", ReadOnly: true}}
	reader, err := rundir.OpenReadOnly(filepath.Dir(study), filepath.Base(study))
	must(l.t, err)
	defer reader.Close()
	var a told
	for e, err := range reader.Events(1) {
		must(l.t, err)
		a.events = append(a.events, e)
	}
	for _, launch := range launches(l.t, a) {
		for i := range launch.Mounts {
			launch.Mounts[i].Protect = 0
		}
		if fmt.Sprint(launch.Mounts) != fmt.Sprint(want) || launch.Engine != l.engine.name {
			l.t.Errorf("%s has the mounts %v, want %v", launch.Engine, launch.Mounts, want)
		}
	}
	if v := l.ralph("verify", "study"); v.code != 0 || !strings.Contains(v.stdout, "as it was written") {
		l.t.Errorf("verify: exit %d\n%s%s", v.code, v.stdout, v.stderr)
	}
	l.nothingLeft()
	l.gone()
}
